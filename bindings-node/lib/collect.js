'use strict'

const { Body } = require('./body.js')
const { targetOf } = require('./bytes.js')
const { Collector, bodyOf, readFrom, readNow } = require('./collector.js')
const { BrimfulError, codeOf, invalid, wrongType, describe } = require('./errors.js')
const { BODY, NONE, bodyOptions, checkNames, hasBodyOption } = require('./options.js')
const { borrow, giveBack } = require('./gather.js')
const { kindOf, syncKindOf } = require('./sources.js')
const { checkAnswer, readTurns } = require('./turns.js')
const { Decoding, TEXT: TEXT_NAMES } = require('./text.js')

const OWN = new Set(['pool', 'collector', 'signal', 'onProgress'])
const NO_NAMES = new Set()

/**
 * The results: how each is taken, whether the body is made ready for an exact one, and whether it is made of text. What JSON
 * is made of is UTF-8, whatever a Content-Type says.
 */
const EXACT = { exact: true, isText: false, heeds: false, names: NO_NAMES, finish: (body) => body.finishExact() }
const POOLED = { ...EXACT, exact: false, finish: (body) => body.finishPooled() }
const INTO = { ...EXACT, exact: false, finish: (body) => body.finishInto() }
const TEXT = { exact: false, isText: true, heeds: true, names: TEXT_NAMES, from: (text) => text, finish: (body, decoding) => body.finishText(decoding) }
const JSON_ = { ...TEXT, heeds: false, from: JSON.parse, finish: (body, decoding) => JSON.parse(body.finishText(decoding)) }

/** One call: the body that it reads into, and whether that is a collector's or this call's alone. */
class Call {
  constructor(options, result, decoding, end, target) {
    this.result = result
    this.decoding = decoding
    this.signal = undefined
    this.given = undefined
    const waits = result.exact || result.isText
    if (options === undefined) {
      this.body = new Body(NONE, undefined, result.exact, end, target, waits)
      this.body.isText = result.isText
      return
    }
    checkNames(options, OWN, BODY, result.names)
    // The body's options are read where they are: those of a class, or inherited ones, are options too.
    const { collector, pool, signal, onProgress } = options
    this.signal = signalOf(signal)
    checkProgress(onProgress)
    if (collector === undefined || collector === null) {
      this.body = new Body(bodyOptions(options), pool, result.exact, end, target, waits)
      this.body.isText = result.isText
    } else {
      if ((pool !== undefined && pool !== null) || hasBodyOption(options)) {
        throw invalid('with a collector, the options of the body are those of the collector')
      }
      this.given = collector
      this.body = bodyOf(collector)
      if (target !== undefined && !isSame(target, this.body.target)) throw invalid('the collector was not made for this target')
    }
    this.body.signal = this.signal
    this.body.onProgress = onProgress ?? undefined
    if (this.signal !== undefined) this.body.stoppable = true
  }

  /** Reads a source for the calls that answer later. */
  read(source, kind) {
    return this.given === undefined ? kind.read(source, this.body) : readFrom(this.given, source, kind)
  }

  /** The body is complete, or its source has nothing now (E22). */
  end(complete) {
    // What was aborted before the source could see it is aborted all the same.
    if (this.signal?.aborted) throw this.signal.reason
    return complete ? this.result.finish(this.body, this.decoding) : this.#wouldBlock()
  }

  #wouldBlock() {
    const { body } = this
    body.lends = false
    body.beside = this.result.beside
    const collector = (this.given ??= new Collector(body.watch()))
    const { received } = body.info()
    const message = `would_block: the source has nothing more now, after ${received} bytes; go on with the collector of this error`
    throw new BrimfulError(message, { code: codeOf('would_block'), received, collector })
  }

  /** Nothing of this call is left, whatever came of it. */
  leave() {
    this.body.signal = this.body.onProgress = undefined
    this.result.leave?.(this.body)
    if (this.given === undefined) this.body.free()
  }
}

const isListenable = (signal) => typeof signal.addEventListener === 'function' && typeof signal.removeEventListener === 'function'

function signalOf(signal) {
  if (signal === undefined || signal === null) return undefined
  if (typeof signal === 'object' && 'aborted' in signal && isListenable(signal)) return signal
  throw wrongType(`signal must be an AbortSignal, not ${describe(signal)}`)
}

function checkProgress(onProgress) {
  if (onProgress === undefined || onProgress === null || typeof onProgress === 'function') return
  throw wrongType(`onProgress must be a function (received, expected), not ${describe(onProgress)}`)
}

const isSame = (a, b) => b !== undefined && a.buffer === b.buffer && a.byteOffset === b.byteOffset && a.byteLength === b.byteLength

