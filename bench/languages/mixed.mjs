// Bodies of mixed sizes in a loop, in Node: blocks from the system after a tenth of them, and resident memory.
//
//     node --max-semi-space-size=1 mixed.mjs BODIES
//
// In a folder where brimful is installed; prints one JSON object, as bench/c/states.c does. V8's young generation is kept
// small, since it grows by itself to 32 MB in the course of 50,000 bodies and would hide what else grows.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'

const { Pool, collectPooledSync } = createRequire(process.cwd() + '/')('brimful')

const PERIOD = 251
const MOST = 65536
const LARGEST = 4 << 20
const PAGE = 4096
const WARM_UP = 20000 // until V8 has compiled what it will
const BLOCK = Uint8Array.from({ length: MOST + PERIOD }, (_, i) => i % PERIOD)

// Fills windows from memory that stays warm, at most 64 KiB at once.
function source (n) {
  let given = 0
  return (window) => {
    const count = Math.min(window.length, n - given, MOST)
    const start = given % PERIOD
    window.set(BLOCK.subarray(start, start + count))
    given += count
    return count
  }
}

// The sequence of bench/c/states.c: log-uniform from 1 B to 4 MiB. Made before, since BigInts are garbage.
function sizes (bodies) {
  let state = 1n
  return Uint32Array.from({ length: bodies }, () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n)
    const power = (state >> 33n) % 23n
    return Math.min(Number((1n << power) + ((state >> 40n) & ((1n << power) - 1n))), LARGEST)
  })
}

const resident = () => Number(readFileSync('/proc/self/statm', 'latin1').split(' ')[1]) * PAGE

const bodies = Number(process.argv[2])
const tenth = Math.floor(bodies / 10)
const pool = new Pool()
const rss = []
let warm
let i = -WARM_UP
const all = sizes(WARM_UP + bodies)
let started
for (const n of all) {
  const body = collectPooledSync(source(n), { pool })
  if (body.length !== n) throw new Error(`${body.length} bytes of ${n}`)
  body.release()
  if (++i % 64 === 0) await new Promise(setImmediate) // as a server does between bodies
  if (i === 0) started = process.hrtime.bigint()
  if (i === tenth) warm = pool.stats()
  if (i > 0 && i % tenth === 0) rss.push(resident())
}
const took = Number(process.hrtime.bigint() - started)
const now = pool.stats()
console.log(JSON.stringify({
  ns: Math.round(took / bodies * 10) / 10,
  blocks_after_warm_up: now.allocated - warm.allocated,
  bytes_after_warm_up: now.allocatedBytes - warm.allocatedBytes,
  rss: rss.slice(0, 10)
}))
