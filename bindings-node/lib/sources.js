// What can be a source, and how each is read. A source that was opened has `read(body)`, which answers whether the body
// is complete (false: nothing more now), `end`: how its end is known where the caller does not say, and where it can say
// of what kind its content is, `contentType()`.
'use strict'

const { bytesOf, isChunk } = require('./bytes.js')
const { state, wrongType, describe, leaveUnheard } = require('./errors.js')
const { isDescriptor, openDescriptor } = require('./descriptor.js')
const { isIncomingMessage, lengthOfResponse } = require('./http.js')
const { isSocket, isStream, readStream } = require('./stream.js')
const { checkResult, isBlob, isResponse, isWebStream, readBlob, readWebStream } = require('./web.js')

/** A whole body as one chunk. */
function readChunk(chunk, body) {
  if (body.isComplete()) return true
  body.checkCancelled()
  body.gather(false)
  return body.write(bytesOf(chunk)) || body.finishSource()
}

function readIterable(iterable, body) {
  if (body.isComplete()) return true
  body.checkCancelled()
  body.gather(false)
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
  body.gather(false)
  const iterator = iterable[Symbol.asyncIterator]()
  // One that fails by itself is not told to stop; one that is not waited for any more is.
  let failed = false
  try {
    for (;;) {
      const turn = body.pause()
      if (turn !== undefined) await turn
      failed = true
      const { done, value } = checkResult(await body.until(iterator.next()))
      failed = false
      if (done) return body.finishSource()
      if (body.write(bytesOf(value))) break
      body.checkCancelled()
    }
  } catch (error) {
    if (!failed || body.cancelled) giveBack(iterator)
    throw error
  }
  giveBack(iterator)
  return true
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

const opened = (end, read, contentType) => ({ end, read, contentType })

function openStream(stream) {
  const end = isSocket(stream) ? 'length' : 'eof'
  const read = (body) => readStream(stream, body)
  // A message that was told to decode gives strings, which count as UTF-8 whatever its header says.
  const says = isIncomingMessage(stream) && !stream.readableEncoding
  return opened(end, read, says ? () => stream.headers['content-type'] : undefined)
}

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
    if (isStream(source)) return openStream(source)
    if (isDescriptor(source)) return openDescriptor(source)
    if (isResponse(source)) return opened('eof', (body) => readResponse(source, body), () => source.headers?.get?.('content-type'))
    if (isBlob(source)) return opened('eof', (body) => readBlob(source, body), () => source.type)
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
  const later = typeof source === 'object' && source !== null && !isChunk(source) && LATER.some((is) => is(source))
  const now = later ? undefined : openNow(source)
  if (now) return now
  leaveUnheard(source)
  throw wrongType(
    `a source that is read at once must be an iterable of chunks, a chunk, or a function (window) => bytes written, not ${describe(source)}${later ? '; collect reads it' : ''}`,
  )
}

module.exports = { sourceOf, syncSourceOf }
