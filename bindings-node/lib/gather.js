// Chunks that were put by until the end of a small body, or of one whose source gives them away.
'use strict'

/** Smaller chunks are copied and put together: an object for each of them would be larger than they are. */
const SMALL = 4096
/** The memory that chunks are copied into first: a body that waits with a few bytes is to hold little. */
const FIRST = 4096
/**
 * The memory that they are copied into then, and so many bytes at most where the source does not give its chunks away. 100 kB
 * took 28 us in the engine, which grows a block for them by copying, and 10 here (Node 20, 2026-12-01). From 128 KiB on each
 * piece of memory would be a mapping of its own.
 */
const STAGE = 112 << 10

/** Stages that no body uses now, a few for bodies that are read side by side. Whoever has one looks at his own bytes only. */
const spare = { [FIRST]: [], [STAGE]: [] }
const SPARES = 4

const NONE = Object.freeze([])

function giveBack(stage) {
  const others = spare[stage.length]
  if (others.length < SPARES) others.push(stage)
}

/** A small one, for bytes that are put by elsewhere. */
const borrow = () => spare[FIRST].pop() ?? Buffer.allocUnsafeSlow(FIRST)

class Gathered {
  /** Whether chunks stay as they are. Otherwise all of them are copied, as long as they are few. */
  keeps
  /** Bytes of all of them, as they were when they came. */
  length = 0
  #chunks = undefined
  #stage = undefined
  /** What of the stage is in no chunk yet. */
  #from = 0
  #to = 0

  constructor(keeps) {
    this.keeps = keeps
  }

  /** Answers whether there was room for it, which there always is where chunks are kept. */
  add(bytes) {
    const { length } = bytes
    if (!this.keeps && this.length + length > STAGE) return false
    this.length += length
    if (this.keeps && this.#isKept(bytes)) {
      this.#flush()
      this.#push(bytes)
    } else if (length > STAGE) {
      this.#flush()
      const copy = Buffer.allocUnsafeSlow(length)
      copy.set(bytes)
      this.#push(copy)
    } else {
      if (this.#stage === undefined || this.#to + length > this.#stage.length) this.#nextStage(length)
      this.#stage.set(bytes, this.#to)
      this.#to += length
    }
    return true
  }

  /**
   * Small chunks are copied at once, since their source may fill the same memory again. One that is a small part of its
   * memory would pin all of that, and one of memory that can be resized may be another tomorrow.
   */
  #isKept({ length, buffer }) {
    return length >= SMALL && length * 2 >= buffer.byteLength && !buffer.resizable
  }

  #nextStage(more) {
    const { length } = this
    if (this.#stage === undefined && more <= FIRST && length <= FIRST) return this.#begin(FIRST)
    const before = this.#stage
    const to = this.#to
    // What lies in the first one moves, so that a small body lies in one piece, unless it is a part of a longer one.
    const moves = before?.length === FIRST && this.#from === 0
    if (!moves) this.#flush()
    this.#begin(STAGE)
    if (!moves) return
    this.#stage.set(before.subarray(0, to))
    this.#to = to
    giveBack(before)
  }

  #begin(size) {
    this.#from = this.#to = 0
    this.#stage = spare[size].pop() ?? Buffer.allocUnsafeSlow(size)
  }

  /** A list that is made with its first element is a fifth of one that is made empty and grown. */
  #push(chunk) {
    if (this.#chunks === undefined) this.#chunks = [chunk]
    else this.#chunks.push(chunk)
  }

  /** Nobody looks at the chunks any more. */
  release() {
    if (this.#stage !== undefined) giveBack(this.#stage)
    this.#stage = this.#chunks = undefined
    this.#from = this.#to = 0
  }

  /** All of them; they stay. */
  chunks() {
    this.#flush()
    return this.#chunks ?? NONE
  }

  /** All of them, a few bytes in one piece: that becomes a string without a detour. They stay. */
  together() {
    const chunks = this.chunks()
    if (chunks.length > 1 && this.length <= STAGE) {
      this.#begin(STAGE)
      for (const chunk of chunks) {
        this.#stage.set(chunk, this.#to)
        this.#to += chunk.length
      }
      this.#chunks = undefined
    }
    return this.chunks()
  }

  take() {
    const chunks = this.chunks()
    this.#chunks = undefined
    return chunks
  }

  /** Bytes that are still there: somebody else may have detached a chunk. */
  #left() {
    let sum = 0
    for (const chunk of this.chunks()) sum += chunk.length
    return sum
  }

  isWhole() {
    return this.#left() === this.length
  }

  /** All of them in memory of their own, which is not Node's pool of small buffers. */
  join() {
    const joined = Buffer.allocUnsafeSlow(this.#left())
    let at = 0
    for (const chunk of this.take()) {
      joined.set(chunk, at)
      at += chunk.length
    }
    return joined
  }

  #flush() {
    if (this.#to > this.#from) this.#push(this.#stage.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}

module.exports = { Gathered, SMALL, borrow, giveBack }
