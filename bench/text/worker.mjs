// Reads bodies as text in Node, ours beside the usual ways; run.py calls it and says what is measured.
//
//     worker.mjs time TEXT BYTES    each way in turns; a line of JSON for each: way, seconds of each turn
//     worker.mjs peak TEXT BYTES WAY    one body in this new process: the most memory beyond the start
import { readFileSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text as consume } from 'node:stream/consumers'
import { collectText } from 'brimful'
import getStream from 'get-stream'

const TEXTS = { ASCII: 'a line of text, ', mixed: 'é text und € 12', CJK: '日本語文字' }
const CHUNK = 65_536

const [what, kind, size, way] = process.argv.slice(2)
const body = Buffer.from(TEXTS[kind].repeat(Math.floor(Number(size) / Buffer.byteLength(TEXTS[kind]))))
/** Each in memory of its own, as a stream gives them. */
const cut = (body) => Array.from({ length: Math.ceil(body.length / CHUNK) }, (_, index) => {
  const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK, body.length - index * CHUNK))
  body.copy(chunk, 0, index * CHUNK)
  return chunk
})
let chunks = cut(body)

const readable = () => Readable.from(chunks, { objectMode: false })
async function* iterable() { yield* chunks }
const response = () => new Response(new ReadableStream({
  start(controller) {
    for (const chunk of chunks) controller.enqueue(chunk)
    controller.close()
  },
}))

async function concat(source) {
  const all = []
  for await (const chunk of source) all.push(chunk)
  return Buffer.concat(all)
}

async function decode(source) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of source) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}

const ways = {
  'Readable: brimful': () => collectText(readable()),
  'Readable: concat, toString': async () => (await concat(readable())).toString(),
  'Readable: concat, TextDecoder': async () => new TextDecoder().decode(await concat(readable())),
  'Readable: TextDecoder, streaming': () => decode(readable()),
  'Readable: stream/consumers': () => consume(readable()),
  'Readable: get-stream': () => getStream(readable()),
  'async iterable: brimful': () => collectText(iterable()),
  'async iterable: concat, toString': async () => (await concat(iterable())).toString(),
  'async iterable: TextDecoder, streaming': () => decode(iterable()),
  'async iterable: get-stream': () => getStream(iterable()),
  'Response: brimful': () => collectText(response()),
  'Response: text()': () => response().text(),
}

const status = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/self/status', 'latin1'))[1]) * 1024

/** Every character is looked at, so that a string which is only put together is one in the end. */
const look = (text) => text.charCodeAt(text.length - 1) + text.indexOf('\u0001')

if (what === 'peak') {
  writeFileSync('/proc/self/clear_refs', '5') // the most begins anew
  const before = status('VmRSS')
  look(await ways[way]())
  console.log(JSON.stringify({ way, peak: Math.max(status('VmHWM') - before, 0) }))
} else {
  // V8 compiles what has run often, and the few turns of a large body are not to measure how far it has come with that.
  chunks = cut(body.subarray(0, 1000))
  for (const call of Object.values(ways)) for (let time = 0; time < 3000; time++) await call()
  chunks = cut(body)
  const expected = body.toString()
  for (const [name, call] of Object.entries(ways)) {
    if ((await call()) !== expected) throw new Error(name)
  }
  const turns = Math.min(Math.max(Math.floor(300_000_000 / (body.length + 100_000)), 5), 400)
  const inner = Math.max(1, Math.floor(10_000 / body.length))
  const seconds = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
  let state = 20261201
  const below = (most) => (state = (state * 48271) % 2147483647) % most
  const names = Object.keys(ways)
  for (let turn = 0; turn < turns; turn++) {
    // What one leaves of the heap is what the next one finds.
    for (let last = names.length - 1; last > 0; last--) {
      const other = below(last + 1)
      ;[names[last], names[other]] = [names[other], names[last]]
    }
    for (const name of names) {
      const call = ways[name]
      const begin = performance.now()
      for (let time = 0; time < inner; time++) look(await call())
      seconds[name].push((performance.now() - begin) / inner / 1000)
    }
  }
  for (const [name, all] of Object.entries(seconds)) console.log(JSON.stringify({ way: name, seconds: all }))
}
