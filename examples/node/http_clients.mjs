// Reads a URL with node:http and with fetch through brimful, and prints a JSON line for each client.
//
//     node http_clients.mjs URL [--limit N] [--pooled]
//
// No length is passed by hand: what the response announces is enforced, so a body that is cut short is an error. Beside
// each stands the usual way, Buffer.concat over `for await`; a body that is read fast is read several times, by turns,
// and the best times are told, since the first reads of a process are spent on compiling.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { BrimfulError, Collector } from 'brimful'

const FAST = 100 // milliseconds
const ROUNDS = 5

const clients = {
  async 'node:http'(url) {
    const [message] = await once(get(url, { agent: false }), 'response')
    return { source: message, chunks: message }
  },
  async fetch(url) {
    const response = await fetch(url)
    return { source: response, chunks: response.body }
  },
}

/** How a body ended that did not end well. */
function outcomeOf(error) {
  if (error instanceof BrimfulError) return error.code.replace('ERR_BRIMFUL_', '').toLowerCase()
  const cut = error.code === 'ECONNRESET' || error.cause?.code === 'UND_ERR_SOCKET'
  if (cut) return 'short' // a chunked body that is cut short: the client finds that out itself
  throw error
}

async function read(open, url, options) {
  const { source } = await open(url)
  const collector = new Collector(options)
  const started = performance.now()
  let outcome = 'ok'
  try {
    await collector.readAsync(source)
  } catch (error) {
    outcome = outcomeOf(error)
  }
  const result = outcome === 'ok' ? collector.finish() : collector.takePartial()
  const milliseconds = performance.now() - started
  return { outcome, result, milliseconds, info: collector.info() }
}

async function usual(open, url) {
  const { chunks } = await open(url)
  const started = performance.now()
  const all = []
  for await (const chunk of chunks) all.push(chunk)
  Buffer.concat(all)
  return performance.now() - started
}

async function measure(client, url, options) {
  const open = clients[client]
  const { outcome, result, milliseconds, info } = await read(open, url, options)
  const bytes = Buffer.isBuffer(result) ? result : result.asBuffer()
  const line = {
    client,
    outcome,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    copied: info.copied,
    allocations: info.allocations,
    peak_held: info.peakHeld,
    seconds: milliseconds / 1000,
    usual_seconds: null,
  }
  result.release?.()
  if (outcome !== 'ok') return line
  let [ours, theirs] = [milliseconds, await usual(open, url)]
  for (let round = 1; round < ROUNDS && ours < FAST; round++) {
    const again = await read(open, url, options)
    again.result.release?.()
    ours = Math.min(ours, again.milliseconds)
    theirs = Math.min(theirs, await usual(open, url))
  }
  return { ...line, seconds: ours / 1000, usual_seconds: theirs / 1000 }
}

const { values, positionals } = parseArgs({
  options: { limit: { type: 'string' }, pooled: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [url] = positionals
if (url === undefined) {
  console.error('usage: node http_clients.mjs URL [--limit N] [--pooled]')
  process.exit(2)
}
const options = { result: values.pooled ? 'pooled' : 'exact', limit: values.limit === undefined ? undefined : Number(values.limit) }
for (const client of Object.keys(clients)) console.log(JSON.stringify(await measure(client, url, options)))
process.exit(0) // connections that are kept alive would hold the process for seconds
