// Values that arrive over many packets, decoded without ever starting again: the target of a value is a collector, which
// survives between packets, so whatever has come is used at once and never looked at a second time.
//
// The format. Numbers are little-endian and unsigned.
//
//     connection   packets, one after the other
//     packet       kind (1 byte, always 4), flags (1 byte, ignored), length of the whole packet (2 bytes, 8 or more), number
//                  of the packet (4 bytes: 0, 1, 2 and so on, 0 again after 2 ** 32 - 1); then length - 8 bytes of payload
//     payloads     put together they are values, one after the other; a packet may end at any byte of them
//     value        total (8 bytes), then chunks, then a chunk of length 0; of a missing value there is the total alone
//     total        the bytes of all its chunks together, or UNKNOWN, or MISSING
//     chunk        length (4 bytes), then so many bytes
//
// An empty value and a missing one are two things. Bytes reach the decoder cut at any place, also within a number.
import { Collector } from 'brimful'

const HEADER = 8
const KIND = 4
export const UNKNOWN = 2n ** 64n - 2n
export const MISSING = 2n ** 64n - 1n

/** Errors of the engine after which the same bytes can be given again. */
const LATER = new Set(['ERR_BRIMFUL_NO_MEMORY', 'ERR_BRIMFUL_BUDGET'])

const notWanted = () => Object.assign(new Error('this value was not wanted'), { name: 'AbortError', code: 'ABORT_ERR' })

/** A number, as far as its bytes have come. */
class Field {
  bytes = Buffer.alloc(8)
  have = 0

  /** Takes what it lacks of `want` bytes, and answers how many those were. */
  gather(want, data, at, end) {
    const took = Math.min(want - this.have, end - at)
    for (let i = 0; i < took; i++) this.bytes[this.have + i] = data[at + i]
    this.have += took
    return took
  }
}

/**
 * Takes a connection's bytes as they come. One collector serves all its values.
 *
 * `ended` says whether a value has ended with the last feed(); until the next one, take() gives it. `values` counts those
 * that have ended. What has come of a value can be read before its end: `collector.copy(offset, target)`.
 */
export class Decoder {
  collector
  values = 0
  ended = false
  #options
  #missing = false
  #error // of the value; its bytes are passed over
  #cancelsNext = false
  #header = new Field()
  #field = new Field()
  #packets = 0
  #payload = 0 // bytes left of this packet
  #chunk = 0 // bytes left of this chunk
  #inValue = false // its total has come

  /** Takes the options of a Collector. */
  constructor({ result, pool, ...options } = {}) {
    this.collector = new Collector({ result, pool, ...options })
    this.#options = options
  }

