// Bodies as strings and as JSON: which encoding applies (E42), and what is done about bytes that are no text (E43).
'use strict'

const { constants: { MAX_STRING_LENGTH }, isAscii } = require('node:buffer')
const { isFew } = require('./bytes.js')
const { native, numbers } = require('./native.js')
const { BrimfulError, codeOf, invalid, wrongType, describe } = require('./errors.js')
const { booleanOf } = require('./options.js')

/** The options of text, beside those of a body. */
const TEXT = new Set(['encoding', 'fatal'])

const { latin1Slice, utf8Slice } = Buffer.prototype

/** So many bytes are looked at here first: more make a string that lies in memory of its own (src/string.rs). */
const LITTLE = 128 << 10

/**
 * Below so many bytes Node itself makes a string of UTF-8 sooner than a call into the native half does: 1 kB of ASCII in 190 ns
 * and 254, of CJK in 663 and 842, 30 kB of mixed text in 24 us and 28; 100 kB as fast or slower (Node 26, 2026-12-07). Node 22
 * and older decode what is not ASCII at a fifth of that.
 */
const NODES = Number.parseInt(process.versions.node, 10) >= 24 ? 64 << 10 : 0

/** Whether a byte may begin a byte order mark, of which Node knows nothing: that of UTF-8, UTF-16 or UTF-32. */
const beginsMark = (byte) => byte === 0xef || byte >= 0xfe || byte === 0

/** What the native half answers for a text that is longer than a string can be. */
const TOO_LONG = 1

/** The name of the encoding that a label means; undefined where none was given. */
function encodingOf(label) {
  if (label === undefined || label === null) return undefined
  if (typeof label !== 'string') throw wrongType(`encoding must be a string, not ${describe(label)}`)
  const name = native.textEncoding(label)
  if (name !== 0) return name
  throw invalid(`encoding must be a label of the Encoding Standard, or utf-32, utf-32le or utf-32be, not ${describe(label)}`)
}

/** How bytes become text. Made before a body is read, so that nothing is found wrong with it afterwards. */
class Decoding {
  #encoding
  #strict

  constructor(encoding, strict) {
    this.#encoding = encoding
    this.#strict = strict
  }

  static of(options) {
    return options === undefined ? PLAIN : new Decoding(encodingOf(options?.encoding), booleanOf('fatal', options?.fatal) ? 1 : 0)
  }

  /** Takes the charset of what a source says of its content where no encoding was given; one that names nothing is none. */
  heeding(type) {
    if (this.#encoding !== undefined || typeof type !== 'string' || type === '') return this
    const name = native.textCharset(type)
    return name === 0 ? this : new Decoding(name, this.#strict)
  }

  /** The text of a buffer of the native half. `keep` makes what an error carries of the body. */
  ofBuffer(handle, keep) {
    return this.#text(native.textOfBuffer(handle, this.#encoding, this.#strict, MAX_STRING_LENGTH), keep)
  }

  /** The text of chunks, one after the other. */
  ofChunks(chunks, keep) {
    if (chunks.length === 1) return this.#text(this.#answer(chunks[0]), keep)
    return this.#text(native.textOfChunks(chunks, this.#encoding, this.#strict, MAX_STRING_LENGTH), keep)
  }

  /** The text of a few bytes, which is a string at once; undefined where it is to be had another way. */
  ofFew(chunk) {
    if (!isFew(chunk)) return undefined
    const answer = this.#answer(chunk)
    return typeof answer === 'string' ? answer : undefined
  }

  #answer(chunk) {
    // ASCII is itself in UTF-8, and what Node makes of a little of it costs half of a call into the native half.
    const isUtf8 = this.#encoding === undefined || this.#encoding === 'UTF-8'
    const { length } = chunk
    if (isUtf8 && length < NODES && this.#strict === 0 && !beginsMark(chunk[0])) return utf8Slice.call(chunk, 0, length)
    if (isUtf8 && length < LITTLE && isAscii(chunk)) return latin1Slice.call(chunk, 0, length)
    return native.textOfChunk(chunk, this.#encoding, this.#strict, MAX_STRING_LENGTH)
  }

  #text(answer, keep) {
    if (typeof answer === 'string') return answer
    const [fact] = numbers
    if (answer === TOO_LONG) {
      const message = `limit: the text has ${fact} units of UTF-16 and a string at most ${MAX_STRING_LENGTH}; use collectPooled and decode its segments`
      const partial = keep()
      throw new BrimfulError(message, { code: codeOf('limit'), received: partial?.info().received, limit: MAX_STRING_LENGTH, partial })
    }
    const name = native.statusName(answer)
    if (name === 'encoding') {
      const message = `encoding: ${native.said()}; give the encoding that they are in, or leave fatal off`
      const partial = keep()
      throw new BrimfulError(message, { code: codeOf(name), received: partial?.info().received, offset: fact, partial })
    }
    const why = name === 'contract' ? 'an ArrayBuffer of the body was detached by its viewer; its bytes are gone' : 'no string could be made'
    throw new BrimfulError(`${name}: ${why}`, { code: codeOf(name), partial: name === 'contract' ? undefined : keep() })
  }
}

const PLAIN = new Decoding(undefined, 0)

module.exports = { Decoding, TEXT }
