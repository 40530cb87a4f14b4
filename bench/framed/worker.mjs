// Reads one value over many packets in the ways that measure.py asks for; the commands are those of worker.c.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Decoder, UNKNOWN } from './examples/framed.mjs'
import { Replay } from './replay.mjs'

const PIECES = [65521, 32749, 16381, 8191, 4093, 2039, 1021]
const NAMES = ['allocations', 'allocated', 'copied']

/** The counting library, where it is preloaded. */
const counts = { begin() {}, end: () => [0, 0, 0] }
if (process.env.COUNTS_ADDON) {
  const module = { exports: {} }
  process.dlopen(module, process.env.COUNTS_ADDON)
  Object.assign(counts, module.exports)
}

let packets, expected, size
let seen
const ignore = () => {}
const nanoseconds = (started) => Number(process.hrtime.bigint() - started)

const commands = {
  load(packetsPath, contentPath, packetSize) {
    packets = readFileSync(packetsPath)
    expected = readFileSync(contentPath)
    size = Number(packetSize)
    return {}
  },
  read(way, use, stops, stride, repeats) {
    let took = 0
    for (let i = 0; i < repeats; i++) took += run(way, use, stops === '1', Number(stride), ignore)
    return { ns: Math.round(took / repeats) }
  },
  count(way, use, stops, stride) {
    run(way, use, stops === '1', Number(stride), ignore)
    return Object.fromEntries(NAMES.map((name, i) => [name, seen[i]]))
  },
  check(way, use, stops) {
    const shown = []
    run(way, use, stops === '1', 0, (data) => shown.push(Buffer.from(data)))
    return { right: Buffer.concat(shown).equals(expected) }
  },
}

/** ns for one value. */
function run(way, use, stops, stride, show) {
  const isReplay = way === 'replay' || way === 'cached'
  packets.writeBigUInt64LE(way === 'exact-unknown' ? UNKNOWN : BigInt(expected.length), 8)
  if (isReplay && use === 'whole') return replayWhole(stops, stride, way === 'cached', show)
  counts.begin()
  const started = process.hrtime.bigint()
  if (isReplay) replayPieces(stops, way === 'cached', show)
  else ours(way === 'pooled' ? 'pooled' : 'exact', use, stops, show)
  const took = nanoseconds(started)
  seen = counts.end()
  return took
}

/** How long all attempts take, of which each stride-th is made; 0: only the last. */
function replayWhole(stops, stride, keeps, show) {
  const last = Math.ceil(packets.length / size)
  let took = 0
  let target = keeps ? Buffer.alloc(expected.length) : undefined
  seen = keeps ? [1, expected.length, 0] : [0, 0, 0]
  for (let i = stops ? 1 : last; i <= last; i++) {
    if (i < last && (stride === 0 || i % stride !== stride >> 1)) continue
    const standsFor = i === last ? 1 : stride
    counts.begin()
    const started = process.hrtime.bigint()
    const replay = new Replay(packets, Math.min(i * size, packets.length))
    const total = replay.total()
    if (total >= 0) {
      if (!keeps) target = Buffer.alloc(total)
      if (replay.into(target, total) >= 0) replay.into(Buffer.alloc(1), 1)
    }
    took += nanoseconds(started) * standsFor
    counts.end().forEach((count, index) => (seen[index] += count * standsFor))
  }
  show(target)
  return took
}

/** Each piece has attempts of its own, from where the last piece ended. */
function replayPieces(stops, keeps, show) {
  const replay = new Replay(packets, stops ? 0 : packets.length)
  const cached = Buffer.alloc(PIECES[0])
  let begun = false
  for (let index = 0; ; ) {
    const length = PIECES[index % PIECES.length]
    const { at, payload, chunk } = replay
    const piece = keeps ? cached : Buffer.alloc(length)
    const got = begun || replay.total() >= 0 ? replay.into(piece, length) : -1
    if (got < 0) {
      Object.assign(replay, { at, payload, chunk, ended: false, came: Math.min(replay.came + size, packets.length) })
      continue
    }
    begun = true
    show(piece.subarray(0, got))
    index++
    if (replay.ended) return
  }
}

function ours(result, use, stops, show) {
  const decoder = new Decoder({ result })
  const each = stops ? size : packets.length
  let fed = 0
  const feed = () => {
    fed += decoder.feed(each >= packets.length && fed === 0 ? packets : packets.subarray(fed, fed + each))
  }
  if (use === 'pieces') {
    const target = Buffer.alloc(PIECES[0])
    const { collector } = decoder
    for (let at = 0, index = 0; at < expected.length; index++) {
      const want = Math.min(PIECES[index % PIECES.length], expected.length - at)
      for (let have = 0; ; feed()) {
        have += collector.copy(at + have, target.subarray(have, want))
        if (have === want) break
      }
      show(target.subarray(0, want))
      at += want
    }
  }
  while (!decoder.ended) feed()
  const value = decoder.take()
  if (use === 'whole') show(result === 'exact' ? value : value.asBuffer())
  if (result === 'pooled') value.release() // else its memory is not used again
}

for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...rest] = line.split(' ')
  console.log(JSON.stringify(commands[command](...rest)))
}
