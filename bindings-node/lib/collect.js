'use strict'

const { Body } = require('./body.js')
const { targetOf } = require('./bytes.js')
const { Collector, bodyOf, readFrom, readNow } = require('./collector.js')
const { BrimfulError, codeOf, invalid, wrongType, describe } = require('./errors.js')
const { BODY, NONE, bodyOptions, checkNames, hasBodyOption } = require('./options.js')
const { sourceOf, syncSourceOf } = require('./sources.js')
const { Decoding, TEXT } = require('./text.js')

const OWN = new Set(['pool', 'collector', 'signal', 'onProgress'])
const NO_NAMES = new Set()

/** The results: how each is taken, and whether the body is made ready for an exact one. */
const EXACT = { exact: true, finish: (body) => body.finishExact() }
const POOLED = { exact: false, finish: (body) => body.finishPooled() }
const INTO = { exact: false, finish: (body) => body.finishInto() }

/** A string, in the encoding that was given or that its source tells. */
class TextResult {
  exact = false
  isText = true
  names = TEXT
  decoding

  constructor(options) {
    this.decoding = new Decoding(options)
  }

  /** What the source says of itself is asked before it is read. */
  heed(opened) {
    if (opened.contentType !== undefined) this.decoding.heed(opened)
  }

  finish(body) {
    return body.finishText(this.decoding)
  }
}

/** What a string means: the charset of a Content-Type says nothing of JSON. */
class JsonResult extends TextResult {
  heed() {}

  finish(body) {
    return JSON.parse(super.finish(body))
  }
}

const textOf = (options) => new TextResult(options)
const jsonOf = (options) => new JsonResult(options)

/** One call: the body that it reads into, and whether that is a collector's or this call's alone. */
class Call {
  constructor(options, result, end, target) {
    this.result = result
    this.signal = undefined
    this.given = undefined
    const waits = result.exact || result.isText === true
    if (options === undefined) {
      this.body = new Body(NONE, undefined, result.exact, end, target, waits)
      this.body.isText = result.isText === true
      return
    }
    checkNames(options, OWN, BODY, result.names ?? NO_NAMES)
    // The body's options are read where they are: those of a class, or inherited ones, are options too.
    const { collector, pool, signal, onProgress } = options
    this.signal = signalOf(signal)
    checkProgress(onProgress)
    if (collector === undefined || collector === null) {
      this.body = new Body(bodyOptions(options), pool, result.exact, end, target, waits)
      this.body.isText = result.isText === true
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
  read(opened) {
    return this.given === undefined ? opened.read(this.body) : readFrom(this.given, opened)
  }

  /** The body is complete, or its source has nothing now (E22). */
  end(complete) {
    // What was aborted before the source could see it is aborted all the same.
    if (this.signal?.aborted) throw this.signal.reason
    return complete ? this.result.finish(this.body) : this.#wouldBlock()
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
  const opened = syncSourceOf(source)
  const call = new Call(options, result, opened.end)
  const { body, signal } = call
  body.lends = call.given === undefined
  const onAbort = () => body.cancel()
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort)
  try {
    return call.end(call.given === undefined ? opened.read(body) : readNow(call.given, opened))
  } finally {
    signal?.removeEventListener('abort', onAbort)
    call.leave()
  }
}

/** `asked` is a result, or what makes one of the options. */
async function later(source, options, asked, target) {
  const result = typeof asked === 'function' ? asked(options) : asked
  const opened = sourceOf(source)
  result.heed?.(opened)
  const call = new Call(options, result, opened.end, target)
  const { body, given, signal } = call
  if (given === undefined) {
    body.watch()
    body.lends = target === undefined
  }
  try {
    return call.end(await (signal === undefined ? call.read(opened) : heeding(signal, body, () => call.read(opened))))
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
const collectText = (source, options) => later(source, options, textOf)
const collectTextSync = (source, options) => sync(source, options, textOf(options))
const collectJson = (source, options) => later(source, options, jsonOf)

module.exports = { collect, collectPooled, collectInto, collectText, collectJson, collectSync, collectPooledSync, collectTextSync }
