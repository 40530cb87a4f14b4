// Runs the conformance vectors of a folder through the public API: node vectors.mjs DIR
// Prints a line for each case that fails and ends with `node: A passed, B failed`; exit status 1 if any failed.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BrimfulError, Collector, Pool } from 'brimful'

const DRIVES = ['pull', 'push', 'window']
const RESULTS = ['pooled', 'exact']
const OPTIONS = {
  length: 'length', end: 'end', size_hint: 'sizeHint', limit: 'limit',
  max_prealloc: 'maxPrealloc', max_window: 'maxWindow', truncate: 'truncate',
}
const STATUSES = ['ok', 'invalid', 'limit', 'short', 'long', 'source', 'contract', 'no_progress', 'cancelled']

// ---- the body's bytes: byte i is i mod 251

const PERIODS = 251 * 1024
const paint = Buffer.from(Array.from({ length: 2 * PERIODS }, (_, i) => i % 251))

function fill(target, from) {
  for (let done = 0; done < target.length; done += PERIODS) {
    const length = Math.min(PERIODS, target.length - done)
    paint.copy(target, done, (from + done) % 251, ((from + done) % 251) + length)
  }
}

function checkPainted(bytes, from, what) {
  for (let done = 0; done < bytes.length; done += PERIODS) {
    const part = bytes.subarray(done, done + PERIODS)
    const start = (from + done) % 251
    if (part.compare(paint, start, start + part.length) !== 0) {
      const at = part.findIndex((byte, i) => byte !== paint[start + i])
      throw new Failure(`${what}: byte ${from + done + at} is ${part[at]}, expected ${paint[start + at]}`)
    }
  }
}

class Failure extends Error {}

// ---- reading a case

function known(object, names, what) {
  for (const name of Object.keys(object)) {
    if (!names.includes(name)) throw new Failure(`${what}: the key ${name} is not known`)
  }
  return object
}

function number(value, what) {
  const parsed = typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : value
  const small = typeof parsed === 'bigint' && parsed <= Number.MAX_SAFE_INTEGER ? Number(parsed) : parsed
  if (typeof small === 'bigint' || Number.isSafeInteger(small)) return small
  throw new Failure(`${what} must be a number, not ${JSON.stringify(value)}`)
}

function parseOptions(given = {}) {
  const options = {}
  for (const [name, value] of Object.entries(known(given, Object.keys(OPTIONS), 'options'))) {
    if (value === null) continue
    options[OPTIONS[name]] = name === 'end' || name === 'truncate' ? value : number(value, name)
  }
  return options
}

function parseStep(step) {
  known(step, ['give', 'each', 'then', 'pend', 'retry', 'error', 'over', 'cancel', 'end'], 'step')
  for (const name of ['give', 'each', 'pend', 'retry', 'error', 'over']) {
    if (name in step) step[name] = Number(number(step[name], name))
  }
  const then = step.then
  if (then !== undefined && then !== 'pend' && then !== 'retry' && !Number.isSafeInteger(then)) throw new Failure(`then cannot be ${then}`)
  return step
}

const EXPECT = [
  'status', 'length', 'partial', 'received', 'min_received', 'source_error', 'pendings', 'truncated',
  'max_calls', 'max_asked', 'max_copied', 'max_allocated',
]

function parse(given) {
  known(given, ['name', 'why', 'options', 'drive', 'results', 'source', 'expect'], 'case')
  const { drive = 'all', results = RESULTS, source, expect } = given
  if (drive !== 'all' && !DRIVES.includes(drive)) throw new Failure(`drive cannot be ${drive}`)
  if (results.some((result) => !RESULTS.includes(result))) throw new Failure(`results cannot be ${results}`)
  if (!Array.isArray(source)) throw new Failure('source is missing')
  if (typeof expect !== 'object') throw new Failure('expect is missing')
  if (!STATUSES.includes(known(expect, EXPECT, 'expect').status)) throw new Failure(`the status ${expect.status} is not known`)
  return { options: parseOptions(given.options), drives: drive === 'all' ? DRIVES : [drive], results, source: source.map(parseStep), expect }
}

// ---- the source

/** What a callback throws to say with its bytes that there is nothing more now, that it was interrupted, or its own error. */
function thrown(then, bytesWritten) {
  if (then === 'pend') return Object.assign(new Error('nothing more now'), { code: 'EAGAIN', bytesWritten })
  if (then === 'retry') return Object.assign(new Error('interrupted'), { code: 'EINTR', bytesWritten })
  return Object.assign(new Error('the source failed'), { errno: then, bytesWritten, ofSource: true })
}

/** Plays the steps as a callback. */
class Script {
  calls = 0
  asked = 0n
  #given = 0
  #done = 0

  constructor(steps, cancel) {
    this.steps = [...steps]
    this.cancel = cancel
    this.#cancelIfNext()
  }

