'use strict'

const { getSystemErrorMap, types } = require('node:util')

/**
 * What brimful itself has to say. Errors of a source come out unchanged, and system errors stay system errors.
 */
class BrimfulError extends Error {
  /** @param {{ code: string, received?: number, limit?: number, expected?: number, landed?: number, offset?: number, collector?: object, partial?: object, cause?: unknown }} fields */
  constructor(message, { code, received, limit, expected, landed, offset, collector, partial, cause }) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    if (received !== undefined) this.received = received
    if (limit !== undefined) this.limit = limit
    if (expected !== undefined) this.expected = expected
    if (landed !== undefined) this.landed = landed
    if (offset !== undefined) this.offset = offset
    if (collector !== undefined) this.collector = collector
    // Not enumerable: a printed error is not to show a body.
    Object.defineProperty(this, 'partial', { value: partial, writable: true, configurable: true })
  }
}

Object.defineProperty(BrimfulError.prototype, 'name', { value: 'BrimfulError', writable: true, configurable: true })

/** The code of a status by its name. */
const codeOf = (name) => `ERR_BRIMFUL_${name.toUpperCase()}`

/** An argument or option that has the right type and a value that cannot be. */
const invalid = (message) => new BrimfulError(`invalid: ${message}`, { code: codeOf('invalid') })

/** A call that does not fit what the object is doing. */
const state = (message) => new BrimfulError(`state: ${message}`, { code: codeOf('state') })

/** An argument of the wrong type, as Node itself reports it. */
function wrongType(message) {
  const error = new TypeError(message)
  error.code = 'ERR_INVALID_ARG_TYPE'
  return error
}

/** An error of the system, as Node itself reports it. */
function systemError(errno, syscall) {
  const [code, text] = getSystemErrorMap().get(errno) ?? [`errno ${errno}`, 'unknown error']
  return Object.assign(new Error(`${code}: ${text}, ${syscall}`), { errno, code, syscall })
}

/** The name of a function, if it has one that can be told: a message is not to fail by a caller's getter. */
function nameOf(find) {
  try {
    const name = find()?.name
    return typeof name === 'string' ? name : undefined
  } catch {
    return undefined
  }
}

/** A promise that is refused as a value: its own failure, which nobody waits for, is not to end the process. */
function leaveUnheard(value) {
  if (typeof value === 'object' && value !== null && types.isPromise(value)) Promise.prototype.catch.call(value, () => {})
}

/** What a value is, in few words, for a message. */
function describe(value) {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'function') return `the function ${nameOf(() => value) || '(anonymous)'}`
  if (typeof value === 'object') return `an object of class ${nameOf(() => value.constructor) ?? '(none)'}`
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return `the ${typeof value} ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`
}

module.exports = { BrimfulError, codeOf, invalid, state, wrongType, systemError, describe, leaveUnheard }
