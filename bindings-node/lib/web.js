// Web streams, and what has one: Response, Request, Blob.
'use strict'

// Node's own, whatever a program has made of the globals.
const { ReadableStream, ReadableStreamBYOBReader, ReadableStreamDefaultController } = require('node:stream/web')
const { bytesOf } = require('./bytes.js')
const { state, wrongType, describe } = require('./errors.js')
const { isFetchCut } = require('./http.js')

/** The size of the memory that a byte stream is given to fill. */
const BYOB = 65_536

const isWebStream = (source) => typeof source.getReader === 'function' && typeof source.cancel === 'function'

const isResponse = (source) => typeof source.arrayBuffer === 'function' && 'body' in source && 'bodyUsed' in source

const isBlob = (source) => typeof source.arrayBuffer === 'function' && typeof source.stream === 'function' && typeof source.size === 'number'

/** The source learns once why nobody reads on; how it takes that is its own affair. */
function cancel(reader, reason) {
  try {
    reader.cancel?.(reason)?.catch?.(() => {})
  } catch {
    // Not even that it can do.
  }
}

/**
 * Where this Node keeps a stream's controller; null where that cannot be found.
 * @type {symbol | null | undefined}
 */
let statePlace

function findStatePlace() {
  const stream = new ReadableStream()
  const isIt = (symbol) => stream[symbol]?.controller instanceof ReadableStreamDefaultController
  return Object.getOwnPropertySymbols(stream).find(isIt) ?? null
}

/**
 * Whether a stream is known to have no reader of the kind below. Otherwise it only says so by refusing one, with a message
 * for which all of the stream is looked through: that takes 10 us, more than a small body.
 */
function isOrdinary(stream) {
  if (statePlace === undefined) statePlace = findStatePlace()
  return statePlace !== null && stream[statePlace]?.controller instanceof ReadableStreamDefaultController
}

/** A reader that fills memory which is given to it, where the stream offers one: it reads no further than is wanted. */
function readerOf(stream) {
  if (isOrdinary(stream)) return { reader: lock(stream), isByob: false }
  try {
    const reader = stream.getReader({ mode: 'byob' })
    // What only looks like a stream may know nothing of modes, and then its chunks are its own memory.
    return { reader, isByob: reader instanceof ReadableStreamBYOBReader }
  } catch {
    return { reader: lock(stream), isByob: false }
  }
}

/** Whether it is locked is only asked where it may be, since that takes as long as to get a reader. */
function lock(stream) {
  try {
    return stream.getReader()
  } catch (error) {
    throw stream.locked ? state('the stream is locked: somebody else reads it') : error
  }
}

async function readWebStream(stream, body, announced) {
  const { reader, isByob } = readerOf(stream)
  try {
    if (announced) body.announce(announced)
    if (body.isComplete()) return true
    body.checkCancelled()
    if (!isByob) body.gather(true)
    const ask = isByob ? filling(reader, body) : () => reader.read()
    for (;;) {
      const turn = body.pause()
      if (turn !== undefined) await turn
      const { done, value } = checkResult(await body.until(ask()))
      if (done) return body.finishSource()
      const complete = body.write(bytesOf(value))
      body.checkCancelled()
      if (complete) {
        if (!body.stopsAtLength()) cancel(reader, undefined)
        return true
      }
    }
  } catch (error) {
    // A connection that went before an announced length was there is `short`.
    const reason = announced && isFetchCut(error) && body.lacks() ? body.cut(error) : error
    cancel(reader, reason)
    throw reason
  } finally {
    reader.releaseLock?.()
  }
}

/**
 * Asks for the next bytes in memory of their own, never in a window: the stream's source sees all of it, and may keep
 * it. So it holds nothing of the body either, and is used again only where it comes back.
 */
function filling(reader, body) {
  let memory = new ArrayBuffer(BYOB)
  let used = 0
  return async () => {
    new Uint8Array(memory, 0, used).fill(0)
    const room = Math.min(BYOB, Math.max(1, body.wanted()))
    const { done, value } = checkResult(await reader.read(new Uint8Array(memory, 0, room)))
    const isBack = value !== undefined && value.buffer.byteLength === BYOB
    memory = isBack ? value.buffer : new ArrayBuffer(BYOB)
    used = isBack ? value.byteOffset + value.byteLength : 0
    return { done, value }
  }
}

/** What an iterator or reader answers is an object. */
function checkResult(result) {
  if (typeof result === 'object' && result !== null) return result
  throw wrongType(`a source must answer { done, value } for its next chunk, not ${describe(result)}`)
}

function readBlob(blob, body) {
  body.announce({ hint: blob.size })
  return readWebStream(blob.stream(), body)
}

module.exports = { checkResult, isBlob, isResponse, isWebStream, readBlob, readWebStream }
