// What can be a source, and how each kind is read. A kind has `end`: how the end is known where the caller does not say, and
// `read(source, body)`, which answers whether the body is complete (false: nothing more now). Where a source can say of what
// kind its content is, there is `contentType(source)`; where it can be begun before there is a body, `begin(source)` answers
// its turns (turns.js), or undefined where it is to be read.
'use strict'

const { bytesOf, isChunk } = require('./bytes.js')
const { state, wrongType, describe, leaveUnheard } = require('./errors.js')
const { isDescriptor, kindOfDescriptor } = require('./descriptor.js')
const { isIncomingMessage, lengthOfResponse } = require('./http.js')
const { isSocket, isStream, readStream } = require('./stream.js')
const { IteratorTurns, readTurns } = require('./turns.js')
const { beginWebStream, isBlob, isResponse, isWebStream, readBlob, readWebStream } = require('./web.js')

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

async function readAsyncIterable(iterable, body) {
  if (body.isComplete()) return true
  body.checkCancelled()
  return readTurns(new IteratorTurns(iterable), body)
}

/** What a response says of its length, once it is seen that nobody has read it. */
function announcedOf(response) {
  if (response.bodyUsed) throw state('the body of this response was already read')
  return lengthOfResponse(response)
}

function beginResponse(response) {
  const { body: stream } = response
  const announced = announcedOf(response)
  if (stream === null || stream === undefined || announced.length !== undefined || !isWebStream(stream)) return undefined
  return beginWebStream(stream, announced)
}

async function readResponse(response, body) {
  const { body: stream } = response
  const announced = announcedOf(response)
  if (stream === null || stream === undefined) return readIterable([], body)
  if (isWebStream(stream)) return readWebStream(stream, body, announced)
  body.announce(announced) // the body of another client's response is one of Node's streams
  return readStream(stream, body)
}

const kind = (end, read, contentType, begin) => ({ end, read, contentType, begin })

const CALLBACK = kind('length', (source, body) => body.pullLater(source))
const CALLBACK_NOW = kind('length', (source, body) => body.pull(source))
const CHUNK = kind('eof', readChunk)
const ITERABLE = kind('eof', readIterable)
const ASYNC_ITERABLE = kind('eof', readAsyncIterable, undefined, (source) => new IteratorTurns(source))
const STREAM = kind('eof', readStream)
const SOCKET = kind('length', readStream)
const MESSAGE = kind('eof', readStream, (message) => message.headers['content-type'])
const RESPONSE = kind('eof', readResponse, (response) => response.headers?.get?.('content-type'), beginResponse)
const BLOB = kind('eof', readBlob, (blob) => blob.type)
const WEB_STREAM = kind('eof', readWebStream, undefined, beginWebStream)

function kindOfStream(stream) {
  if (isSocket(stream)) return SOCKET
  // A message that was told to decode gives strings, which count as UTF-8 whatever its header says.
  return isIncomingMessage(stream) && !stream.readableEncoding ? MESSAGE : STREAM
}

/** What can be read at once; undefined for all else. */
function kindNow(source) {
  if (isChunk(source)) return CHUNK
  if (typeof source?.[Symbol.iterator] === 'function') return ITERABLE
}

/** The kind of a source for the calls that answer later. */
function kindOf(source) {
  if (typeof source === 'function') return CALLBACK
  if (isChunk(source)) return CHUNK
  if (typeof source === 'object' && source !== null) {
    if (isStream(source)) return kindOfStream(source)
    if (isDescriptor(source)) return kindOfDescriptor(source)
    if (isResponse(source)) return RESPONSE
    if (isBlob(source)) return BLOB
    if (isWebStream(source)) return WEB_STREAM
    if (typeof source[Symbol.asyncIterator] === 'function') return ASYNC_ITERABLE
  }
  const now = kindNow(source)
  if (now) return now
  leaveUnheard(source)
  throw wrongType(
    `a source must be a stream, a Response, a Blob, a FileHandle or { fd }, an async iterable or an iterable of chunks, a chunk, or a function (window) => bytes written, not ${describe(source)}`,
  )
}

const LATER = [isStream, isDescriptor, isResponse, isBlob, isWebStream, (source) => Symbol.asyncIterator in source]

/** The kind of a source for the calls that answer at once. */
function syncKindOf(source) {
  if (typeof source === 'function') return CALLBACK_NOW
  const later = typeof source === 'object' && source !== null && !isChunk(source) && LATER.some((is) => is(source))
  const now = later ? undefined : kindNow(source)
  if (now) return now
  leaveUnheard(source)
  throw wrongType(
    `a source that is read at once must be an iterable of chunks, a chunk, or a function (window) => bytes written, not ${describe(source)}${later ? '; collect reads it' : ''}`,
  )
}

module.exports = { kindOf, syncKindOf }
