// Descriptors: `{ fd }` and FileHandle. Files are read by threads of the pool; pipes, sockets and terminals wait in the
// event loop, since a blocking read would hold one of the few threads that all of the process shares.
'use strict'

const { native } = require('./native.js')
const { invalid, state, systemError } = require('./errors.js')
const { readStream } = require('./stream.js')

/** What the native half says that a descriptor is. */
const FILE = 0
const TERMINAL = 2

/** The most bytes that are read of a pipe or socket at once; a pipe holds no more. */
const MOST = 65_536

const isDescriptor = (source) => typeof source.fd === 'number'

/** How a descriptor is read, and how its end is known where the caller does not say. */
function kindOfDescriptor(source) {
  const { fd } = source
  if (fd === -1) throw state('the file handle is closed')
  if (!Number.isInteger(fd) || fd < 0 || fd > 0x7fffffff) throw invalid(`fd must be a whole number from 0 to 2^31 - 1, not ${fd}`)
  const kind = native.descriptorLook(fd)
  if (kind < 0) throw systemError(kind, 'fstat')
  if (kind === FILE) return { end: 'eof', read: (_, body) => body.readFile(fd) }
  return { end: 'length', read: (_, body) => (kind === TERMINAL ? readTerminal(fd, body) : readPipe(fd, body)) }
}

/** A copy of the descriptor for an object that closes it at its end; the caller's stays open. */
function copied(fd, make) {
  const copy = native.descriptorCopy(fd)
  if (copy < 0) throw systemError(copy, 'dup')
  try {
    return make(copy)
  } catch (error) {
    require('node:fs').closeSync(copy)
    throw error
  }
}

async function readTerminal(fd, body) {
  const { ReadStream } = require('node:tty')
  const stream = copied(fd, (copy) => new ReadStream(copy))
  try {
    return await readStream(stream, body)
  } finally {
    stream.destroy()
  }
}

/** Reads as the pipe has something, never beyond what the body wants: what follows stays for the next reader. */
async function readPipe(fd, body) {
  if (body.isComplete()) return true
  body.checkCancelled()
  const { Socket } = require('node:net')
  const memory = new Uint8Array(MOST)
  let socket
  let wake
  try {
    return await new Promise((resolve, reject) => {
      const attempt = (f) => {
        try {
          return f()
        } catch (error) {
          reject(error)
          return false
        }
      }
      const onread = {
        buffer: () => memory.subarray(0, Math.max(1, Math.min(MOST, body.wanted()))),
        callback: (length, bytes) => attempt(() => {
          const complete = body.write(bytes.subarray(0, length))
          if (complete) resolve(true)
          else body.checkCancelled()
          return !complete
        }),
      }
      // Its own end is not to end the other direction of the caller's connection.
      socket = copied(fd, (copy) => new Socket({ fd: copy, readable: true, writable: false, allowHalfOpen: true, onread }))
      body.wake = wake = () => attempt(() => body.checkCancelled())
      socket.on('error', reject)
      socket.on('end', () => attempt(() => resolve(body.finishSource())))
      socket.on('close', () => attempt(() => reject(body.cut())))
      socket.resume()
    })
  } finally {
    if (body.wake === wake) body.wake = undefined
    socket?.destroy()
  }
}

module.exports = { isDescriptor, kindOfDescriptor }