function sync(source, options, result) {
  const decoding = result.isText ? Decoding.of(options) : undefined
  const kind = syncKindOf(source)
  const call = new Call(options, result, decoding, kind.end)
  const { body, signal } = call
  body.lends = call.given === undefined
  const onAbort = () => body.cancel()
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort)
  try {
    return call.end(call.given === undefined ? kind.read(source, body) : readNow(call.given, source, kind))
  } finally {
    signal?.removeEventListener('abort', onAbort)
    call.leave()
  }
}

/** What the calls that answer later begin with: whatever is wrong with what was given is told later too. */
function later(source, options, result, target) {
  try {
    if (!result.isText) return read(source, kindOf(source), options, result, undefined, target)
    const given = Decoding.of(options)
    const kind = kindOf(source)
    // What the source says of itself is asked before it is read.
    const decoding = result.heeds && kind.contentType !== undefined ? given.heeding(kind.contentType(source)) : given
    const turns = options === undefined && kind.begin !== undefined ? kind.begin(source) : undefined
    if (turns !== undefined) return readFew(source, kind, turns, result, decoding)
    return read(source, kind, options, result, decoding)
  } catch (error) {
    return Promise.reject(error)
  }
}

/**
 * Text of few bytes mostly comes in one chunk: neither the engine nor a body would have anything to say of it. All else is
 * read as ever, from where it was begun.
 */
async function readFew(source, kind, turns, result, decoding) {
  let asking = true
  let text
  let begun
  try {
    const { done, value } = checkAnswer(await turns.next())
    asking = false
    text = done ? '' : decoding.ofFew(value)
    if (text === undefined) begun = [value]
    else if (!done) {
      const { length } = value
      const stage = borrow()
      stage.set(value)
      asking = true
      const next = checkAnswer(await turns.next())
      if (next.done) giveBack(stage)
      else begun = [stage.subarray(0, length), next.value]
      asking = false
    }
    if (begun === undefined) turns.end()
  } catch (error) {
    throw turns.fail(error, asking)
  }
  if (begun === undefined) return result.from(text)
  return read(source, { ...kind, read: (_, body) => readTurns(turns, body, begun) }, undefined, result, decoding)
}

async function read(source, kind, options, result, decoding, target) {
  const call = new Call(options, result, decoding, kind.end, target)
  const { body, given, signal } = call
  if (given === undefined) {
    body.watch()
    body.lends = target === undefined
  }
  try {
    return call.end(await (signal === undefined ? call.read(source, kind) : heeding(signal, body, () => call.read(source, kind))))
  } finally {
    call.leave()
  }
}

/** Reads until the signal says no more, which is heard at once, whatever the source does then. */
function heeding(signal, body, read) {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      body.cancel()
      // A thread of the pool has the window and cannot be stopped: the body goes when it comes back.
      if (body.lent) settle(reject)(signal.reason)
    }
    const settle = (how) => (value) => {
      signal.removeEventListener('abort', onAbort)
      how(value)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    new Promise((go) => go(read())).then(settle(resolve), settle((error) => reject(signal.aborted ? signal.reason : error)))
  })
}

async function collectInto(source, target, options) {
  const { bytes, isDelicate } = targetOf(target)
  if (!isDelicate) return later(source, options, INTO, bytes)
  // Memory that other threads see, or a block: the body is read beside it and copied there, on every outcome.
  const aside = besideOf(options?.collector, bytes) ?? new Uint8Array(bytes.length)
  let landed = 0
  const measured = { ...INTO, beside: bytes, leave: (body) => { landed = body.info().length } }
  try {
    const length = await later(source, options, measured, aside)
    if (bytes.length >= landed) return length
  } finally {
    if (bytes.length >= landed) bytes.set(aside.subarray(0, landed))
  }
  throw new BrimfulError('contract: the target was detached or has shrunk meanwhile; the body is lost', { code: codeOf('contract'), landed: 0 })
}

/** The memory of a body that stopped beside this target, to go on with; else undefined. */
function besideOf(collector, bytes) {
  if (collector === undefined || collector === null) return undefined
  const body = bodyOf(collector)
  return isSame(bytes, body.beside) ? body.target : undefined
}

const collect = (source, options) => later(source, options, EXACT)
const collectPooled = (source, options) => later(source, options, POOLED)
const collectSync = (source, options) => sync(source, options, EXACT)
const collectPooledSync = (source, options) => sync(source, options, POOLED)
const collectText = (source, options) => later(source, options, TEXT)
const collectTextSync = (source, options) => sync(source, options, TEXT)
const collectJson = (source, options) => later(source, options, JSON_)

module.exports = { collect, collectPooled, collectInto, collectText, collectJson, collectSync, collectPooledSync, collectTextSync }
