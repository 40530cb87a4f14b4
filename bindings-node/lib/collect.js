'use strict'

const { Body } = require('./body.js')
const { Collector, bodyOf, readFrom } = require('./collector.js')
const { BrimfulError, codeOf, invalid } = require('./errors.js')
const { BODY, NONE, bodyOptions, checkNames } = require('./options.js')
const { sourceOf, syncSourceOf } = require('./sources.js')

const OWN = new Set(['pool', 'collector'])

/** The body to read into: the collector's that was given, or one of this call alone. */
function bodyFor(options, exact, end) {
  if (options === undefined) return new Body(NONE, undefined, exact, end)
  checkNames(options, OWN, BODY)
  const { collector, pool, ...own } = options
  if (collector === undefined) {
    return new Body(bodyOptions(own), pool, exact, end)
  }
  if (pool !== undefined || Object.values(own).some((value) => value !== undefined)) {
    throw invalid('with a collector, the options of the body are those of the collector')
  }
  return bodyOf(collector)
}

/** The source has nothing now: the caller goes on with the collector (E22). */
function wouldBlock(body, collector) {
  body.lends = false
  collector ??= new Collector(body.watch())
  const { received } = body.info()
  const message = `would_block: the source has nothing more now, after ${received} bytes; go on with the collector of this error`
  return new BrimfulError(message, { code: codeOf('would_block'), received, collector })
}

function finish(body, exact) {
  return exact ? body.finishExact() : body.finishPooled()
}

function sync(source, options, exact) {
  const opened = syncSourceOf(source)
  const given = options?.collector
  const body = bodyFor(options, exact, opened.end)
  if (given !== undefined) {
    if (!opened.read(body)) throw wouldBlock(body, given)
    return finish(body, exact)
  }
  body.lends = true
  let kept = false
  try {
    kept = !opened.read(body)
    if (kept) throw wouldBlock(body)
    return finish(body, exact)
  } finally {
    if (!kept) body.free()
  }
}

async function later(source, options, exact) {
  const opened = sourceOf(source)
  const given = options?.collector
  if (given !== undefined) {
    const body = bodyFor(options, exact, opened.end)
    if (!(await readFrom(given, opened))) throw wouldBlock(body, given)
    return finish(body, exact)
  }
  const body = bodyFor(options, exact, opened.end).watch()
  body.lends = true
  let kept = false
  try {
    kept = !(await opened.read(body))
    if (kept) throw wouldBlock(body)
    return finish(body, exact)
  } finally {
    if (!kept) body.free()
  }
}

const collect = (source, options) => later(source, options, true)
const collectPooled = (source, options) => later(source, options, false)
const collectSync = (source, options) => sync(source, options, true)
const collectPooledSync = (source, options) => sync(source, options, false)

module.exports = { collect, collectPooled, collectSync, collectPooledSync }
