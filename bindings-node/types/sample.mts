// Every public name as a user writes it; checked by `npm run types`, never run.
import { open } from 'node:fs/promises'
import { createServer, get } from 'node:http'
import { Readable } from 'node:stream'
import {
  BrimfulError, Collector, Pool, PooledBuffer, collect, collectInto, collectJson, collectPooled, collectPooledSync, collectSync, collectText, collectTextSync,
  type BodyOptions, type CollectOptions, type Info, type PoolStats, type Source,
} from 'brimful'
import { arrayBuffer, buffer as bufferOf, bytes, json, text } from 'brimful/consumers'

const pool = new Pool({ maxRetained: 256 * 2 ** 20, limit: 10n ** 9n, budget: 2 ** 30, idleMs: 1000, scrub: true, memory: 'list' })
const stats: PoolStats = pool.stats()
const given: number = pool.trim() + pool.trim(stats.retainedBytes)
pool.close()

const body: BodyOptions = { length: 10, sizeHint: null, end: 'eof', limit: 100, truncate: true, maxPrealloc: 1n, firstBlock: 4096, maxWindow: 65536 }
const options: CollectOptions = { ...body, pool, signal: AbortSignal.timeout(1000), onProgress: (received, expected) => console.log(received / (expected ?? 1)) }

async function sources(): Promise<void> {
  const response = await fetch('http://127.0.0.1/')
  const all: Source[] = [
    response, new Request('http://127.0.0.1/'), new Blob([]), new Blob([]).stream(), await open('/dev/null'), { fd: 0 }, Readable.from([]), process.stdin, (async function* () { yield 'x' })(), [Buffer.alloc(1), new DataView(new ArrayBuffer(1))],
    'text', new Uint8Array(1), new SharedArrayBuffer(1), (window: Buffer) => window.length, () => null, async (window) => window.write('x'),
  ]
  for (const source of all) {
    const data: Buffer = await collect(source, options)
    const pooled: PooledBuffer = await collectPooled(source)
    const landed: number = await collectInto(source, new Uint16Array(10), options)
    const slice: PooledBuffer = pooled.subarray(1, -1)
    console.log(data.length + pooled.length + landed + slice.length)
  }
  get('http://127.0.0.1/', (message) => void collect(message, { limit: 100 }))
  createServer((request) => void collect(request, { limit: 100 }))
}

async function strings(source: Source): Promise<void> {
  const written: string = await collectText(source, { ...options, encoding: 'utf-8', fatal: true }) + collectTextSync('x', { encoding: null })
  const value: { a: number } = await collectJson(source, { limit: 10 })
  const consumed: string = await text(source, { encoding: 'latin1' })
  const all: number = (await bytes(source)).length + (await arrayBuffer(source, options)).byteLength + (await bufferOf(source)).length
  // @ts-expect-error: bytes have no encoding
  await bytes(source, { encoding: 'utf-8' })
  console.log(written, value, consumed, all, await json(source), pooled.text(), pooled.json({ fatal: true }).a)
}

const exact: Buffer = collectSync((window) => window.fill(1).length, { length: 100, pool })
const pooled: PooledBuffer = collectPooledSync(['a', exact])
const view: Buffer = pooled.asBuffer()
const pieces: Buffer[] = pooled.segments()
const copy: Buffer = pooled.toBuffer()
const cut: boolean = pooled.truncated
const info: Info = pooled.info()
pooled.release()
pooled[Symbol.dispose]()

const collector = new Collector({ ...body, pool })
const buffer: Buffer = collector.finish()
const other = new Collector({ result: 'pooled' })
const result: PooledBuffer = other.finish()
const taken: number = collector.write('x') + collector.copy(0, new Uint8Array(10))
const window: Buffer = collector.reserve(100)
collector.commit(window.write('x'))
const done: boolean = collector.complete || collector.read(() => 0)
const later: Promise<boolean> = collector.readAsync(Readable.from(['x']))
collector.end()
collector.cancel()
collector.reset()
collector.reset({ limit: 5 })
const partial: PooledBuffer = collector.takePartial()
const soFar: Buffer[] = collector.segments()
await collect(Readable.from([]), { collector })
const inTarget: Collector<PooledBuffer> = new Collector({ target: new DataView(new ArrayBuffer(10)), limit: 5 })
const ready: number = await collectInto('x', new SharedArrayBuffer(10)) + await collectInto('x', new ArrayBuffer(10), { collector: inTarget })

try {
  await sources()
} catch (error) {
  if (error instanceof BrimfulError && error.code === 'ERR_BRIMFUL_SHORT') {
    console.log(error.received, error.expected, error.limit, error.landed, error.partial?.toBuffer(), error.collector?.info(), error.cause)
  }
}

// @ts-expect-error an option that is misspelt
collectSync([], { limits: 5 })
// @ts-expect-error text cannot be written into
void collectInto([], 'text')
// @ts-expect-error numbers are no chunks
collectSync([1, 2, 3])
// @ts-expect-error an async source is not read at once
collectSync(async () => 0)
// @ts-expect-error made by the library alone
new PooledBuffer()
// @ts-expect-error one of two
new Collector({ result: 'text' })

export { given, view, pieces, copy, cut, info, buffer, result, taken, done, later, partial, soFar, ready }
