// What examples/node/framed.mjs replaces: a decoder that cannot stop in the middle. It reads fields and chunks in one go, and
// where the packets that have come do not suffice, the attempt is given up and made again, from the first packet, when one
// more has come. For the benchmark alone; it knows connections of one value.

export class Replay {
  at = 0 // where the attempt reads
  payload = 0 // bytes left of the packet there
  chunk = 0 // bytes left of the chunk there
  ended = false
  #field = Buffer.alloc(8)

  constructor(packets, came) {
    this.packets = packets
    this.came = came // bytes of whole packets that have come
  }

  /** The total; -1: more packets are needed. */
  total() {
    return this.#take(this.#field, 0, 8) ? Number(this.#field.readBigUInt64LE()) : -1
  }

  /** Fills the target's first `length` bytes, or as many as the value has; -1: more packets are needed. */
  into(target, length) {
    let got = 0
    while (got < length && !this.ended) {
      if (this.chunk === 0) {
        if (!this.#take(this.#field, 0, 4)) return -1
        this.chunk = this.#field.readUInt32LE()
        this.ended = this.chunk === 0
      }
      const count = Math.min(this.chunk, length - got)
      if (!this.#take(target, got, count)) return -1
      got += count
      this.chunk -= count
    }
    return got
  }

  #take(target, done, length) {
    const { packets } = this
    for (const end = done + length; done < end; ) {
      if (this.payload === 0) {
        if (this.at === this.came) return false
        this.payload = packets.readUInt16LE(this.at + 2) - 8
        this.at += 8
      }
      const count = Math.min(this.payload, end - done)
      packets.copy(target, done, this.at, this.at + count)
      this.at += count
      this.payload -= count
      done += count
    }
    return true
  }
}
