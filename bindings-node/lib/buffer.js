'use strict'

const { native, numbers, view } = require('./native.js')
const { BrimfulError, codeOf, state, wrongType } = require('./errors.js')
const { readInfo } = require('./info.js')

/** A buffer that nobody released: its blocks are let go without being used again, since views of them may be left. */
const lost = new FinalizationRegistry((held) => {
  if (held.handle >= 0) native.bufferRelease(held.handle, 1)
})

const KEY = Symbol('made by a collector')

class PooledBuffer {
  /** Shared with the finalizer; -1 once released. */
  #held
  #length
  #truncated
  #whole
  #segments

  constructor(key, handle) {
    if (key !== KEY) throw wrongType('a PooledBuffer is made by collectPooled, collectPooledSync or a Collector, not by new')
    this.#held = { handle }
    this.#length = numbers[7]
    this.#truncated = numbers[2] === 1
    lost.register(this, this.#held)
  }

  get length() {
    return this.#length
  }

  get truncated() {
    return this.#truncated
  }

  info() {
    check(native.bufferInfo(this.#handle()))
    return readInfo()
  }

  asBuffer() {
    this.#handle()
    if (this.#whole === undefined) {
      const segments = this.segments()
      this.#whole = segments.length === 1 ? segments[0] : this.toBuffer()
    }
    return this.#whole
  }

  toBuffer() {
    const handle = this.#handle()
    const copy = Buffer.allocUnsafeSlow(this.#length)
    check(native.bufferCopy(handle, 0, copy))
    return copy
  }

  segments() {
    const handle = this.#handle()
    this.#segments ??= readSegments((index) => check(native.bufferShow(handle, index)), (offset, target) => check(native.bufferCopy(handle, offset, target)))
    return this.#segments.slice()
  }

  release() {
    const { handle } = this.#held
    if (handle < 0) return
    this.#held.handle = -1
    this.#whole = this.#segments = undefined
    native.bufferRelease(handle, 0)
  }

  [Symbol.dispose]() {
    this.release()
  }

  #handle() {
    if (this.#held.handle < 0) throw state('the buffer was released; take what is needed of it before')
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

module.exports = { PooledBuffer, makeBuffer, readSegments }
