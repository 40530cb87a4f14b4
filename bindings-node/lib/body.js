// One body in the engine, as the sources and the public classes reach it.
'use strict'

const { native, numbers, view } = require('./native.js')
const { BrimfulError, codeOf, wrongType, describe } = require('./errors.js')
const { makeBuffer, makeOwnBuffer } = require('./buffer.js')
const { readInfo } = require('./info.js')
const { NONE, tellOptions } = require('./options.js')
const { poolHandle } = require('./pool.js')

/** Statuses that are no errors. */
const COMPLETE = 0
const WINDOW = 2

/** What may come with the bytes of an answer. */
const GO = 0
const PENDING = 1
const RETRY = 2
const FAILED = 3
const UNKNOWN = 4

/** The status of a source's own error. */
const SOURCE = -9

const EMPTY = new Uint8Array(0)

/** A body that nobody finished: what was shown of it is let go without being used again. */
const lost = new FinalizationRegistry((held) => {
  const { handle } = held
  held.handle = -1 // it may have been watched twice
  if (handle >= 0) native.collectorFree(handle, 1)
})

class Body {
  /**
   * @param {object} options as `bodyOptions` gives them
   * @param {boolean} exact whether the result is to be exact
   * @param {'length' | 'eof'} end how the end is known where the options do not say
   */
  constructor(options, pool, exact, end) {
    this.options = options
    this.exact = exact
    this.end = end
    /** What is told of a body whose result was taken; only kept where somebody can ask. */
    this.taken = undefined
    this.keepsInfo = false
    /** Whether errors carry what came: in calls that make the body and give it to nobody. */
    this.lends = false
    this.cancelled = false
    /** A source that is being waited for goes on at once when this is called. */
    this.wake = undefined
    const pooled = poolHandle(pool)
    const handle = native.collectorNew(pooled, tellOptions(options, exact, end))
    if (handle < 0) throw this.failure(handle)
    this.held = { handle }
  }

  /** From now on the body may be lost: the garbage collector sees to it then. */
  watch() {
    this.keepsInfo = true
    lost.register(this, this.held)
    return this
  }

  get handle() {
    return this.held.handle
  }

  /** Gives everything back. Not while a source has a window. */
  free() {
    const { handle } = this.held
    this.held.handle = -1
    if (handle >= 0) native.collectorFree(handle, 0)
  }

  reset(options, end = this.end) {
    this.check(native.collectorReset(this.handle, tellOptions(options, this.exact, end)))
    this.taken = undefined
    this.cancelled = false
  }

  /** Makes a length known that the source announces, if nothing has come yet and the caller has given none. */
  announce({ length, hint }) {
    const { options } = this
    if ((length === undefined && hint === undefined) || options.length !== undefined || this.cancelled) return
    native.collectorInfo(this.handle)
    const untouched = numbers[3] === 0 && numbers[4] === 0 && numbers[8] === 0
    if (!untouched) return
    this.reset(length === undefined ? { ...options, sizeHint: options.sizeHint ?? hint } : { ...options, length, end: options.end ?? 'eof' })
  }

  check(code) {
    if (code < 0) throw this.failure(code)
    return code
  }

  /** The error of a status, in the engine's words. */
  failure(code, cause) {
    const name = native.statusName(code)
    if (name === 'invalid') return new BrimfulError(`invalid: ${inCamelCase(native.refusal())}`, { code: codeOf(name), cause })
    if (this.held === undefined) return new BrimfulError(`${name}: the collector could not be made`, { code: codeOf(name), cause })
    const message = native.collectorMessage(this.handle, code)
    const { received, limit, expected } = this.info()
    return new BrimfulError(message, { code: codeOf(name), received, limit, expected, cause, partial: this.partial() })
  }

  /** The source is cut off before its end, which is `short` whether a length was announced or not. */
  cut(cause) {
    if (this.lacks()) return this.failure(native.collectorEnd(this.handle), cause)
    const { received, limit } = this.info()
    const message = `short: the source was closed before its end, after ${received} bytes; they can be taken as the partial`
    return new BrimfulError(message, { code: codeOf('short'), received, limit, cause, partial: this.partial() })
  }

  /** What came, for an error that carries it. */
  partial() {
    if (!this.lends) return undefined
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
    return this.check(native.collectorComplete(this.handle)) === COMPLETE
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

  /** Takes a chunk; answers whether the body is complete. */
  write(bytes) {
    return this.check(native.collectorWrite(this.handle, bytes)) === COMPLETE
  }

  writeSome(bytes) {
    return this.check(native.collectorWriteSome(this.handle, bytes))
  }

  finishSource() {
    this.check(native.collectorEnd(this.handle))
    return true
  }

  /** Asks the engine for its opinion where a source is not asked through it: a body that was cancelled fails here. */
  checkCancelled() {
    if (!this.cancelled) return
    const code = native.collectorBegin(this.handle)
    if (code === WINDOW) native.collectorAnswer(this.handle, 0, PENDING, 0)
    this.check(code)
  }

  cancel() {
    native.collectorCancel(this.handle)
    this.cancelled = true
    this.wake?.()
  }

  /** Lets a callback fill windows; true when the body is complete, false when the callback has nothing now. */
  pull(source) {
    let code = native.collectorBegin(this.handle)
    while (code === WINDOW) {
      const window = shownWindow()
      let answer
      try {
        answer = source(window)
      } catch (error) {
        code = this.answerError(error, window)
        continue
      }
      code = this.answer(answer, window)
    }
    return this.check(code) === COMPLETE
  }

  /** The same with a callback that may answer later. */
  async pullLater(source) {
    let code = native.collectorBegin(this.handle)
    while (code === WINDOW) {
      const window = shownWindow()
      let answer
      try {
        answer = source(window)
        if (typeof answer?.then === 'function') answer = await answer
      } catch (error) {
        code = this.answerError(error, window)
        continue
      }
      code = this.answer(answer, window)
    }
    return this.check(code) === COMPLETE
  }

  answer(answer, window) {
    if (typeof answer === 'number') return native.collectorAnswer(this.handle, answer, GO, 0, window)
    if (answer === null) return native.collectorAnswer(this.handle, 0, PENDING, 0)
    native.collectorAnswer(this.handle, 0, UNKNOWN, 0)
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

  finish() {
    return this.exact ? this.finishExact() : this.finishPooled()
  }

  finishExact() {
    const memory = native.collectorFinishExact(this.handle)
    if (typeof memory === 'number') throw this.failure(memory)
    if (this.keepsInfo) this.taken = readInfo()
    return Buffer.from(memory, 0, memory.byteLength)
  }

  finishPooled() {
    return this.#makeBuffer(native.collectorFinish(this.handle))
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

/** The window that the native half has just handed out, as the callback sees it. */
function shownWindow() {
  return numbers[3] === 1 ? Buffer.alloc(numbers[2]) : view(numbers[0], numbers[1], numbers[2])
}

const inCamelCase = (text) => text.replace(/^\w+/, (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()))

module.exports = { Body, shownWindow, EMPTY, NONE, COMPLETE }
