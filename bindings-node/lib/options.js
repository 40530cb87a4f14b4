// Options as the caller gives them, checked for what they are; whether they fit is the engine's to say.
'use strict'

const { numbers, wideNumbers } = require('./native.js')
const { invalid, wrongType, describe } = require('./errors.js')

/** Bits of the flags that the native half takes. */
const EXACT = 1
const TRUNCATE = 2
const EOF = 4
const WIDE = 256

const COUNTS = ['length', 'sizeHint', 'limit', 'maxPrealloc', 'firstBlock', 'maxWindow']
const BODY = new Set([...COUNTS, 'end', 'truncate'])

/**
 * A count of bytes, or undefined for none. Beyond 2^53 it is a BigInt.
 * @returns {number | bigint | undefined}
 */
function countOf(name, value) {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return value
    if (value === Infinity && (name === 'limit' || name === 'maxRetained' || name === 'budget')) return undefined
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 64) return BigInt(value)
  } else if (typeof value === 'bigint') {
    if (value >= 0n && value < 2n ** 64n) return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
  } else {
    throw wrongType(`${name} must be a number or a BigInt, not ${describe(value)}`)
  }
  throw invalid(`${name} must be a whole number from 0 to 2^64 - 1, not ${value}`)
}

/** Refuses options that are not known, so that a misspelt limit is not a missing one. */
function checkNames(options, ...known) {
  if (typeof options !== 'object' || options === null) throw wrongType(`options must be an object, not ${describe(options)}`)
  for (const name in options) {
    if (!known.some((names) => names.has(name))) {
      const all = known.flatMap((names) => [...names]).join(', ')
      throw wrongType(`there is no option ${JSON.stringify(name)} here; there are ${all}`)
    }
  }
}

function booleanOf(name, value) {
  if (value === undefined || value === null || typeof value === 'boolean') return value === true
  throw wrongType(`${name} must be a boolean, not ${describe(value)}`)
}

function endOf(value) {
  if (value === undefined || value === null) return undefined
  if (value === 'length' || value === 'eof') return value
  throw invalid(`end must be 'length' or 'eof', not ${describe(value)}`)
}

/** The options of one body, checked; the caller's object is read once. */
function bodyOptions(options) {
  const checked = { end: endOf(options.end), truncate: booleanOf('truncate', options.truncate) }
  for (const name of COUNTS) checked[name] = countOf(name, options[name])
  return checked
}

/** Whether any option of a body is given. */
const hasBodyOption = (options) => [...BODY].some((name) => options[name] !== undefined && options[name] !== null)

const NONE = Object.freeze(bodyOptions({}))

/** Leaves the options where the native half reads them; answers the flags. */
function tellOptions(options, exact, end) {
  let flags = (exact ? EXACT : 0) | (options.truncate ? TRUNCATE : 0) | ((options.end ?? end) === 'eof' ? EOF : 0)
  if (options === NONE) {
    numbers.fill(-1, 0, COUNTS.length)
    return flags
  }
  for (let place = 0; place < COUNTS.length; place++) {
    const count = options[COUNTS[place]]
    if (typeof count === 'bigint') {
      flags |= WIDE << place
      wideNumbers[place] = count
    } else {
      numbers[place] = count ?? -1
    }
  }
  return flags
}

module.exports = { BODY, NONE, bodyOptions, booleanOf, checkNames, countOf, hasBodyOption, tellOptions }
