// Chunks and targets of the caller as bytes that the native half may read or write.
'use strict'

const { types: { isUint8Array, isAnyArrayBuffer, isSharedArrayBuffer } } = require('node:util')
const { isOurs } = require('./native.js')
const { wrongType, describe } = require('./errors.js')

const plain = ArrayBuffer.prototype

/** Whether the native half must not touch this memory itself: another thread may change it, or it is a block. */
function isDelicate(memory) {
  return isOurs(memory) || (Object.getPrototypeOf(memory) !== plain && isSharedArrayBuffer(memory))
}

function viewOf(value) {
  if (isUint8Array(value)) return value
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return isAnyArrayBuffer(value) ? new Uint8Array(value) : undefined
}

/** Whether the value is a chunk itself, and not something that gives chunks. */
const isChunk = (value) => typeof value === 'string' || ArrayBuffer.isView(value) || isAnyArrayBuffer(value)

/**
 * The bytes of a chunk. Shared memory is read once, by a copy; so is a chunk that lies in a block, where the engine may
 * be about to write.
 */
function bytesOf(chunk) {
  if (typeof chunk === 'string') return Buffer.from(chunk, 'utf8')
  const bytes = viewOf(chunk)
  if (bytes === undefined) {
    throw wrongType(`a chunk must be a Buffer, another typed array, a DataView, an ArrayBuffer or a string, not ${describe(chunk)}`)
  }
  if (!isDelicate(bytes.buffer)) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

/** The caller's own memory as bytes; `isDelicate` where the native half must not write there itself. */
function targetOf(target) {
  const bytes = viewOf(target)
  if (bytes === undefined) {
    throw wrongType(`the target must be a Buffer, another typed array, a DataView or an ArrayBuffer, not ${describe(target)}`)
  }
  return { bytes, isDelicate: isDelicate(bytes.buffer) }
}

/** Lets `fill` write into the target's memory, or into memory that is copied there; answers what it answered. */
function fillTarget(target, fill) {
  const { bytes, isDelicate } = targetOf(target)
  if (!isDelicate) return fill(bytes)
  const aside = Buffer.alloc(bytes.length)
  const filled = fill(aside)
  if (filled > 0) bytes.set(aside.subarray(0, filled))
  return filled
}

module.exports = { bytesOf, isChunk, fillTarget, targetOf }
