// Chunks that a source gives away, kept until the end.
'use strict'

/** Smaller chunks are put together: an object for each of them would be larger than they are. */
const SMALL = 4096
const STAGE = 65_536

class Gathered {
  /** Bytes of all of them, as they were when they came. */
  length = 0
  #chunks = []
  #stage
  /** What of the stage is in no chunk yet. */
  #from = 0
  #to = 0

  add(bytes) {
    const { length } = bytes
    this.length += length
    // A chunk that is a small part of its memory would pin all of that.
    if (length >= SMALL && length * 2 >= bytes.buffer.byteLength) {
      this.#flush()
      this.#chunks.push(bytes)
    } else if (length > STAGE) {
      this.#flush()
      const copy = Buffer.allocUnsafeSlow(length)
      copy.set(bytes)
      this.#chunks.push(copy)
    } else {
      if (this.#stage === undefined || this.#to + length > STAGE) {
        this.#flush()
        this.#stage = Buffer.allocUnsafeSlow(STAGE)
        this.#from = this.#to = 0
      }
      this.#stage.set(bytes, this.#to)
      this.#to += length
    }
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
    this.#flush()
    return this.#chunks.reduce((sum, chunk) => sum + chunk.length, 0) === this.length
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
