// The native half, and the memory that both halves share.
//
// Blocks are ArrayBuffers made by V8's own constructor. They lie in `blocks` at the integer by which the native half
// knows them, and nowhere else: whoever shows one goes through `view`, which marks it.
'use strict'

const { structuredClone } = globalThis
const transfer = ArrayBuffer.prototype.transfer // from Node 22 on

/** Up to here a large block grows in place. It costs address space, not memory. */
const RESERVE = 2 ** 30

/** @type {(ArrayBuffer | undefined)[]} Place 0 is none: the native half's own small window has that number. */
const blocks = [undefined]

/** Options go in here, and windows and statistics come out. Nobody else ever has it. */
const numbers = new Float64Array(32)
const wideNumbers = new BigUint64Array(numbers.buffer)

const RESIZABLE = 1
const EXACT = 2

/** Answers how far the block may grow, or NaN when there is no memory. */
function allocate(id, size, kind) {
  try {
    let most = size
    if (kind === RESIZABLE) {
      most = Math.max(size, RESERVE)
      blocks[id] = new ArrayBuffer(size, { maxByteLength: most })
    } else {
      blocks[id] = kind === EXACT ? Buffer.allocUnsafeSlow(size).buffer : new ArrayBuffer(size)
    }
    return most
  } catch {
    return NaN
  }
}

/** Answers 1 when the block has that many bytes now. */
function grow(id, size) {
  try {
    blocks[id].resize(size)
    return 1
  } catch {
    return 0
  }
}

/**
 * Moves the block's memory to a new object: views of the old one have length 0 from now on. `transfer` would copy a
 * resizable one (49 ms per 100 MB); the structured clone keeps the address of both kinds.
 */
function revoke(id) {
  try {
    blocks[id] = move(blocks[id])
    return 1
  } catch {
    return 0
  }
}

function move(block) {
  return transfer && !block.resizable ? transfer.call(block) : structuredClone(block, { transfer: [block] })
}

/** Takes the memory out of a block's object, for somebody who is not the pool. */
const moveOut = (id) => move(blocks[id])

/** Marks objects by a private field, which nobody can see, forge or take off. */
class Mark extends class { constructor(object) { return object } } {
  #ours = true
  static has(object) { return #ours in object }
}

/** A Buffer over a part of a block. The native half must know that the block is shown. */
function view(id, offset, length) {
  const block = blocks[id]
  if (!Mark.has(block)) new Mark(block)
  return Buffer.from(block, offset, length)
}

function load() {
  try {
    return require('../brimful.node')
  } catch (cause) {
    const here = `${process.platform}-${process.arch}, Node ${process.versions.node}`
    throw new Error(`brimful: the native addon cannot be loaded here (${here}); install a package that was built for it`, { cause })
  }
}

const native = load()
if (native.setUp(numbers, blocks, allocate, grow, revoke) !== 1) {
  throw new Error('brimful: the native addon and the JavaScript around it are not of the same version')
}

module.exports = { native, numbers, wideNumbers, view, move, moveOut, isOurs: Mark.has }