  /**
   * Takes bytes up to the end of a value and answers how many; the rest is for the next call.
   *
   * Throws ERR_FRAMED_BROKEN, from then on, where the connection is not in this format. Throws what the engine has to say of
   * memory, having taken nothing, where the next byte finds none: the same call may be made again.
   */
  feed(data) {
    let used = 0
    if (this.ended) {
      // Nothing of the last value is to be seen in the next, not even while its total comes.
      this.collector.reset(this.#options)
      this.#error = this.#cancelsNext ? notWanted() : undefined
      this.ended = this.#missing = this.#cancelsNext = false
    }
    try {
      while (used < data.length && !this.ended) {
        if (this.#payload === 0) {
          used += this.#takeHeader(data, used, data.length)
        } else {
          const took = this.#takePayload(data, used, Math.min(data.length, used + this.#payload))
          this.#payload -= took
          used += took
        }
      }
    } catch (error) {
      if (used === 0 || !LATER.has(error.code)) throw error
    }
    return used
  }

  /**
   * The value that has ended: as the collector's `result` says, or null for a missing one. Throws what ended it otherwise:
   * ERR_BRIMFUL_LIMIT, _SHORT or _LONG, or ABORT_ERR for one that was cancelled. The next value is in step all the same.
   */
  take() {
    if (!this.ended) throw new Error('no value has ended')
    if (this.#error !== undefined) throw this.#error
    return this.#missing ? null : this.collector.finish()
  }

  /** The value that ends next is not wanted: what came of it is dropped, and what is still to come is passed over. */
  cancel() {
    if (this.ended) {
      this.#cancelsNext = true
    } else if (this.#error?.code !== 'ABORT_ERR') {
      this.#error = notWanted()
      this.collector.reset(this.#options)
    }
  }

  /** Whether a connection that ends here ends between two values. */
  get between() {
    return this.#payload === 0 && this.#header.have === 0 && this.#field.have === 0 && !this.#inValue
  }

  #takeHeader(data, at, end) {
    const { bytes } = this.#header
    const took = this.#header.gather(HEADER, data, at, end)
    if (this.#header.have === HEADER) {
      const size = bytes.readUInt16LE(2)
      if (bytes[0] !== KIND || size < HEADER || bytes.readUInt32LE(4) !== this.#packets) {
        // The header stays, and so does the error.
        throw Object.assign(new Error(`no packet: ${bytes.toString('hex')}`), { code: 'ERR_FRAMED_BROKEN' })
      }
      this.#header.have = 0
      this.#packets = (this.#packets + 1) % 2 ** 32
      this.#payload = size - HEADER
    }
    return took
  }

  #takePayload(data, at, end) {
    if (this.#chunk > 0) return this.#takeBytes(data, at, Math.min(end, at + this.#chunk))
    const want = this.#inValue ? 4 : 8
    const took = this.#field.gather(want, data, at, end)
    if (this.#field.have === want) {
      try {
        if (this.#inValue) this.#takeLength()
        else this.#takeTotal()
      } catch (error) {
        this.#field.have -= took // not taken: they come again
        throw error
      }
      this.#field.have = 0
    }
    return took
  }

  #takeTotal() {
    const total = this.#field.bytes.readBigUInt64LE()
    if (this.#error === undefined && total !== MISSING) {
      this.collector.reset({ ...this.#options, length: total === UNKNOWN ? undefined : total })
    }
    this.#inValue = true
    if (total === MISSING) {
      this.#missing = true
      this.#end()
    }
  }

  #takeLength() {
    this.#chunk = this.#field.bytes.readUInt32LE()
    if (this.#chunk > 0) return
    if (this.#error === undefined) this.#do(() => this.collector.end())
    this.#end()
  }

  #takeBytes(data, at, end) {
    if (this.#error === undefined) this.#do(() => this.collector.write(data.subarray(at, end)))
    this.#chunk -= end - at
    return end - at
  }

  /** What is wrong with a value fails this value alone; that there is no memory now fails nothing. */
  #do(step) {
    try {
      step()
    } catch (error) {
      if (LATER.has(error.code)) throw error
      this.#error = error
    }
  }

  #end() {
    this.values++
    this.ended = true
    this.#inValue = false
  }
}

/** The values of a stream, in the order in which they are asked for, by any number of callers. */
export class Connection {
  decoder
  #chunks
  #rest = Buffer.alloc(0)
  #asked = 0
  #turn = Promise.resolve()

  /** Takes anything that gives Buffers one after the other: a socket, a file stream, an async generator. */
  constructor(stream, decoder) {
    this.decoder = decoder
    this.#chunks = stream[Symbol.asyncIterator]()
  }

  /** The next value that nobody has asked for. When `signal` is aborted, that value is passed over. */
  value({ signal } = {}) {
    const mine = this.#asked++
    const value = this.#turn.then(() => this.#read(mine, signal))
    this.#turn = value.catch(() => {})
    if (signal === undefined) return value
    const { promise, leave } = rejectedBy(signal)
    return Promise.race([value, promise]).finally(leave)
  }

  async #read(mine, signal) {
    const { decoder } = this
    const giveUp = () => decoder.values === mine && decoder.cancel() // gives its memory back now
    if (signal?.aborted) return undefined // the next reader passes its value over
    signal?.addEventListener('abort', giveUp)
    try {
      while (decoder.values <= mine && !signal?.aborted) {
        if (decoder.values < mine) decoder.cancel() // it is that of a caller who gave up
        if (this.#rest.length === 0) await this.#fill()
        else this.#rest = this.#rest.subarray(decoder.feed(this.#rest))
      }
      return signal?.aborted ? undefined : decoder.take()
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  async #fill() {
    const { done, value } = await this.#chunks.next()
    if (done) throw Object.assign(new Error('the connection ended before the value'), { code: 'ECONNRESET' })
    this.#rest = value
  }
}

function rejectedBy(signal) {
  let leave
  const promise = new Promise((_, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    leave = () => signal.removeEventListener('abort', abort)
  })
  return { promise, leave }
}

function number(value, length) {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes.subarray(0, length)
}

/** A value as it goes into packets, in chunks of so many bytes; null is the missing one. `total`: another than is right. */
export function value(data, { chunk = 2 ** 32 - 1, total } = {}) {
  if (data === null) return number(MISSING, 8)
  const parts = [number(total ?? data.length, 8)]
  for (let at = 0; at < data.length; at += chunk) {
    const piece = data.subarray(at, at + chunk)
    parts.push(number(piece.length, 4), piece)
  }
  return Buffer.concat([...parts, number(0, 4)])
}

/** A whole connection of these values, in packets of `size` bytes. */
export function packets(values, size) {
  const payload = Buffer.concat(values)
  const parts = []
  for (let at = 0, count = 0; at < payload.length; at += size - HEADER, count++) {
    const piece = payload.subarray(at, at + size - HEADER)
    const head = Buffer.from([KIND, 0, 0, 0, 0, 0, 0, 0])
    head.writeUInt16LE(piece.length + HEADER, 2)
    head.writeUInt32LE(count, 4)
    parts.push(head, piece)
  }
  return Buffer.concat(parts)
}
