// One body in the engine, as the sources and the public classes reach it.
'use strict'

const { native, numbers, view } = require('./native.js')
const { BrimfulError, codeOf, systemError, wrongType, describe, leaveUnheard } = require('./errors.js')
const { bufferOf, makeBuffer, makeOwnBuffer } = require('./buffer.js')
const { Gathered } = require('./gather.js')
const { readInfo } = require('./info.js')
const { NONE, tellOptions } = require('./options.js')
const { isBudgeted, poolHandle } = require('./pool.js')

/** How many milliseconds a source that always has something is read without a turn of the event loop. */
const LONGEST = 10

/** Statuses that are no errors. */
const COMPLETE = 0
const WINDOW = 2
const OPEN = 3

/** What may come with the bytes of an answer. */
const GO = 0
const PENDING = 1
const RETRY = 2
const FAILED = 3
const UNKNOWN = 4

/** From here on memory may be short, or better had in huge pages, so that the native half makes the result of kept chunks. */
const LARGE = 2 ** 20

/** A flag of `collectorNew`: the body lies in the caller's own memory. */
const INTO = 8

/** The statuses of a source's own error, and of a body that was cancelled. */
const SOURCE = -9
const CANCELLED = -12

/** A body that nobody finished: what was shown of it is let go without being used again. */
const lost = new FinalizationRegistry((held) => {
  const { handle } = held
  held.handle = -1 // it may have been watched twice
  if (handle >= 0) native.collectorFree(handle, 1)
})

let quietOfNone

/** Below how many bytes the engine has nothing to say, as it says itself; of a body without options it is asked once. */
function quietOf(options, exact, end) {
  const ask = () => Math.max(native.collectorQuiet(poolHandle(undefined), tellOptions(options, exact, end)), 0)
  return options === NONE ? (quietOfNone ??= ask()) : ask()
}

/** What is left of a body that was freed. */
const FREED = Object.freeze({ handle: -1 })

/**
 * One body. Where a call makes it, and the engine could have nothing to say yet, its bytes are put by here, and the engine
 * sees them only when they become more, or when it is asked something: a small body costs less than a collector does.
 */
class Body {
  /**
   * @param {object} options as `bodyOptions` gives them
   * @param {boolean} exact whether the result is to be exact
   * @param {'length' | 'eof'} end how the end is known where the options do not say
   * @param {Uint8Array} [target] the caller's own memory that the body is to lie in
   * @param {boolean} [waits] whether its bytes may be put by: nobody but one call has it, and its result can be made of them
   */
  constructor(options, pool, exact, end, target, waits = false) {
    this.options = options
    this.target = target
    this.exact = exact
    this.end = end
    /** What is told of a body whose result was taken; only kept where somebody can ask. */
    this.taken = undefined
    this.keepsInfo = false
    /** Whether errors carry what came: in calls that make the body and give it to nobody. */
    this.lends = false
    this.cancelled = false
    /** Whether the source has said how long it is. */
    this.announced = false
    /** Whether somebody can ask the body to stop while a source is waited for. */
    this.stoppable = false
    /** A source that is being waited for is left at once when this is called. */
    this.wake = undefined
    /** Of the call that reads: whose abort ends it, and who is told of what came. */
    this.signal = undefined
    this.onProgress = undefined
    this.reported = 0
    /** How often the source was asked, and when the event loop had its last turn, as far as is known. */
    this.asked = 0
    this.turned = undefined
    /** Whether a string is to be made of it, which needs no memory that the bytes lie in. */
    this.isText = false
    /** Chunks that the engine does not have; undefined where they are taken as they come. */
    this.gathered = undefined
    /** The source has ended before the engine was needed. */
    this.ended = false
    /** The engine's collector, once it is needed, and -1 once it is freed. */
    this.held = undefined
    /** A thread of the pool has the window. */
    this.lent = false
    this.pool = pool ?? undefined
    /** Where memory may be refused at any time, nothing is taken before it is there. */
    this.isBudgeted = isBudgeted(pool)
    /** Below so many bytes the engine has nothing to say. */
    this.quiet = waits && target === undefined && this.pool === undefined ? quietOf(options, exact, end) : 0
    if (this.quiet === 0) this.#open()
  }

  /** From now on the body may be lost: the garbage collector sees to it then. */
  watch() {
    this.keepsInfo = true
    if (this.held !== undefined) lost.register(this, this.held)
    return this
  }

  /** The collector's, which is made here at the latest. */
  get handle() {
    if (this.held === undefined) this.#open()
    return this.held.handle
  }

