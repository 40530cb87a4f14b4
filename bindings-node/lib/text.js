// Bodies as strings and as JSON: which encoding applies (E42), and what is done about bytes that are no text (E43).
'use strict'

const { constants: { MAX_STRING_LENGTH }, isAscii } = require('node:buffer')
const { native, numbers } = require('./native.js')
const { BrimfulError, codeOf, invalid, wrongType, describe } = require('./errors.js')
const { booleanOf } = require('./options.js')

/** The options of text, beside those of a body. */
const TEXT = new Set(['encoding', 'fatal'])

const { latin1Slice } = Buffer.prototype

/** So many bytes are looked at here first: more make a string that lies in memory of its own (src/string.rs). */
const LITTLE = 128 << 10

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

  constructor(options) {
    this.#encoding = encodingOf(options?.encoding)
    this.#strict = booleanOf('fatal', options?.fatal) ? 1 : 0
  }

  /** Takes the charset of what a source says of its content where no encoding was given; one that names nothing is none. */
  heed(source) {
    if (this.#encoding !== undefined) return
    const type = source.contentType()
    const name = typeof type === 'string' && type !== '' ? native.textCharset(type) : 0
    if (name !== 0) this.#encoding = name
  }

  /** The text of a buffer of the native half. `keep` makes what an error carries of the body. */
  ofBuffer(handle, keep) {
    return this.#text(native.textOfBuffer(handle, this.#encoding, this.#strict, MAX_STRING_LENGTH), keep)
  }

  /** The text of chunks, one after the other. */
  ofChunks(chunks, keep) {
    if (chunks.length === 1) return this.#ofChunk(chunks[0], keep)
    return this.#text(native.textOfChunks(chunks, this.#encoding, this.#strict, MAX_STRING_LENGTH), keep)
  }

  #ofChunk(chunk, keep) {
    // ASCII is itself in UTF-8, and what Node makes of a little of it costs half of a call into the native half.
    const isUtf8 = this.#encoding === undefined || this.#encoding === 'UTF-8'
    if (isUtf8 && chunk.length < LITTLE && isAscii(chunk)) return latin1Slice.call(chunk, 0, chunk.length)
    return this.#text(native.textOfChunk(chunk, this.#encoding, this.#strict, MAX_STRING_LENGTH), keep)
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

module.exports = { Decoding, TEXT }