  /** Cancel is asked for as the previous call returns; as the first step, before the first. */
  #cancelIfNext() {
    while (this.steps[0]?.cancel) {
      this.cancel()
      this.steps.shift()
    }
  }

  #next() {
    this.steps.shift()
    this.#done = 0
    this.#cancelIfNext()
  }

  answer = (window) => {
    this.calls++
    this.asked += BigInt(window.length)
    const step = this.steps[0]
    if (step === undefined || step.end) return 0
    if ('give' in step) {
      const filled = Math.min(step.give - this.#done, step.each ?? Infinity, window.length)
      fill(window.subarray(0, filled), this.#given)
      this.#given += filled
      this.#done += filled
      if (this.#done < step.give) return filled
      this.#next()
      if (step.then === undefined) return filled
      throw thrown(step.then, filled)
    }
    if ('over' in step) {
      this.#next()
      return Math.min(window.length + step.over, Number.MAX_SAFE_INTEGER)
    }
    if ('error' in step) {
      this.#next()
      throw thrown(step.error, 0)
    }
    const kind = 'pend' in step ? 'pend' : 'retry'
    if (++this.#done >= step[kind]) this.#next()
    if (kind === 'pend') return null
    throw thrown('retry', 0)
  }
}

// ---- driving a collector

function pull(collector, source, outcome) {
  const script = new Script(source, () => collector.cancel())
  try {
    while (!collector.read(script.answer)) outcome.pendings++
  } finally {
    outcome.calls = script.calls
    outcome.asked = script.asked
  }
}

/** Gives each step's bytes to `give` until nothing more is wanted; the other steps say nothing to a push. */
function gives(collector, source, give) {
  let given = 0
  for (const step of source) {
    if (step.end) break
    if (!('give' in step)) continue
    const end = given + step.give
    const most = step.each ?? Infinity
    for (let at = given; at < end && !collector.complete; ) at += give(at, end - at, most)
    given = end
  }
  collector.end()
}

function push(collector, source) {
  gives(collector, source, (at, left, each) => {
    const piece = Buffer.allocUnsafe(Math.min(left, each))
    fill(piece, at)
    return collector.write(piece)
  })
}

function windowed(collector, source) {
  gives(collector, source, (at, left, each) => {
    const window = collector.reserve(left)
    const filled = Math.min(window.length, each, left)
    fill(window.subarray(0, filled), at)
    collector.commit(filled)
    return filled
  })
}

const drivers = { pull, push, window: windowed }

function run({ options, source }, drive, result, memory) {
  const outcome = { status: 'ok', pendings: 0, calls: 0, asked: 0n }
  const pool = new Pool({ memory })
  let collector
  try {
    collector = new Collector({ ...options, result, pool })
  } catch (error) {
    if (error.code !== 'ERR_BRIMFUL_INVALID') throw error
    return { ...outcome, status: 'invalid' }
  }
  try {
    drivers[drive](collector, source, outcome)
  } catch (error) {
    if (error.ofSource) outcome.status = 'source'
    else if (error instanceof BrimfulError) outcome.status = error.code.replace('ERR_BRIMFUL_', '').toLowerCase()
    else throw error
    outcome.info = collector.info()
    const partial = collector.takePartial()
    outcome.partial = partial.length
    checkBuffer(partial, 'partial')
    return outcome
  }
  const taken = collector.finish()
  outcome.info = collector.info()
  outcome.length = taken.length
  if (result === 'pooled') checkBuffer(taken, 'result')
  else checkPainted(taken, 0, 'result')
  return outcome
}

function checkBuffer(buffer, what) {
  let from = 0
  for (const segment of buffer.segments()) {
    checkPainted(segment, from, what)
    from += segment.length
  }
  if (from !== buffer.length) throw new Failure(`${what}: ${from} bytes in segments, ${buffer.length} told`)
  buffer.release()
}

// ---- comparing

function compare(expect, drive, result, outcome) {
  const problems = []
  const same = (what, expected, came) => {
    if (expected !== undefined && expected !== came) problems.push(`${what}: expected ${expected}, came ${came}`)
  }
  const atMost = (what, most, came) => {
    const bound = typeof most === 'object' && most !== null ? most[result] : most
    if (bound !== undefined && came !== undefined && came > bound) problems.push(`${what}: expected at most ${bound}, came ${came}`)
  }
  const { info } = outcome
  same('status', expect.status, outcome.status)
  same('length', expect.length, outcome.length)
  same('partial', expect.partial, outcome.partial)
  same('received', expect.received, info?.received)
  if (expect.min_received > info?.received) problems.push(`received: expected at least ${expect.min_received}, came ${info.received}`)
  same('source_error', expect.source_error, info?.sourceError)
  same('truncated', expect.truncated, info?.truncated)
  if (drive === 'pull') {
    same('pendings', expect.pendings, outcome.pendings)
    atMost('calls to the source', expect.max_calls, outcome.calls)
    atMost('bytes asked for', expect.max_asked, outcome.asked)
  }
  atMost('bytes copied', expect.max_copied, info?.copied)
  atMost('bytes allocated', expect.max_allocated, info?.allocatedBytes)
  if (problems.length > 0) throw new Failure(problems.join('; '))
}

/** Fails with the first way of running the case that does not hold. */
function check(given) {
  const parsed = parse(given)
  for (const drive of parsed.drives) {
    for (const result of parsed.results) {
      for (const memory of ['auto', 'list']) {
        try {
          compare(parsed.expect, drive, result, run(parsed, drive, result, memory))
        } catch (error) {
          throw new Failure(`${drive}, ${result}, memory ${memory}: ${error instanceof Failure ? error.message : error.stack}`)
        }
      }
    }
  }
}

function main([folder]) {
  if (folder === undefined) {
    console.error('usage: node vectors.mjs DIR')
    return 2
  }
  const files = readdirSync(folder).filter((file) => file.endsWith('.json')).sort()
  let passed = 0
  let failed = 0
  for (const file of files) {
    for (const given of JSON.parse(readFileSync(join(folder, file), 'utf8'))) {
      try {
        check(given)
        passed++
      } catch (error) {
        failed++
        console.log(`${file}: ${given?.name}: ${error.message}`)
      }
    }
  }
  if (files.length === 0) console.log(`${folder}: no *.json in it`)
  console.log(`node: ${passed} passed, ${failed} failed`)
  return failed > 0 || files.length === 0 ? 1 : 0
}

// Also reached when node's own runner looks for tests here; then there is no folder, and nothing to do.
if (process.argv[2] !== undefined) process.exitCode = main(process.argv.slice(2))
