// Bodies whose bytes are put by before the engine has them (lib/gather.js): nobody can tell from what comes of it.
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { Collector, Pool, collect, collectInto, collectPooled, collectPooledSync, collectSync, collectText, collectTextSync } from 'brimful'
import { code, pipe } from './helpers.mjs'

/** Text that says at each place where it is, with characters of one to four bytes. */
const textOf = (length) => Array.from({ length: Math.ceil(length / 8) }, (_, i) => `${i} é€😀`).join('')
const bodyOf = (length) => Buffer.from(textOf(length)).subarray(0, length)

function* cut(body, size) {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size)
}

/** The memory of a chunk is the source's, which uses it again. */
function* reused(body, size) {
  const memory = Buffer.alloc(size)
  for (const chunk of cut(body, size)) {
    chunk.copy(memory)
    yield memory.subarray(0, chunk.length)
    memory.fill('!')
  }
}

async function* later(chunks) {
  yield* chunks
}

function web(chunks, type) {
  return new ReadableStream({
    type,
    async pull(controller) {
      const { value, done } = chunks.next()
      if (!done) return controller.enqueue(new Uint8Array(value))
      controller.close()
      controller.byobRequest?.respond(0)
    },
  })
}

const SOURCES = {
  Readable: (body, size) => Readable.from(cut(body, size), { objectMode: false }),
  'async iterable': (body, size) => later(reused(body, size)),
  iterable: reused,
  chunk: (body) => Buffer.from(body),
  'web stream': (body, size) => web(cut(body, size)),
  'byte stream': (body, size) => web(cut(body, size), 'bytes'),
  Response: (body, size) => new Response(web(cut(body, size))),
  Blob: (body) => new Blob([body]),
}
const SYNC = ['iterable', 'chunk']

/** What the options can be for a body of this length. */
const optionsFor = (length) => [
  {},
  { limit: length },
  { limit: length + 1 },
  { limit: Math.max(length - 1, 0) },
  { limit: length >> 1, truncate: true },
  { length },
  { length, end: 'length' },
  { length: length >> 1, end: 'length' },
  { length: length + 1 },
  { sizeHint: length },
  { maxPrealloc: 4096 },
]

const LENGTHS = [0, 1, 100, 4096, 16_384, 16_385, 150_000]
const CUTS = [1000, 16_384, 70_000]

/** What became of a call, with all that it tells. */
async function outcome(call, bytesOf) {
  try {
    return { bytes: bytesOf(await call()) }
  } catch (error) {
    const { code, received, limit, expected, partial } = error
    return { code, received, limit, expected, message: error.message, partial: partial?.toBuffer() }
  }
}

const asText = (text) => text
const asItIs = (bytes) => Buffer.from(bytes)
const decoded = ({ bytes, ...rest }) => (bytes === undefined ? rest : { bytes: bytes.toString() })

for (const name in SOURCES) {
  test(`${name}: small and large bodies, with every option, become the same whether they were put by or not`, async () => {
    for (const length of LENGTHS) {
      const body = bodyOf(length)
      for (const size of CUTS) {
        for (const options of optionsFor(length)) {
          const what = `${length} bytes by ${size}, ${JSON.stringify(options)}`
          const source = () => SOURCES[name](body, size)
          // With a pool of its own a body is the engine's from the start.
          const plain = await outcome(() => collectPooled(source(), { ...options, pool: new Pool() }), (buffer) => buffer.toBuffer())
          assert.deepEqual(await outcome(() => collect(source(), options), asItIs), plain, what)
          assert.deepEqual(await outcome(() => collectText(source(), { ...options, encoding: 'utf-8' }), asText), decoded(plain), what)
          if (!SYNC.includes(name)) continue
          assert.deepEqual(await outcome(async () => collectSync(source(), options), asItIs), plain, what)
          assert.deepEqual(await outcome(async () => collectTextSync(source(), options), asText), decoded(plain), what)
        }
      }
    }
  })
}

test('what fails in the middle of a small body carries what came, once', async () => {
  const body = bodyOf(3000)
  async function* failing() {
    yield* cut(body, 700)
    throw new Error('the source failed')
  }
  for (const call of [collect, collectText]) await assert.rejects(call(failing()), { message: 'the source failed' })
  const chunks = cut(body, 700)
  const stream = new Readable({
    read() {
      const { value, done } = chunks.next()
      if (done) setImmediate(() => this.destroy())
      else this.push(value)
    },
  })
  const error = await collectText(stream).catch((error) => error)
  assert.equal(error.code, 'ERR_BRIMFUL_SHORT')
  assert.equal(error.received, 3000)
  assert.deepEqual(error.partial.toBuffer(), body)
})

test('a text with a fault is refused with all of its bytes, small or large, put by or not', async () => {
  for (const length of [1, 100, 20_000, 300_000]) {
    const body = Buffer.concat([Buffer.from(textOf(length)), Buffer.from([0xff]), Buffer.from('behind')])
    for (const name in SOURCES) {
      const error = await collectText(SOURCES[name](body, 5000), { fatal: true }).catch((error) => error)
      assert.equal(error.code, 'ERR_BRIMFUL_ENCODING', name)
      assert.equal(error.offset, body.length - 7)
      assert.deepEqual(error.partial.toBuffer(), body, name)
      assert.equal(error.partial.info().received, body.length)
    }
  }
})

test('small bodies that are read side by side see nothing of each other', async () => {
  const all = Array.from({ length: 200 }, (_, i) => Buffer.from(`body ${i}, ${'x'.repeat(i)}`))
  async function* slow(body) {
    for (const chunk of cut(body, 7)) {
      yield Buffer.from(chunk)
      await new Promise(setImmediate)
    }
  }
  const texts = await Promise.all(all.map((body) => collectText(slow(body))))
  const bodies = await Promise.all(all.map((body) => collect(slow(body))))
  all.forEach((body, i) => {
    assert.equal(texts[i], body.toString())
    assert.deepEqual(bodies[i], body)
  })
})

test('an empty body is a body, of every kind of source and result, with nothing asked for', async (t) => {
  const ends = pipe(t)
  ends.closeWriter()
  const sources = {
    ...SOURCES,
    callback: () => () => 0,
    pipe: () => ({ fd: ends.reader }),
    'byte stream of nothing': () => new ReadableStream({ type: 'bytes', start: (controller) => controller.close() }),
    'response without a body': () => new Response(null),
  }
  for (const name in sources) {
    const source = () => sources[name](Buffer.alloc(0), 100)
    for (const options of [undefined, {}, { limit: 10 }, { sizeHint: 2 ** 40 }]) {
      assert.equal((await collect(source(), options)).length, 0, name)
      assert.equal((await collectPooled(source(), options)).length, 0, name)
      assert.equal(await collectText(source(), options), '', name)
    }
    assert.equal(await collectInto(source(), Buffer.alloc(3)), 0, name)
  }
  for (const source of [[], Buffer.alloc(0), () => 0]) {
    assert.equal(collectSync(source).length, 0)
    assert.equal(collectPooledSync(source).length, 0)
    assert.equal(collectTextSync(source), '')
  }
  const collector = new Collector()
  collector.end()
  assert.equal(collector.complete, true)
  assert.throws(() => collector.write('late'), code('state'))
  assert.equal(collector.finish().length, 0)
})
