'use strict'

const { native, numbers } = require('./native.js')
const { BrimfulError, codeOf, invalid, wrongType, describe } = require('./errors.js')
const { readPoolStats } = require('./info.js')
const { booleanOf, checkNames, countOf } = require('./options.js')

const SCRUB = 1
const LIST = 2
const NAMES = new Set(['maxRetained', 'budget', 'limit', 'idleMs', 'scrub', 'memory'])

const lost = new FinalizationRegistry((handle) => native.poolFree(handle))

let handleOf
let isBudgetedOf

class Pool {
  #handle
  #isBudgeted

  constructor(options = {}) {
    checkNames(options, NAMES)
    const memory = options.memory ?? 'auto'
    if (memory !== 'auto' && memory !== 'list') throw invalid(`memory must be 'auto' or 'list', not ${describe(memory)}`)
    const flags = (booleanOf('scrub', options.scrub) ? SCRUB : 0) | (memory === 'list' ? LIST : 0)
    const maxRetained = options.maxRetained === Infinity ? Number.MAX_SAFE_INTEGER : countOf('maxRetained', options.maxRetained)
    const counts = [maxRetained, countOf('limit', options.limit), countOf('idleMs', options.idleMs), countOf('budget', options.budget)]
    // What is beyond 2^53 bytes or milliseconds is beyond any machine, so nothing is lost by the nearest number.
    counts.forEach((count, place) => { numbers[place] = count === undefined ? -1 : Math.min(Number(count), Number.MAX_SAFE_INTEGER) })
    this.#isBudgeted = counts[3] !== undefined
    this.#handle = check(native.poolNew(flags))
    lost.register(this, this.#handle)
  }

  stats() {
    check(native.poolStats(this.#handle))
    return readPoolStats()
  }

  trim(keep = 0) {
    return check(native.poolTrim(this.#handle, Number(countOf('keep', keep) ?? 0)))
  }

  close() {
    check(native.poolClose(this.#handle))
  }

  static {
    handleOf = (pool) => {
      if (typeof pool !== 'object' || pool === null || !(#handle in pool)) throw wrongType(`pool must be a Pool, not ${describe(pool)}`)
      return pool.#handle
    }
    isBudgetedOf = (pool) => handleOf(pool) >= 0 && pool.#isBudgeted
  }
}

function check(code) {
  if (code >= 0) return code
  const name = native.statusName(code)
  throw new BrimfulError(`${name}: the pool could not do this`, { code: codeOf(name) })
}

let standard

/** The handle of the pool, or of this thread's own one, which is made when it is first needed. */
function poolHandle(pool) {
  return pool === undefined || pool === null ? handleOf(standard ??= new Pool()) : handleOf(pool)
}

/** Whether memory may run out by what others hold, or this body. */
const isBudgeted = (pool) => pool !== undefined && pool !== null && isBudgetedOf(pool)

module.exports = { Pool, isBudgeted, poolHandle }
