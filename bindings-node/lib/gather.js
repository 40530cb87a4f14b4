// Chunks that were put by until the end of a small body, or of one whose source gives them away.
'use strict'

/** Smaller chunks are put together: an object for each of them would be larger than they are. */
const SMALL = 4096
/** The first memory that chunks are copied into, and what follows it; the size of the engine's first block and of a read. */
const FIRST = 16_384
const STAGE = 65_536

/** A first stage that no body uses now. Whoever has it sees no byte of it but his own. */
let spare

class Gathered {
  /** Whether chunks stay as they are. Otherwise all of them are copied, as long as they fit into the first stage. */
  keeps
  /** Bytes of all of them, as they were when they came. */
  length = 0
  #chunks = []
  #first
  #stage
  /** What of the stage is in no chunk yet. */
  #from = 0
  #to = 0

  constructor(keeps) {
    this.keeps = keeps
  }

  /** Answers whether there was room for it, which there always is where chunks are kept. */
  add(bytes) {
    const { length } = bytes
    if (!this.keeps && length > FIRST - this.#to) return false
    this.length += length
    if (this.keeps && this.#isKept(bytes)) {
      this.#flush()
      this.#chunks.push(bytes)
    } else if (length > STAGE) {
      this.#flush()
      const copy = Buffer.allocUnsafeSlow(length)
      copy.set(bytes)
      this.#chunks.push(copy)
    } else {
      if (this.#stage === undefined || this.#to + length > this.#stage.length) this.#nextStage(length)
      this.#stage.set(bytes, this.#to)
      this.#to += length
    }
    return true
  }

  /** A chunk that is a small part of its memory would pin all of that; a single one pins no more than a stage would take. */
  #isKept(bytes) {
    const { length, buffer: { byteLength } } = bytes
    if (length >= SMALL && length * 2 >= byteLength) return true
    return this.#chunks.length === 0 && this.#stage === undefined && byteLength <= STAGE
  }

  #nextStage(least) {
    this.#flush()
    this.#from = this.#to = 0
    if (this.#first !== undefined || least > FIRST) {
      this.#stage = Buffer.allocUnsafeSlow(STAGE)
      return
    }
    this.#first = this.#stage = spare ?? Buffer.allocUnsafeSlow(FIRST)
    spare = undefined
  }

  /** Nobody looks at the chunks any more. */
  release() {
    spare ??= this.#first
    this.#first = undefined
  }

  /** All of them; they stay. */
  chunks() {
    this.#flush()
    return this.#chunks
  }

  take() {
    const chunks = this.chunks()
    this.#chunks = []
    return chunks
  }

  /** Whether all bytes are still there: somebody else may have detached a chunk. */
  isWhole() {
    let sum = 0
    for (const chunk of this.chunks()) sum += chunk.length
    return sum === this.length
  }

  /** All of them in memory of their own, which is not Node's pool of small buffers. */
  join() {
    const joined = Buffer.allocUnsafeSlow(this.length)
    let at = 0
    for (const chunk of this.take()) {
      joined.set(chunk, at)
      at += chunk.length
    }
    return joined.subarray(0, at)
  }

  #flush() {
    if (this.#to > this.#from) this.#chunks.push(this.#stage.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}

module.exports = { Gathered }
