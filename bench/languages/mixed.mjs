// Bodies of mixed sizes in a loop, in Node: blocks from the system after a tenth of them, and resident memory.
//
//     node mixed.mjs BODIES      in a folder where brimful is installed; prints one JSON object, as bench/c/states.c does
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'

const { Pool, collectPooledSync } = createRequire(process.cwd() + '/')('brimful')

const PERIOD = 251
const MOST = 65536
const LARGEST = 4 << 20
const PAGE = 4096
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

const pool = new Pool()

async function run (bodies, seen) {
  let i = 0
  for (const n of sizes(bodies)) {
    const body = collectPooledSync(source(n), { pool })
    if (body.length !== n) throw new Error(`${body.length} bytes of ${n}`)
    body.release()
    if (++i % 64 === 0) await new Promise(setImmediate) // as a server does between bodies
    seen(i)
  }
}

const bodies = Number(process.argv[2])
const tenth = Math.floor(bodies / 10)
const rss = []
let warm
await run(6 * tenth, () => {}) // V8 lets its own young generation grow for as long as that
const started = process.hrtime.bigint()
await run(bodies, (i) => {
  if (i === tenth) warm = pool.stats()
  if (i % tenth === 0) rss.push(resident())
})
const took = Number(process.hrtime.bigint() - started)
const now = pool.stats()
console.log(JSON.stringify({
  ns: Math.round(took / bodies * 10) / 10,
  blocks_after_warm_up: now.allocated - warm.allocated,
  bytes_after_warm_up: now.allocatedBytes - warm.allocatedBytes,
  rss: rss.slice(0, 10)
}))
