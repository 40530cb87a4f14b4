// Web streams, and what has one: Response, Request, Blob.
'use strict'

// Node's own, whatever a program has made of the globals.
const { ReadableStream, ReadableStreamBYOBReader, ReadableStreamDefaultController } = require('node:stream/web')
const { state } = require('./errors.js')
const { ReaderTurns, checkAnswer, readTurns } = require('./turns.js')

/** The size of the memory that a byte stream is given to fill. */
const BYOB = 65_536

const isWebStream = (source) => typeof source.getReader === 'function' && typeof source.cancel === 'function'

const isResponse = (source) => typeof source.arrayBuffer === 'function' && 'body' in source && 'bodyUsed' in source

const isBlob = (source) => typeof source.arrayBuffer === 'function' && typeof source.stream === 'function' && typeof source.size === 'number'

/**
 * Where this Node keeps a stream's controller; null where that cannot be found.
 * @type {symbol | null | undefined}
 */
let statePlace

function findStatePlace() {
  const stream = new ReadableStream()
  const isIt = (symbol) => stream[symbol]?.controller instanceof ReadableStreamDefaultController
  return Object.getOwnPropertySymbols(stream).find(isIt) ?? null
}

/**
 * Whether a stream is known to have no reader of the kind below. Otherwise it only says so by refusing one, with a message
 * for which all of the stream is looked through: that takes 10 us, more than a small body.
 */
function isOrdinary(stream) {
  if (statePlace === undefined) statePlace = findStatePlace()
  return statePlace !== null && stream[statePlace]?.controller instanceof ReadableStreamDefaultController
}

/** Whether it is locked is only asked where it may be, since that takes as long as to get a reader. */
function lock(stream) {
  try {
    return stream.getReader()
  } catch (error) {
    throw stream.locked ? state('the stream is locked: somebody else reads it') : error
  }
}

/** A reader that fills memory which is given to it, where the stream offers one, reads no further than is wanted. */
function turnsOf(stream, body, announced) {
  if (isOrdinary(stream)) return new ReaderTurns(lock(stream), announced)
  try {
    const reader = stream.getReader({ mode: 'byob' })
    // What only looks like a stream may know nothing of modes, and then its chunks are its own memory.
    return reader instanceof ReadableStreamBYOBReader ? new FillingTurns(reader, announced, body) : new ReaderTurns(reader, announced)
  } catch {
    return new ReaderTurns(lock(stream), announced)
  }
}

/**
 * Asks for the next bytes in memory of their own, never in a window: the stream's source sees all of it, and may keep
 * it. So it holds nothing of the body either, and is used again only where it comes back.
 */
class FillingTurns extends ReaderTurns {
  gives = undefined
  #body
  #memory = new ArrayBuffer(BYOB)
  #used = 0

  constructor(reader, announced, body) {
    super(reader, announced)
    this.#body = body
  }

  async next() {
    new Uint8Array(this.#memory, 0, this.#used).fill(0)
    const room = Math.min(BYOB, Math.max(1, this.#body.wanted()))
    const { done, value } = checkAnswer(await this.reader.read(new Uint8Array(this.#memory, 0, room)))
    const isBack = value !== undefined && value.buffer.byteLength === BYOB
    this.#memory = isBack ? value.buffer : new ArrayBuffer(BYOB)
    this.#used = isBack ? value.byteOffset + value.byteLength : 0
    return { done, value }
  }
}

const readWebStream = (stream, body, announced) => readTurns(turnsOf(stream, body, announced), body)

/** The turns of a stream of which that is known to be all, so that it can be begun before there is a body. */
const beginWebStream = (stream, announced) => (isOrdinary(stream) ? new ReaderTurns(lock(stream), announced) : undefined)

function readBlob(blob, body) {
  body.announce({ hint: blob.size })
  return readWebStream(blob.stream(), body)
}

module.exports = { beginWebStream, isBlob, isResponse, isWebStream, readBlob, readWebStream }
