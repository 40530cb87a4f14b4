'use strict'

const { isOurs, move, moveOut, native, numbers, view } = require('./native.js')
const { BrimfulError, codeOf, describe, state, wrongType } = require('./errors.js')
const { readInfo } = require('./info.js')
const { checkNames } = require('./options.js')
const { Decoding, TEXT } = require('./text.js')

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
  /** Of a slice: where it begins in what it was cut from. */
  #begin
  /** Without blocks of a pool: what the memory is shared with, and how many share it. */
  #shared

  /** Without `info` the statistics of the body have just been left in the shared numbers. */
  constructor(key, handle, info, { segments, begin = 0, shared = segments && { holders: 0, segments } } = {}) {
    if (key !== KEY) throw wrongType('a PooledBuffer is made by collectPooled, collectPooledSync or a Collector, not by new')
    this.#begin = begin
    this.#shared = shared
    if (shared) shared.holders++
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
    for (const segment of this.#pieces()) at += segment.copy(copy, at)
    return copy
  }

  segments() {
    return this.#pieces().slice()
  }

  text(options) {
    if (options !== undefined) checkNames(options, TEXT)
    const decoding = Decoding.of(options)
    const handle = this.#handle()
    const keep = () => undefined // the body stays where it is
    return handle >= 0 ? decoding.ofBuffer(handle, keep) : decoding.ofChunks(this.#pieces(), keep)
  }

  json(options) {
    return JSON.parse(this.text(options))
  }

  subarray(begin, end) {
    const handle = this.#handle()
    const from = placeOf('begin', begin ?? 0, this.#length)
    const to = Math.max(from, placeOf('end', end ?? this.#length, this.#length))
    this.#readInfo()
    const info = { ...this.#info, length: to - from }
    if (handle >= 0) return new PooledBuffer(KEY, check(native.bufferSlice(handle, from, to - from)), info, { begin: this.#begin + from })
    let before = 0
    const segments = this.#segments.map((segment) => {
      const at = before
      before += segment.length
      return segment.subarray(Math.max(from - at, 0), Math.max(to - at, 0))
    })
    return new PooledBuffer(KEY, -1, info, { segments: segments.filter((segment) => segment.length > 0), shared: this.#shared })
  }

  release() {
    if (this.#released) return
    this.#released = true
    const { handle } = this.#held
    this.#held.handle = -1
    // Blocks of a pool are revoked there, when their last holder goes; what is the buffer's own is revoked here.
    const own = new Set(this.#segments === undefined || this.#whole === this.#segments[0] ? [] : [this.#whole?.buffer])
    if (this.#shared === undefined) {
      for (const { buffer } of this.#segments ?? []) own.add(buffer)
    } else if (--this.#shared.holders === 0) {
      for (const { buffer } of this.#shared.segments) own.add(buffer)
    }
    for (const memory of own) {
      if (memory !== undefined && memory.byteLength > 0 && !isOurs(memory)) move(memory)
    }
    this.#whole = this.#segments = undefined
    if (handle >= 0) native.bufferRelease(handle, 0)
  }

  [Symbol.dispose]() {
    this.release()
  }

  #pieces() {
    const handle = this.#handle()
    // None is empty unless somebody has taken its memory away.
    if (this.#segments?.some((segment) => segment.length === 0)) throw failure('contract')
    this.#segments ??= readSegments(
      (index) => check(native.bufferShow(handle, index)),
      (offset, target) => check(native.bufferCopy(handle, offset, target)),
      this.#begin,
      this.#length,
    )
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

/** Where an index of `subarray` is: negative ones count from the end, and what is beyond is cut. */
function placeOf(name, index, length) {
  if (typeof index !== 'number') throw wrongType(`${name} must be a number, not ${describe(index)}`)
  const whole = Math.trunc(index) || 0
  return Math.min(Math.max(whole < 0 ? length + whole : whole, 0), length)
}

/** Views of what lies from `begin` on in the pieces of a body; what lies in no block is copied. */
function readSegments(show, copy, begin = 0, length = Infinity) {
  const segments = []
  let before = 0
  for (let index = 0; show(index) === 1; index++) {
    const [id, offset, size] = numbers
    const from = Math.max(begin - before, 0)
    const to = Math.min(begin + length - before, size)
    const at = before + from - begin
    before += size
    if (from >= to) continue
    if (id > 0) {
      segments.push(view(id, offset + from, to - from))
    } else {
      const piece = Buffer.alloc(to - from)
      copy(at, piece)
      segments.push(piece)
    }
  }
  return segments
}

function check(code) {
  if (code >= 0) return code
  throw failure(native.statusName(code))
}

function failure(name) {
  const why = name === 'contract' ? 'an ArrayBuffer of the body was detached by its viewer; its bytes are gone' : 'the buffer could not do this'
  return new BrimfulError(`${name}: ${why}`, { code: codeOf(name) })
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
    const pieces = []
    while (check(native.bufferShow(handle, pieces.length)) === 1) {
      const [id, offset, length] = numbers
      pieces.push({ id, offset, length })
    }
    // What lies in no block is copied first, which looks at all of the body.
    for (const piece of pieces.filter(({ id }) => id === 0)) {
      piece.copy = Buffer.alloc(piece.length)
      check(native.bufferCopy(handle, piece.offset, piece.copy))
    }
    const segments = pieces.map(({ id, offset, length, copy }) => copy ?? Buffer.from(moveOut(id), offset, length))
    return new PooledBuffer(KEY, -1, info, { segments })
  } finally {
    native.bufferRelease(handle, 1)
  }
}

/** The same over memory that is nobody else's. */
const bufferOf = (bytes, info) => new PooledBuffer(KEY, -1, { ...info, state: 'taken' }, { segments: bytes.length === 0 ? [] : [bytes] })

module.exports = { PooledBuffer, bufferOf, makeBuffer, makeOwnBuffer, readSegments }
