// Sources that are asked for one chunk after the other: asynchronous iterators, and the readers of web streams. Each is
//
//   next()               a promise of { done, value }
//   end()                it has said that it is done
//   stop(body)           no more of it is wanted
//   fail(error, own, body)   an error came, its `own` or not; answers the one to tell
//   gives                whether its chunks are the body's to keep; undefined where they are not to be put by at all
//   announced            what was said of the length beforehand, if anything was
'use strict'

const { bytesOf } = require('./bytes.js')
const { wrongType, describe } = require('./errors.js')
const { isFetchCut } = require('./http.js')

const NONE = Object.freeze([])

class IteratorTurns {
  gives = false
  announced = undefined
  iterator

  constructor(iterable) {
    this.iterator = iterable[Symbol.asyncIterator]()
  }

  next() {
    return this.iterator.next()
  }

  end() {}

  stop() {
    giveBack(this.iterator)
  }

  /** One that fails by itself is not told to stop; one that is not waited for any more is. */
  fail(error, own, body) {
    if (!own || body?.cancelled) giveBack(this.iterator)
    return error
  }
}

/** Tells an iterator once that it is not asked any more; whatever it answers to that is too late for anybody. */
async function giveBack(iterator) {
  try {
    await iterator.return?.()
  } catch {
    // The error that led here is the one to tell.
  }
}

class ReaderTurns {
  gives = true
  announced
  reader

  constructor(reader, announced) {
    this.reader = reader
    this.announced = announced
  }

  next() {
    return this.reader.read()
  }

  end() {
    this.reader.releaseLock?.()
  }

  stop(body) {
    if (!body.stopsAtLength()) cancel(this.reader, undefined)
    this.end()
  }

  /** A connection that went before an announced length was there is `short`. */
  fail(error, own, body) {
    const reason = this.announced && isFetchCut(error) && body.lacks() ? body.cut(error) : error
    cancel(this.reader, reason)
    this.end()
    return reason
  }
}

/** The source learns once why nobody reads on; how it takes that is its own affair. */
function cancel(reader, reason) {
  try {
    reader.cancel?.(reason)?.catch?.(() => {})
  } catch {
    // Not even that it can do.
  }
}

/** What an iterator or reader answers is an object. */
function checkAnswer(answer) {
  if (typeof answer === 'object' && answer !== null) return answer
  throw wrongType(`a source must answer { done, value } for its next chunk, not ${describe(answer)}`)
}

function take(chunk, body) {
  const complete = body.write(bytesOf(chunk))
  body.checkCancelled()
  return complete
}

/** Reads to the end, or as far as the body wants; answers true. `begun` are the chunks that came before there was a body. */
async function readTurns(turns, body, begun = NONE) {
  let asking = false
  try {
    if (turns.announced) body.announce(turns.announced)
    let complete = body.isComplete()
    if (complete) {
      turns.end()
      return true
    }
    body.checkCancelled()
    if (turns.gives !== undefined) body.gather(turns.gives)
    for (const chunk of begun) complete ||= take(chunk, body)
    while (!complete) {
      const turn = body.pause()
      if (turn !== undefined) await turn
      asking = true
      const { done, value } = checkAnswer(await body.until(turns.next()))
      asking = false
      if (done) {
        body.finishSource()
        turns.end()
        return true
      }
      complete = take(value, body)
    }
  } catch (error) {
    throw turns.fail(error, asking, body)
  }
  turns.stop(body)
  return true
}

module.exports = { IteratorTurns, ReaderTurns, checkAnswer, readTurns }
