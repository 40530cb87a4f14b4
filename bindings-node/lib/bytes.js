// Chunks and targets of the caller as bytes that the native half may read or write.
'use strict'

const { types: { isUint8Array, isDataView, isAnyArrayBuffer, isSharedArrayBuffer } } = require('node:util')
const { isOurs } = require('./native.js')
const { invalid, wrongType, describe, leaveUnheard } = require('./errors.js')

const plain = ArrayBuffer.prototype
const { hasOwn } = Object

/** Whether other threads may change this memory. */
const isShared = (memory) => Object.getPrototypeOf(memory) !== plain && isSharedArrayBuffer(memory)

/** Whether the native half must not touch this memory itself: another thread may change it, or it is a block. */
const isDelicate = (memory) => isOurs(memory) || isShared(memory)

const getterOf = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get
const typedArray = Object.getPrototypeOf(Uint8Array.prototype)
const lengthOf = getterOf(typedArray, 'length')
const ofTyped = { buffer: getterOf(typedArray, 'buffer'), offset: getterOf(typedArray, 'byteOffset'), length: getterOf(typedArray, 'byteLength') }
const ofData = ['buffer', 'byteOffset', 'byteLength'].map((name) => getterOf(DataView.prototype, name))
const dataView = { buffer: ofData[0], offset: ofData[1], length: ofData[2] }

/** The bytes' own class, which says of itself what is so; another class, or a property of the object, may say anything. */
function isPlain(bytes) {
  const prototype = Object.getPrototypeOf(bytes)
  return (prototype === Buffer.prototype || prototype === Uint8Array.prototype) && !hasOwn(bytes, 'length')
}

/** How many there are, whatever the object says. */
const bytesIn = (bytes) => lengthOf.call(bytes)

/** The value's memory as bytes, if it has some. */
function viewOf(value) {
  let bytes
  try {
    if (isUint8Array(value) && isPlain(value)) bytes = value
    else if (ArrayBuffer.isView(value)) {
      const of = isDataView(value) ? dataView : ofTyped
      bytes = new Uint8Array(of.buffer.call(value), of.offset.call(value), of.length.call(value))
    } else if (isAnyArrayBuffer(value)) bytes = new Uint8Array(value)
    // Views of memory that was taken away only look empty; a new one cannot be made.
    if (bytes !== undefined && bytes.length === 0) new Uint8Array(ofTyped.buffer.call(bytes))
  } catch (cause) {
    if (!(cause instanceof TypeError || cause instanceof RangeError)) throw cause
    throw invalid(`the memory of ${describe(value)} was detached or has shrunk; its bytes are gone`)
  }
  return bytes
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
    leaveUnheard(chunk)
    throw wrongType(`a chunk must be a Buffer, another typed array, a DataView, an ArrayBuffer or a string, not ${describe(chunk)}`)
  }
  if (!isDelicate(bytes.buffer)) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  copy.set(bytes)
  return copy
}

/** So many bytes of a chunk are few. */
const FEW = 4096

/** Whether a chunk is just bytes, few of them, that no other thread changes. */
function isFew(chunk) {
  if (!isUint8Array(chunk) || !isPlain(chunk) || chunk.length === 0 || chunk.length > FEW) return false
  return !isShared(chunk.buffer)
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

module.exports = { bytesIn, bytesOf, isChunk, isFew, fillTarget, targetOf }
