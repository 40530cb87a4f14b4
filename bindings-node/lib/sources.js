// What can be a source, and how each is read. A source that was opened has `read(body)`, which answers whether the body
// is complete (false: nothing more now), and `end`: how its end is known where the caller does not say.
'use strict'

const { bytesOf, isChunk } = require('./bytes.js')
const { state, wrongType, describe, leaveUnheard } = require('./errors.js')
const { isDescriptor, openDescriptor } = require('./descriptor.js')
const { lengthOfResponse } = require('./http.js')
const { isSocket, isStream, readStream } = require('./stream.js')
const { checkResult, isBlob, isResponse, isWebStream, readBlob, readWebStream } = require('./web.js')

/** A whole body as one chunk. */
function readChunk(chunk, body) {
  if (body.isComplete()) return true
  body.checkCancelled()
  return body.write(bytesOf(chunk)) || body.finishSource()
}

function readIterable(iterable, body) {
  if (body.isComplete()) return true
  body.checkCancelled()
  for (const chunk of iterable) {
    if (body.write(bytesOf(chunk))) return true
    body.checkCancelled()
  }
  return body.finishSource()
}

/** Tells an iterator once that it is not asked any more; whatever it answers to that is too late for anybody. */
async function giveBack(iterator) {
  try {
    await iterator.return?.()
  } catch {
    // The error that led here is the one to tell.
  }
}

async function readAsyncIterable(iterable, body) {
  if (body.isComplete()) return true
  body.checkCancelled()
  const iterator = iterable[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await nextOf(iterator, body)
    if (done) return body.finishSource()
    let complete
    try {
      complete = body.write(bytesOf(value))
      if (!complete) body.checkCancelled()
    } catch (error) {
      giveBack(iterator)
      throw error
    }
    if (complete) {
      giveBack(iterator)
      return true
    }
  }
}

/** What the iterator has next; one that fails by itself is not told to stop, one that is not waited for any more is. */
async function nextOf(iterator, body) {
  try {
    const turn = body.pause()
    if (turn !== undefined) await turn
    return checkResult(await body.until(iterator.next()))
  } catch (error) {
    if (body.cancelled) giveBack(iterator)
    throw error
  }
}

async function readResponse(response, body) {
  const { body: stream } = response
  if (response.bodyUsed) throw state('the body of this response was already read')
  if (stream === null || stream === undefined) return readIterable([], body)
  const announced = lengthOfResponse(response)
  if (isWebStream(stream)) return readWebStream(stream, body, announced)
  body.announce(announced) // the body of another client's response is one of Node's streams
  return readStream(stream, body)
}

const opened = (end, read) => ({ end, read })

/** What can be read at once; undefined for all else. */
function openNow(source) {
  if (isChunk(source)) return opened('eof', (body) => readChunk(source, body))
  if (typeof source?.[Symbol.iterator] === 'function') return opened('eof', (body) => readIterable(source, body))
}

/** A source for the calls that answer later. */
function sourceOf(source) {
  if (typeof source === 'function') return opened('length', (body) => body.pullLater(source))
  if (isChunk(source)) return openNow(source)
  if (typeof source === 'object' && source !== null) {
    if (isStream(source)) return opened(isSocket(source) ? 'length' : 'eof', (body) => readStream(source, body))
    if (isDescriptor(source)) return openDescriptor(source)
    if (isResponse(source)) return opened('eof', (body) => readResponse(source, body))
    if (isBlob(source)) return opened('eof', (body) => readBlob(source, body))
    if (isWebStream(source)) return opened('eof', (body) => readWebStream(source, body))
    if (typeof source[Symbol.asyncIterator] === 'function') return opened('eof', (body) => readAsyncIterable(source, body))
  }
  const now = openNow(source)
  if (now) return now
  leaveUnheard(source)
  throw wrongType(
    `a source must be a stream, a Response, a Blob, a FileHandle or { fd }, an async iterable or an iterable of chunks, a chunk, or a function (window) => bytes written, not ${describe(source)}`,
  )
}

const LATER = [isStream, isDescriptor, isResponse, isBlob, isWebStream, (source) => Symbol.asyncIterator in source]

/** A source for the calls that answer at once. */
function syncSourceOf(source) {
  if (typeof source === 'function') return opened('length', (body) => body.pull(source))
  const later = typeof source === 'object' && source !== null && LATER.some((is) => is(source))
  const now = later ? undefined : openNow(source)
  if (now) return now
  leaveUnheard(source)
  throw wrongType(
    `a source that is read at once must be an iterable of chunks, a chunk, or a function (window) => bytes written, not ${describe(source)}${later ? '; collect reads it' : ''}`,
  )
}

module.exports = { sourceOf, syncSourceOf }