  /** Makes the collector, and tells it of what was put by. */
  #open() {
    const { gathered, target } = this
    const pool = poolHandle(this.pool)
    const flags = tellOptions(this.options, this.exact, this.end)
    const handle = target === undefined ? native.collectorNew(pool, flags) : native.collectorNew(pool, flags | INTO, target)
    if (handle < 0) throw this.failure(handle)
    this.held = { handle }
    if (this.keepsInfo) lost.register(this, this.held)
    if (gathered?.keeps) {
      this.check(native.collectorCount(handle, gathered.length))
    } else if (gathered !== undefined) {
      this.gathered = undefined
      for (const chunk of gathered.take()) this.check(native.collectorWrite(handle, chunk))
      gathered.release()
    }
    if (this.ended) this.check(native.collectorEnd(handle))
  }

  /** Gives everything back. Not while a source has a window. */
  free() {
    const { gathered, held } = this
    this.gathered = undefined
    this.held = FREED
    // With a pool of the caller's own, which may be one that clears what it takes back, the memory goes.
    if (this.pool === undefined) gathered?.release()
    if (held === undefined || held.handle < 0) return
    native.collectorFree(held.handle, 0)
    held.handle = -1
  }

  reset(options, end = this.end) {
    this.check(native.collectorReset(this.handle, tellOptions(options, this.exact, end)))
    this.taken = undefined
    this.cancelled = false
    this.reported = 0
  }

  /** Makes a length known that the source announces, if nothing has come yet and the caller has given none. */
  announce({ length, hint }) {
    const { options } = this
    if ((length === undefined && hint === undefined) || options.length !== undefined || this.cancelled) return
    native.collectorInfo(this.handle)
    const untouched = numbers[3] === 0 && numbers[4] === 0 && numbers[8] === 0
    if (!untouched) return
    this.announced = true
    this.reset(length === undefined ? { ...options, sizeHint: options.sizeHint ?? hint } : { ...options, length, end: options.end ?? 'eof' })
  }

  check(code) {
    if (code < 0) throw this.failure(code)
    return code
  }

  /** The error of a status, in the engine's words. */
  failure(code, cause) {
    const name = native.statusName(code)
    if (name === 'invalid') return new BrimfulError(`invalid: ${inCamelCase(native.said())}`, { code: codeOf(name), cause })
    if (code === CANCELLED && this.signal?.aborted) return this.signal.reason
    if (this.held === undefined) return new BrimfulError(`${name}: the collector could not be made`, { code: codeOf(name), cause })
    const message = native.collectorMessage(this.handle, code)
    const { received, limit, expected, length } = this.info()
    const landed = this.target && length
    return new BrimfulError(message, { code: codeOf(name), received, limit, expected, landed, cause, partial: this.partial() })
  }

  /** The source is cut off before its end, which is `short` whether a length was announced or not. */
  cut(cause) {
    if (this.lacks()) return this.failure(native.collectorEnd(this.handle), cause)
    const { received, limit, length } = this.info()
    const landed = this.target && length
    const message = `short: the source was closed before its end, after ${received} bytes; they can be taken as the partial`
    return new BrimfulError(message, { code: codeOf('short'), received, limit, landed, cause, partial: this.partial() })
  }

  /** What came, for an error that carries it. */
  partial() {
    if (!this.lends) return undefined
    if (this.gathered?.keeps) {
      const info = this.info()
      return bufferOf(this.gathered.join(), info)
    }
    const handle = native.collectorTakePartial(this.handle)
    return handle < 0 ? undefined : makeOwnBuffer(handle)
  }

  info() {
    if (this.taken) return { ...this.taken }
    this.check(native.collectorInfo(this.handle))
    return readInfo()
  }

  /** Whether more is wanted is also asked before the first byte: a length above the limit fails here (E14). */
  isComplete() {
    return this.held !== undefined && this.check(native.collectorComplete(this.handle)) === COMPLETE
  }

  /** Whether a stream is left at the length, so that what follows stays in it. */
  stopsAtLength() {
    return this.options.length !== undefined && (this.options.end ?? this.end) === 'length'
  }

  /** Whether a length was announced that is not there yet. */
  lacks() {
    native.collectorInfo(this.handle)
    return numbers[5] >= 0 && numbers[4] < numbers[5]
  }

  /** How many bytes the source may be asked for where it is not asked through the engine. */
  wanted() {
    return native.collectorWanted(this.handle)
  }

  /**
   * Puts the chunks that come by, where nobody can look at the body meanwhile. Where the source gives them away and nothing
   * is known of the length, they are kept as they are until the result can be made in one piece, so that each byte is
   * copied once; others are copied while they are few.
   */
  gather(isGiven) {
    if (!this.lends || !(this.exact || this.isText)) return
    const known = this.announced || this.options.length !== undefined || this.options.sizeHint !== undefined
    const keeps = isGiven && (this.isText || !known)
    if (keeps || this.held === undefined) this.gathered = new Gathered(keeps)
  }

  /** Limits and lengths are the engine's to judge for kept chunks too. */
  #keep(bytes) {
    const code = native.collectorCount(this.handle, bytes.length)
    const kept = numbers[0]
    if (kept > 0) this.gathered.add(kept < bytes.length ? Buffer.from(bytes.buffer, bytes.byteOffset, kept) : bytes)
    return this.check(code)
  }

  #wholeGathered() {
    this.isComplete()
    if (this.gathered.isWhole()) return this.gathered
    throw new BrimfulError('contract: a chunk was detached after the stream had given it; its bytes are gone', { code: codeOf('contract') })
  }

  /** The exact result of kept chunks: their sum is the length now. */
  #finishGathered() {
    const gathered = this.#wholeGathered()
    const { length } = gathered
    if (length < LARGE) return gathered.join()
    const chunks = gathered.take()
    this.gathered = undefined
    this.reset({ ...NONE, length, limit: length, maxPrealloc: length }, 'length')
    for (const chunk of chunks) this.check(native.collectorWrite(this.handle, chunk))
    return this.finishExact()
  }

  /** Takes a chunk; answers whether the body is complete. */
  write(bytes) {
    const complete = this.#take(bytes) === COMPLETE
    if (this.onProgress !== undefined) this.report()
    return complete
  }

  #take(bytes) {
    if (this.held === undefined && this.gathered !== undefined) {
      if (this.gathered.length + bytes.length < this.quiet && this.gathered.add(bytes)) return OPEN
      this.#open()
    }
    return this.gathered === undefined ? this.check(native.collectorWrite(this.handle, this.#apart(bytes))) : this.#keep(bytes)
  }

  writeSome(bytes) {
    const taken = this.check(native.collectorWriteSome(this.handle, this.#apart(bytes)))
    if (this.onProgress !== undefined) this.report()
    return taken
  }

  /** A chunk that lies in the target itself could overlap with where it goes. */
  #apart(bytes) {
    return this.target !== undefined && bytes.buffer === this.target.buffer ? Buffer.from(bytes) : bytes
  }

  /** Tells how far the body has come, where that is wanted and it has come further. */
  report() {
    if (this.onProgress === undefined || this.handle < 0) return
    native.collectorInfo(this.handle)
    const received = numbers[4]
    if (received === this.reported) return
    this.reported = received
    this.onProgress(received, numbers[5] < 0 ? undefined : numbers[5])
  }

  finishSource() {
    if (this.held === undefined) this.ended = true
    else this.check(native.collectorEnd(this.handle))
    return true
  }

  /** Asks the engine for its opinion where a source is not asked through it: a body that was cancelled fails here. */
  checkCancelled() {
    if (!this.cancelled) return
    const code = native.collectorBegin(this.handle)
    this.check(code === WINDOW ? native.collectorAnswer(this.handle, 0, PENDING, 0) : code)
  }

  cancel() {
    native.collectorCancel(this.handle)
    this.cancelled = true
    this.wake?.()
  }

  /**
   * Waits for what the source has promised, but not longer than until the body is cancelled: `stop` throws what becomes
   * of it then, and what the source says later goes nowhere.
   */
  until(promise, stop = () => this.checkCancelled()) {
    if (!this.stoppable) return promise
    return new Promise((resolve, reject) => {
      // What an old source says late is no affair of the one that is waited for by then.
      const settle = (how) => (value) => {
        if (this.wake === wake) this.wake = undefined
        how(value)
      }
      const wake = () => {
        try {
          stop()
        } catch (error) {
          settle(reject)(error)
        }
      }
      this.wake = wake
      Promise.resolve(promise).then(settle(resolve), settle(reject))
    })
  }

  /**
   * Lets the event loop turn where a source that always has something would keep it from that: else no timer is heard,
   * and so none that aborts. Undefined where it had its turn not long ago.
   */
  pause(stop) {
    // A small body is there at once, in a chunk and an end, and is not to wait for the clock.
    if (++this.asked < 3) return undefined
    const now = Date.now()
    this.turned ??= now
    if (Math.abs(now - this.turned) < LONGEST) return undefined
    this.turned = now
    return this.until(new Promise(setImmediate), stop).then(() => { this.turned = Date.now() })
  }

  /** Lets a callback fill windows; true when the body is complete, false when the callback has nothing now. */
  pull(source) {
    let code = native.collectorBegin(this.handle)
    while (code === WINDOW) {
      const window = this.shownWindow()
      let answer
      try {
        if (this.onProgress !== undefined) this.report()
        answer = source(window)
      } catch (error) {
        code = this.answerError(error, window)
        continue
      }
      code = this.answer(answer, window)
    }
    return this.#pulled(code)
  }

  /** The same with a callback that may answer later. */
  async pullLater(source) {
    let left = false
    // Whoever has the window may write there for ever (a read that was begun cannot be taken back), so the body leaves
    // it to him and goes on elsewhere.
    const leave = () => {
      left = true
      this.check(native.collectorAbandon(this.handle))
    }
    let code = native.collectorBegin(this.handle)
    while (code === WINDOW) {
      const window = this.shownWindow()
      let answer
      try {
        if (this.onProgress !== undefined) this.report()
        const turn = this.pause(leave)
        if (turn !== undefined) await turn
        answer = source(window)
        if (typeof answer?.then === 'function') answer = await this.until(answer, leave)
      } catch (error) {
        if (left) throw error
        code = this.answerError(error, window)
        continue
      }
      code = this.answer(answer, window)
    }
    return this.#pulled(code)
  }

  #pulled(code) {
    this.check(code)
    if (this.onProgress !== undefined) this.report()
    return code === COMPLETE
  }

  /** Lets threads of the pool read a file, a window at a time; as `pull`. */
  async readFile(fd) {
    const opened = native.collectorOpen(this.handle, fd)
    if (opened > 0) throw systemError(-opened, 'open')
    this.check(opened)
    try {
      for (;;) {
        let code = native.collectorReadFile(this.handle)
        if (typeof code !== 'number') {
          this.lent = true
          code = await code
          this.lent = false
        }
        if (this.handle < 0) return false // nobody waits for it any more
        if (code === SOURCE) throw systemError(this.info().sourceError, 'read')
        this.check(code)
        if (this.onProgress !== undefined) this.report()
        if (code !== OPEN) return code === COMPLETE
      }
    } finally {
      native.collectorCloseFile(this.handle)
    }
  }

  answer(answer, window) {
    if (typeof answer === 'number') return native.collectorAnswer(this.handle, answer, GO, 0, window)
    if (answer === null) return native.collectorAnswer(this.handle, 0, PENDING, 0)
    native.collectorAnswer(this.handle, 0, UNKNOWN, 0)
    leaveUnheard(answer)
    const hint = typeof answer?.then === 'function' ? '; a callback that answers later is for collect and readAsync' : ''
    throw wrongType(`a source must answer how many bytes it wrote, or null for nothing now, not ${describe(answer)}${hint}`)
  }

  /**
   * The source threw: EAGAIN is nothing now, EINTR is to be asked again, and all else its own error, which comes out
   * unchanged. `bytesWritten` of the error says how many bytes are in the window all the same; they are taken first.
   */
  answerError(error, window) {
    const filled = error?.bytesWritten ?? 0
    if (error?.code === 'EAGAIN') return native.collectorAnswer(this.handle, filled, PENDING, 0, window)
    if (error?.code === 'EINTR') return native.collectorAnswer(this.handle, filled, RETRY, 0, window)
    const number = error?.errno
    const own = Number.isInteger(number) && number < 0 ? number : -1
    const code = native.collectorAnswer(this.handle, filled, FAILED, own, window)
    if (code === SOURCE) throw error
    if (code < 0) throw this.failure(code, error)
    return code
  }

  /** The window that the native half has just handed out, as the callback sees it. */
  shownWindow() {
    if (numbers[3] === 1) return Buffer.alloc(numbers[2])
    if (numbers[0] > 0) return view(numbers[0], numbers[1], numbers[2])
    return Buffer.from(this.target.buffer, this.target.byteOffset + numbers[1], numbers[2])
  }

  finish() {
    return this.exact ? this.finishExact() : this.finishPooled()
  }

  /** How many bytes lie in the caller's own memory. */
  finishInto() {
    return this.info().length
  }

  finishExact() {
    if (this.gathered !== undefined) return this.#finishGathered()
    const memory = native.collectorFinishExact(this.handle)
    if (typeof memory === 'number') throw this.failure(memory)
    if (this.keepsInfo) this.taken = readInfo()
    return Buffer.from(memory, 0, memory.byteLength)
  }

  finishPooled() {
    return this.#makeBuffer(native.collectorFinish(this.handle))
  }

  /** The body as text; where it is none, the error carries the body. */
  finishText(decoding) {
    if (this.gathered !== undefined) {
      return decoding.ofChunks(this.#wholeGathered().together(), () => this.partial())
    }
    let handle = this.check(native.collectorFinish(this.handle))
    if (this.keepsInfo) this.taken = readInfo()
    try {
      return decoding.ofBuffer(handle, () => {
        const kept = handle
        handle = -1
        native.bufferInfo(kept)
        return makeOwnBuffer(kept)
      })
    } finally {
      if (handle >= 0) native.bufferRelease(handle, 0)
    }
  }

  takePartial() {
    return this.#makeBuffer(native.collectorTakePartial(this.handle))
  }

  #makeBuffer(code) {
    const handle = this.check(code)
    if (this.keepsInfo) this.taken = readInfo()
    return makeBuffer(handle)
  }
}

const inCamelCase = (text) => text.replace(/^\w+/, (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()))

module.exports = { Body }
