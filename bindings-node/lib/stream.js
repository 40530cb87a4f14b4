// Node's own streams, read by their events: a chunk is with the engine before the next one is made.
'use strict'

const { bytesOf } = require('./bytes.js')
const { state } = require('./errors.js')
const { isIncomingMessage, isServerSide, isMessageCut, lengthOfMessage } = require('./http.js')

const isStream = (source) =>
  typeof source.on === 'function' && typeof source.pipe === 'function' && typeof source.read === 'function'

let net

/** Sockets and pipes stop at the length, connected or not yet: what follows is for whoever uses the connection next. */
const isSocket = (stream) => stream instanceof (net ??= require('node:net')).Socket

/** Nothing more is read of it. A request on a server stays whole, so that its client can be answered (413). */
function stop(stream) {
  if (isServerSide(stream)) {
    stream.unpipe()
    stream.pause()
    return
  }
  stream.on('error', () => {}) // being destroyed is no news to anybody
  stream.destroy?.()
}

/** Why nothing can be read of it, if that is so. */
function unreadable(stream, body) {
  if (stream.aborted === true && stream.complete === false && isIncomingMessage(stream)) return body.cut(stream.errored ?? undefined)
  if (stream.errored) return stream.errored
  if (stream.readableEnded) return state('the stream was already read to its end')
  if (stream.destroyed || stream.closed) return state('the stream was already destroyed')
  if (stream.readable === false) return state('the stream is not readable')
}

/** Reads to the end, or as far as the body wants; answers true. */
function readStream(stream, body) {
  const message = isIncomingMessage(stream)
  if (message) body.announce({ length: lengthOfMessage(stream) })
  const stopsAtLength = body.stopsAtLength()
  if (!stopsAtLength) body.gather(true)
  return new Promise((resolve, reject) => {
    const fail = (error) => {
      leave()
      reject(error)
    }
    /** An error that is not the stream's own: it is told to stop. */
    const refuse = (error) => {
      fail(error)
      stop(stream)
    }
    const onData = (chunk) => {
      let complete
      try {
        const bytes = bytesOf(chunk)
        if (stopsAtLength) {
          const taken = body.writeSome(bytes)
          complete = body.isComplete()
          if (complete) {
            stream.pause()
            if (taken < bytes.length) stream.unshift(bytes.subarray(taken))
          }
        } else {
          complete = body.write(bytes)
          // Complete before the end: the rest is not wanted, because the body is cut at its limit.
          if (complete) stop(stream)
        }
        if (!complete) body.checkCancelled()
      } catch (error) {
        return refuse(error)
      }
      if (complete) {
        leave()
        resolve(true)
      }
    }
    const onEnd = () => {
      leave()
      try {
        resolve(body.finishSource())
      } catch (error) {
        reject(error)
      }
    }
    const onError = (error) => {
      // The connection went before the length was there: that is `short`, and the stream's own error its cause.
      const cut = message && isMessageCut(stream, error) && body.lacks()
      fail(cut ? body.cut(error) : error)
    }
    const onClose = () => fail(body.cut())
    const leave = () => {
      stream.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
      if (body.wake === wake) body.wake = undefined
    }
    const wake = () => {
      try {
        body.checkCancelled()
      } catch (cancelled) {
        refuse(cancelled)
      }
    }
    const attempt = () => {
      const error = unreadable(stream, body)
      if (error) return reject(error)
      try {
        if (body.isComplete()) return resolve(true)
        body.checkCancelled()
      } catch (refused) {
        return refuse(refused)
      }
      body.wake = wake
      stream.on('end', onEnd).on('error', onError).on('close', onClose).on('data', onData)
      stream.resume?.()
    }
    attempt()
  })
}

module.exports = { isStream, isSocket, readStream }
