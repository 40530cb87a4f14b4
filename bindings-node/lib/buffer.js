'use strict'

const { isOurs, move, moveOut, native, numbers, view } = require('./native.js')
const { BrimfulError, codeOf, state, wrongType } = require('./errors.js')
const { readInfo } = require('./info.js')

/** A buffer that nobody released: its blocks are let go without being used again, since views of them may be left. */
const lost = new FinalizationRegistry((held) => {
  if (held.handle >= 0) native.bufferRelease(held.handle, 1)
})

const KEY = Symbol('made by a collector')

class PooledBuffer {
  /** Shared with the finalizer; -1 without blocks of a pool. */
  #held
  #released = false
  #length
  #truncated
  #info
  #whole
  #segments

  /** Without `info` the statistics of the body have just been left in the shared numbers. */
  constructor(key, handle, info, segments) {
    if (key !== KEY) throw wrongType('a PooledBuffer is made by collectPooled, collectPooledSync or a Collector, not by new')
    this.#held = { handle }
    this.#length = info?.length ?? numbers[7]
    this.#truncated = info?.truncated ?? numbers[2] === 1
    this.#info = info
    this.#segments = segments
    if (handle >= 0) lost.register(this, this.#held)
  }

  get length() {
    return this.#length
  }

  get truncated() {
    return this.#truncated
  }

  info() {
    this.#readInfo()
    return { ...this.#info }
  }

  asBuffer() {
    const segments = this.#pieces()
    this.#whole ??= segments.length === 1 ? segments[0] : this.#join()
    return this.#whole
  }

  toBuffer() {
    const handle = this.#handle()
    const copy = Buffer.allocUnsafeSlow(this.#length)
    if (handle >= 0) {
      check(native.bufferCopy(handle, 0, copy))
      return copy
    }
    let at = 0
    for (const segment of this.#segments) at += segment.copy(copy, at)
    return copy
  }

  segments() {
    return this.#pieces().slice()
  }

  release() {
    if (this.#released) return
    this.#released = true
    const { handle } = this.#held
    this.#held.handle = -1
    // Blocks of a pool are revoked there; what is the buffer's own is revoked here.
    for (const view of [...(this.#segments ?? []), this.#whole]) {
      if (view !== undefined && view.length > 0 && !isOurs(view.buffer)) move(view.buffer)
    }
    this.#whole = this.#segments = undefined
    if (handle >= 0) native.bufferRelease(handle, 0)
  }

  [Symbol.dispose]() {
    this.release()
  }

  #pieces() {
    const handle = this.#handle()
    this.#segments ??= readSegments((index) => check(native.bufferShow(handle, index)), (offset, target) => check(native.bufferCopy(handle, offset, target)))
    return this.#segments
  }

  /** Several pieces in one, in memory of the buffer's own; once. */
  #join() {
    this.#readInfo()
    this.#info.copied += this.#length
    return this.toBuffer()
  }

  #readInfo() {
    const handle = this.#handle()
    if (this.#info) return
    check(native.bufferInfo(handle))
    this.#info = readInfo()
  }

  #handle() {
    if (this.#released) throw state('the buffer was released; take what is needed of it before')
    return this.#held.handle
  }
}

/** Views of each piece of a body; a piece that lies in no block is copied. */
function readSegments(show, copy) {
  const segments = []
  while (show(segments.length) === 1) {
    if (numbers[0] > 0) {
      segments.push(view(numbers[0], numbers[1], numbers[2]))
    } else {
      const offset = numbers[1]
      const piece = Buffer.alloc(numbers[2])
      copy(offset, piece)
      segments.push(piece)
    }
  }
  return segments
}

function check(code) {
  if (code >= 0) return code
  const name = native.statusName(code)
  const why = name === 'contract' ? 'an ArrayBuffer of the body was detached by its viewer; its bytes are gone' : 'the buffer could not do this'
  throw new BrimfulError(`${name}: ${why}`, { code: codeOf(name) })
}

/** The buffer behind a handle; its statistics have just been left in the shared numbers. */
const makeBuffer = (handle) => new PooledBuffer(KEY, handle)

/**
 * The same, with its memory taken out of the pool: it goes with the last object that leads to it, as any Buffer's does.
 * For what an error carries, which nobody may ever look at.
 */
function makeOwnBuffer(handle) {
  const info = readInfo()
  try {
    const segments = []
    while (check(native.bufferShow(handle, segments.length)) === 1) {
      const id = numbers[0]
      const offset = numbers[1]
      const length = numbers[2]
      if (id > 0) {
        segments.push(Buffer.from(moveOut(id), offset, length))
      } else {
        const piece = Buffer.alloc(length)
        check(native.bufferCopy(handle, offset, piece))
        segments.push(piece)
      }
    }
    return new PooledBuffer(KEY, -1, info, segments)
  } finally {
    native.bufferRelease(handle, 1)
  }
}

module.exports = { PooledBuffer, makeBuffer, makeOwnBuffer, readSegments }
