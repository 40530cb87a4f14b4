'use strict'

const { types: { isUint8Array } } = require('node:util')
const { native } = require('./native.js')
const { bytesIn, bytesOf, fillTarget, targetOf } = require('./bytes.js')
const { Body } = require('./body.js')
const { BrimfulError, codeOf, invalid, wrongType, describe } = require('./errors.js')
const { BODY, bodyOptions, checkNames, countOf } = require('./options.js')
const { readSegments } = require('./buffer.js')
const { kindOf } = require('./sources.js')

/** Chunks up to here are put together, since a call into the native half costs more than they do. */
const SMALL = 256
const STAGE = 4096

/** Errors after which the same bytes can be written again. */
const LATER = new Set([codeOf('no_memory'), codeOf('budget')])

const OWN = new Set(['result', 'target', 'pool'])

let bodyOf
let readFrom
let readNow

class Collector {
  #body
  /** A source is being read and has not answered yet. */
  #reading = false
  /** The same for a source that is read at once: whoever is called by it cannot begin another. */
  #readingNow = false
  /** The window that `reserve` handed out. */
  #window
  /** Small chunks that the engine has not seen yet, and how many bytes of them it would take without a word. */
  #stage
  #staged = 0
  #room = 0

  constructor(options = {}) {
    this.#body = options instanceof Body ? options : newBody(options)
    this.#body.stoppable = true
  }

  write(chunk) {
    if (this.#room > 0 && isUint8Array(chunk)) {
      const length = bytesIn(chunk)
      if (this.#fits(length)) {
        if (length === 1) this.#stage[this.#staged] = chunk[0]
        else this.#stage.set(chunk, this.#staged)
        this.#staged += length
        return length
      }
    }
    const bytes = bytesOf(chunk)
    const body = this.#idle()
    body.write(bytes)
    if (bytes.length <= SMALL && !body.isBudgeted) {
      // One byte less than what is wanted neither completes the body nor is too much for it.
      this.#room = Math.min(STAGE, Math.max(0, body.wanted() - 1))
      this.#stage ??= Buffer.allocUnsafeSlow(STAGE)
    }
    return bytes.length
  }

  /** An empty chunk has nothing to put by, and what it is answered depends on the state. */
  #fits(length) {
    return length > 0 && length <= SMALL && this.#staged + length <= this.#room
  }

  /** Gives the engine what it has not seen yet. Where there is no memory for it, it stays for the next attempt. */
  #settle() {
    this.#room = 0
    if (this.#staged === 0) return
    const bytes = this.#stage.subarray(0, this.#staged)
    try {
      this.#body.write(bytes)
    } catch (error) {
      if (!LATER.has(error?.code)) this.#staged = 0
      throw error
    }
    this.#staged = 0
  }

  end() {
    this.#idle().finishSource()
  }

  reserve(want) {
    const body = this.#idle()
    const wanted = Number(countOf('want', want) ?? 0)
    body.check(native.collectorReserve(body.handle, Math.min(wanted, Number.MAX_SAFE_INTEGER)))
    return (this.#window ??= body.shownWindow())
  }

  commit(filled) {
    if (typeof filled !== 'number') throw wrongType(`filled must be a number, not ${describe(filled)}`)
    const body = this.#idle()
    const window = this.#window
    this.#window = undefined
    body.check(native.collectorCommit(body.handle, filled, window))
  }

  get complete() {
    return this.#body.isComplete()
  }

  read(source) {
    if (typeof source !== 'function') {
      throw wrongType(`read takes a function (window) => bytes written, not ${describe(source)}; write takes chunks, readAsync any source`)
    }
    const body = this.#idle()
    return this.#readNow(source, { read: () => body.pull(source) })
  }

  async readAsync(source) {
    return this.#readFrom(source, kindOf(source))
  }

  async #readFrom(source, kind) {
    const body = this.#idle()
    this.#reading = true
    try {
      return await kind.read(source, body)
    } finally {
      this.#reading = false
    }
  }

  #readNow(source, kind) {
    const before = this.#readingNow
    this.#readingNow = true
    try {
      return kind.read(source, this.#body)
    } finally {
      this.#readingNow = before
    }
  }

  copy(offset, target) {
    this.#settle()
    const body = this.#body
    const from = Number(countOf('offset', offset) ?? 0)
    return fillTarget(target, (bytes) => body.check(native.collectorCopy(body.handle, from, bytes)))
  }

  segments() {
    this.#settle()
    const body = this.#body
    if (body.target !== undefined) {
      const { state, length } = body.info()
      const { buffer, byteOffset } = body.target
      return length === 0 || state === 'taken' ? [] : [Buffer.from(buffer, byteOffset, length)]
    }
    return readSegments(
      (index) => body.check(native.collectorSegments(body.handle, index)),
      (offset, target) => body.check(native.collectorCopy(body.handle, offset, target)),
    )
  }

  finish() {
    return this.#idle().finish()
  }

  takePartial() {
    this.#checkBusy()
    try {
      this.#settle()
    } catch (error) {
      // What ended the body is no reason not to give what came; what is still to come in is.
      if (LATER.has(error?.code)) throw error
    }
    return this.#body.takePartial()
  }

  info() {
    try {
      this.#settle()
    } catch {
      // It is told where it matters: by the calls that need the memory.
    }
    return this.#body.info()
  }

  cancel() {
    this.#body.cancel()
  }

  reset(options) {
    this.#checkBusy()
    const body = this.#body
    if (options !== undefined) {
      checkNames(options, BODY)
      const checked = bodyOptions(options)
      body.reset(checked)
      body.options = checked
    } else {
      body.reset(body.options)
    }
    this.#window = undefined
    this.#staged = this.#room = 0
  }

  #checkBusy() {
    if (this.#reading) {
      throw new BrimfulError('busy: a source is being read into this collector; wait for it, or cancel', { code: codeOf('busy') })
    }
  }

  #idle() {
    this.#checkBusy()
    this.#settle()
    return this.#body
  }

  static {
    bodyOf = (collector) => {
      if (typeof collector !== 'object' || collector === null || !(#body in collector)) {
        throw wrongType(`collector must be a Collector, not ${describe(collector)}`)
      }
      if (collector.#readingNow) {
        throw new BrimfulError('busy: a source is being read into this collector; it must return first', { code: codeOf('busy') })
      }
      return collector.#idle()
    }
    readNow = (collector, source, kind) => collector.#readNow(source, kind)
    readFrom = (collector, source, kind) => collector.#readFrom(source, kind)
  }
}

function newBody(options) {
  checkNames(options, OWN, BODY)
  const { result, target, pool } = options
  if (result !== undefined && result !== null && result !== 'exact' && result !== 'pooled') throw invalid(`result must be 'exact' or 'pooled', not ${describe(result)}`)
  if (target === undefined || target === null) return new Body(bodyOptions(options), pool, result !== 'pooled', 'length').watch()
  if (result !== undefined && result !== null) throw invalid('with a target, the body lies there; finish gives a pooled copy')
  const { bytes, isDelicate } = targetOf(target)
  if (isDelicate) throw invalid('the target must be memory of this thread alone, and not a window or view of brimful; collectInto takes all kinds')
  return new Body(bodyOptions(options), pool, false, 'length', bytes).watch()
}

module.exports = { Collector, bodyOf, readFrom, readNow }
