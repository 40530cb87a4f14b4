import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import * as brimful from 'brimful'
import { assertPainted, errorOf, giver, painted, pieces, wrongType } from './helpers.mjs'

const { collect, collectPooled, collectPooledSync, collectSync } = brimful
const SIZE = 300_000

async function* later(chunks) {
  for (const chunk of chunks) {
    await null
    yield chunk
  }
}

const sources = {
  'a Readable': () => Readable.from(pieces(SIZE, 10_000)),
  'a Readable in one piece': () => Readable.from([painted(SIZE)]),
  'an async iterable': () => later(pieces(SIZE, 10_000)),
  'an iterable': () => pieces(SIZE, 10_000),
  'an array of chunks': () => [...pieces(SIZE, 100_000)],
  'one chunk': () => painted(SIZE),
  'a Response': () => new Response(painted(SIZE)),
  'a web stream': () => new Response(painted(SIZE)).body,
  'a callback': () => giver(SIZE, 10_000),
  'a callback that fills every window': () => giver(SIZE),
  'an async callback': () => {
    const give = giver(SIZE, 10_000)
    return async (window) => give(window)
  },
}

for (const [name, source] of Object.entries(sources)) {
  test(`${name} is read whole, exact and pooled`, async () => {
    const data = await collect(source())
    assertPainted(data, SIZE)
    assert.deepEqual([data.byteOffset, data.buffer.byteLength, data.buffer.resizable], [0, SIZE, false])
    const pooled = await collectPooled(source())
    assertPainted(pooled.asBuffer(), SIZE)
    assertPainted(pooled.toBuffer(), SIZE)
    pooled.release()
  })
}

test('iterables, chunks and callbacks are read at once too', () => {
  for (const source of [pieces(SIZE, 10_000), painted(SIZE), giver(SIZE, 999)]) assertPainted(collectSync(source), SIZE)
  const pooled = collectPooledSync(pieces(SIZE, 10_000))
  assertPainted(pooled.asBuffer(), SIZE)
  pooled.release()
})

test('every kind of chunk counts in bytes', () => {
  const shared = new SharedArrayBuffer(3)
  new Uint8Array(shared).set([7, 8, 9])
  const chunks = [
    'ä€', new Uint16Array([0x0201, 0x0403]), new DataView(new Uint8Array([5, 6, 7]).buffer, 1), new Uint8Array([1]).buffer, shared,
    new Uint8Array(shared, 1, 1), new Uint8Array([1, 2, 3]).subarray(1, 2), Buffer.from('z'), '',
  ]
  const expected = Buffer.concat([Buffer.from('ä€'), Buffer.from([1, 2, 3, 4, 6, 7, 1, 7, 8, 9, 8, 2]), Buffer.from('z')])
  assert.deepEqual(collectSync(chunks), expected)
  assert.deepEqual(collectSync('ä€'), Buffer.from('ä€'))
})

test('objects, numbers and null are no chunks', async () => {
  for (const chunk of [{}, 5, null, undefined, true, [1], Symbol('x')]) {
    await assert.rejects(collect([chunk]), wrongType)
    await assert.rejects(collect(later(['a', chunk])), wrongType)
    assert.throws(() => collectSync([chunk]), wrongType)
  }
  await assert.rejects(collect(Readable.from([{ a: 1 }])), wrongType)
  assert.match((await errorOf(() => collect([{}]))).message, /a chunk must be .* not an object of class Object/)
})

test('what is no source is a TypeError that says what is one', async () => {
  for (const source of [undefined, null, 5, {}, true, 5n, new Date()]) {
    await assert.rejects(collect(source), wrongType)
    assert.throws(() => collectSync(source), wrongType)
  }
  for (const source of [Readable.from(['a']), new Response('a'), later(['a'])]) {
    assert.match((await errorOf(() => collectSync(source))).message, /collect reads it/)
  }
  assert.throws(() => collectSync(async () => 0), (error) => error.code === 'ERR_INVALID_ARG_TYPE' && /collect and readAsync/.test(error.message))
})

test('an iterable may reuse its chunk', () => {
  const scratch = Buffer.alloc(1000)
  function* reusing() {
    for (const piece of pieces(SIZE, 1000)) {
      piece.copy(scratch)
      yield scratch
    }
  }
  assertPainted(collectSync(reusing()), SIZE)
})

test('an iterator is returned once when the body is refused, and not when it ended', async () => {
  const returned = []
  const iterator = (name, count, isAsync) => ({
    [isAsync ? Symbol.asyncIterator : Symbol.iterator]: () => ({
      next: () => (count-- > 0 ? { value: 'abc', done: false } : { value: undefined, done: true }),
      return: () => {
        returned.push(name)
        return {}
      },
    }),
  })
  await assert.rejects(collect(iterator('async', 5, true), { limit: 4 }), { code: 'ERR_BRIMFUL_LIMIT' })
  assert.throws(() => collectSync(iterator('sync', 5, false), { limit: 4 }), { code: 'ERR_BRIMFUL_LIMIT' })
  await assert.rejects(collect(iterator('chunk', 1, true), { limit: 2 }), { code: 'ERR_BRIMFUL_LIMIT' })
  assert.equal(String(await collect(iterator('none', 2, true))), 'abcabc')
  assert.equal(String(await collect(iterator('truncated', 5, true), { limit: 4, truncate: true })), 'abca')
  assert.deepEqual(returned, ['async', 'sync', 'chunk', 'truncated'])
})

test("the source's own error comes out as the same object, whatever kind of source", async () => {
  const own = new Error('mine')
  function* failing() {
    yield 'abc'
    throw own
  }
  async function* failingLater() {
    yield 'abc'
    throw own
  }
  const web = new ReadableStream({ start: (controller) => controller.error(own) })
  const callbacks = [() => { throw own }, async () => { throw own }]
  for (const source of [failing(), failingLater(), Readable.from(failingLater()), web, ...callbacks]) {
    assert.equal(await errorOf(() => collect(source)), own)
  }
  assert.equal(await errorOf(() => collectSync(failing())), own)
  assert.equal(await errorOf(() => collectSync(callbacks[0])), own)
})

test('a file stream is read whole', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'brimful-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'body'), painted(SIZE))
  assertPainted(await collect(createReadStream(join(folder, 'body')), { length: SIZE }), SIZE)
})

test('CommonJS sees the same package', () => {
  const required = createRequire(import.meta.url)('brimful')
  assert.deepEqual(Object.keys(required).sort(), Object.keys(brimful).filter((name) => name !== 'default').sort())
  assert.equal(required.collect, brimful.collect)
})
