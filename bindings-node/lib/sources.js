// What can be a source, and how each is read. A source that was opened has `read(body)`, which answers whether the body
// is complete (false: nothing more now), and `end`: how its end is known where the caller does not say.
'use strict'

const { bytesOf, isChunk } = require('./bytes.js')
const { state, wrongType, describe } = require('./errors.js')
const { isFetchCut, lengthOfResponse } = require('./http.js')
const { isSocket, isStream, readStream } = require('./stream.js')

/** A whole body as one chunk. */
function readChunk(chunk, body) {
  if (body.isComplete()) return true
  return body.write(bytesOf(chunk)) || body.finishSource()
}

function readIterable(iterable, body) {
  if (body.isComplete()) return true
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
  const iterator = iterable[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await iterator.next()
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

const isWebStream = (source) => typeof source.getReader === 'function' && typeof source.cancel === 'function'

/** The source learns once why nobody reads on; how it takes that is its own affair. */
function cancel(reader, reason) {
  reader.cancel(reason).catch(() => {})
}

async function readWebStream(stream, body, announced) {
  if (stream.locked) throw state('the stream is locked: somebody else reads it')
  const reader = stream.getReader()
  try {
    if (announced) body.announce(announced)
    if (body.isComplete()) return true
    body.wake = () => cancel(reader, undefined)
    for (;;) {
      body.checkCancelled()
      const { done, value } = await next(reader, body, announced)
      body.checkCancelled()
      if (done) return body.finishSource()
      if (body.write(bytesOf(value))) {
        cancel(reader, undefined)
        return true
      }
    }
  } catch (error) {
    cancel(reader, error)
    throw error
  } finally {
    body.wake = undefined
    reader.releaseLock()
  }
}

/** The next chunk; a connection that went before an announced length was there is `short`. */
async function next(reader, body, announced) {
  try {
    return await reader.read()
  } catch (error) {
    throw announced && isFetchCut(error) && body.lacks() ? body.cut(error) : error
  }
}

const isResponse = (source) => typeof source.arrayBuffer === 'function' && 'body' in source && 'bodyUsed' in source

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
    if (isResponse(source)) return opened('eof', (body) => readResponse(source, body))
    if (isWebStream(source)) return opened('eof', (body) => readWebStream(source, body))
    if (typeof source[Symbol.asyncIterator] === 'function') return opened('eof', (body) => readAsyncIterable(source, body))
  }
  const now = openNow(source)
  if (now) return now
  throw wrongType(
    `a source must be a stream, a Response, an async iterable or an iterable of chunks, a chunk, or a function (window) => bytes written, not ${describe(source)}`,
  )
}

/** A source for the calls that answer at once. */
function syncSourceOf(source) {
  if (typeof source === 'function') return opened('length', (body) => body.pull(source))
  const later = typeof source === 'object' && source !== null && (isResponse(source) || isStream(source) || isWebStream(source) || source[Symbol.asyncIterator])
  const now = later ? undefined : openNow(source)
  if (now) return now
  throw wrongType(
    `a source that is read at once must be an iterable of chunks, a chunk, or a function (window) => bytes written, not ${describe(source)}${later ? '; collect reads it' : ''}`,
  )
}

module.exports = { sourceOf, syncSourceOf }
