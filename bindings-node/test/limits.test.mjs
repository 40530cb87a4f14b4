import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Readable } from 'node:stream'
import { Collector, Pool, collect, collectPooled, collectPooledSync, collectSync } from 'brimful'
import { assertPainted, code, errorOf, giver, painted, pieces, wrongType } from './helpers.mjs'

const N = 100_000

const sources = {
  stream: (each) => Readable.from(pieces(N, each)),
  iterable: (each) => pieces(N, each),
  callback: (each) => giver(N, each),
  web: (each) => new ReadableStream({
    start(controller) {
      for (const piece of pieces(N, each)) controller.enqueue(piece)
      controller.close()
    },
  }),
}

for (const [name, source] of Object.entries(sources)) {
  for (const each of [7777, N]) {
    test(`a limit holds for a ${name} in pieces of ${each}: at the limit is fine, one byte above is not`, async () => {
      for (const limit of [N, N + 1, BigInt(N), Infinity]) assertPainted(await collect(source(each), { limit }), N)
      for (const limit of [0, 1, N - 1]) {
        for (const read of [collect, collectPooled]) {
          const error = await errorOf(() => read(source(each), { limit }))
          assert.equal(error.code, 'ERR_BRIMFUL_LIMIT')
          assert.equal(error.limit, limit)
          assert.ok(error.received > limit)
          assertPainted(error.partial.toBuffer(), limit)
          error.partial.release()
        }
      }
    })

    test(`a ${name} in pieces of ${each} is cut at the limit where that is asked for`, async () => {
      const pooled = await collectPooled(source(each), { limit: 1234, truncate: true })
      assert.equal(pooled.truncated, true)
      assertPainted(pooled.asBuffer(), 1234)
      pooled.release()
      const whole = await collectPooled(source(each), { limit: N, truncate: true })
      assert.equal(whole.truncated, false)
      whole.release()
    })

    test(`a length is enforced for a ${name} in pieces of ${each}`, async () => {
      assertPainted(await collect(source(each), { length: N }), N)
      const short = await errorOf(() => collect(source(each), { length: N + 1 }))
      assert.deepEqual([short.code, short.received, short.expected], ['ERR_BRIMFUL_SHORT', N, N + 1])
      assertPainted(short.partial.toBuffer(), N)
      const long = await errorOf(() => collect(source(each), { length: N - 1, end: 'eof' }))
      assert.deepEqual([long.code, long.expected], ['ERR_BRIMFUL_LONG', N - 1])
      assertPainted(long.partial.toBuffer(), N - 1)
    })
  }
}

test('limit 0 allows only the empty body', async () => {
  assert.equal(collectSync([], { limit: 0 }).length, 0)
  assert.equal((await collect(Readable.from([]), { limit: 0 })).length, 0)
  assert.throws(() => collectSync(['a'], { limit: 0 }), code('limit'))
})

test('a length above the limit is refused before the source is asked, and before truncation', async () => {
  const untouched = () => assert.fail('the source was asked')
  const stream = new Readable({ read: untouched })
  const iterable = { [Symbol.iterator]: untouched }
  for (const source of [untouched, iterable, stream]) {
    const error = await errorOf(() => collect(source, { length: 11, limit: 10, truncate: true }))
    assert.deepEqual([error.code, error.received, error.expected, error.limit], ['ERR_BRIMFUL_LIMIT', 0, 11, 10])
  }
  assert.equal(stream.destroyed, true)
})

test("a pool's limit holds where the body has none of its own", () => {
  const pool = new Pool({ limit: 10 })
  assert.throws(() => collectSync(giver(11), { pool }), code('limit'))
  assert.equal(collectSync(giver(11), { pool, limit: 11 }).length, 11)
})

test('known lengths up to 16 MiB are one allocation and no copy', () => {
  for (const length of [1, 100, 65_536, 1_000_000, 16 * 2 ** 20]) {
    for (const each of [length, 64 * 1024]) {
      const collector = new Collector({ length })
      collector.read(giver(length, each))
      assertPainted(collector.finish(), length)
      const { allocations, copied, waste } = collector.info()
      assert.deepEqual({ allocations, copied, waste }, { allocations: 1, copied: 0, waste: 0 })
      const pushed = new Collector({ length, end: 'eof' })
      for (const piece of pieces(length, each)) pushed.write(piece)
      pushed.end()
      const data = pushed.finish()
      assertPainted(data, length)
      assert.deepEqual([pushed.info().allocations, pushed.info().copied, data.byteOffset, data.buffer.byteLength], [1, 0, 0, length])
    }
  }
})

test('a known length above 16 MiB moves at most a quarter', () => {
  const length = 48 * 2 ** 20
  const collector = new Collector({ length })
  collector.read(giver(length))
  assertPainted(collector.finish(), length)
  assert.ok(collector.info().copied <= length / 4)
})

test('a hint is only a hint', () => {
  for (const sizeHint of [0, 1, N - 1, N, N + 1, 2 ** 40, 2n ** 64n - 1n]) assertPainted(collectSync(giver(N, 5000), { sizeHint }), N)
})

test('a callback is not asked beyond its length', () => {
  let asked = 0
  const give = giver(1000)
  assertPainted(collectSync((window) => {
    asked += window.length
    return give(window)
  }, { length: 50 }), 50)
  assert.equal(asked, 50)
})

test('options of the wrong type or range are refused by name, and unknown ones too', () => {
  for (const name of ['length', 'sizeHint', 'limit', 'maxPrealloc', 'firstBlock', 'maxWindow']) {
    for (const value of ['5', true, {}, Symbol('x')]) assert.throws(() => collectSync([], { [name]: value }), wrongType)
    for (const value of [-1, 1.5, NaN, -Infinity, 2 ** 64, -1n, 2n ** 64n]) {
      assert.throws(() => collectSync([], { [name]: value }), (error) => error.code === 'ERR_BRIMFUL_INVALID' && error.message.includes(name))
    }
    assert.equal(collectSync([], { [name]: null }).length, 0)
  }
  for (const name of ['firstBlock', 'maxWindow']) {
    for (const value of [0, 4095, 2 ** 30 + 1]) {
      assert.throws(() => new Collector({ [name]: value }), (error) => error.code === 'ERR_BRIMFUL_INVALID' && error.message.includes(name))
    }
  }
  assert.throws(() => collectSync([], { limits: 5 }), wrongType)
  assert.throws(() => collectSync([], null), wrongType)
  assert.throws(() => collectSync([], 5), wrongType)
  assert.throws(() => collectSync([], { end: 'soon' }), code('invalid'))
  assert.throws(() => collectSync([], { truncate: 1 }), wrongType)
  assert.throws(() => collectSync([], { pool: {} }), wrongType)
  assert.throws(() => collectSync([], { collector: {} }), wrongType)
  assert.throws(() => collectSync([], { collector: new Collector(), limit: 5 }), code('invalid'))
  assert.throws(() => new Collector({ result: 'text' }), code('invalid'))
  assert.throws(() => new Pool({ memory: 'gpu' }), code('invalid'))
  assert.throws(() => new Pool({ retained: 5 }), wrongType)
  assert.throws(() => new Pool({ maxRetained: -5 }), code('invalid'))
})

test('an error carries what came, in memory that goes with it', () => {
  const pool = new Pool()
  for (const length of [10, 50_000, 1_000_000]) {
    try {
      collectPooledSync([painted(length + 1)], { limit: length, pool })
      assert.fail('an error was expected')
    } catch (error) {
      assertPainted(error.partial.asBuffer(), length)
      assertPainted(error.partial.toBuffer(), length)
      assert.equal(error.partial.info().status, 'limit')
      assert.equal(pool.stats().outstanding, 0)
      const view = error.partial.asBuffer()
      error.partial.release()
      assert.equal(view.length, 0)
    }
  }
})

test('many small chunks have the outcome of one large one, at every limit and length', () => {
  const N = 9000
  const write = (options, each) => {
    const collector = new Collector({ result: 'pooled', pool: new Pool(), ...options })
    let error
    try {
      for (const piece of pieces(N, each)) collector.write(piece)
      collector.end()
    } catch (caught) {
      error = caught
    }
    const { received, length, truncated, status } = collector.info()
    const partial = collector.takePartial()
    assertPainted(partial.toBuffer(), length)
    partial.release()
    return { code: error?.code, length, truncated, status, over: received > length }
  }
  for (const memory of [4095, 4096, 4097, 8191, N - 1, N, N + 1, 0, 1, 2, 257]) {
    for (const options of [{}, { limit: memory }, { length: memory }, { length: memory, end: 'eof' }, { limit: memory, truncate: true }]) {
      const whole = write(options, N)
      for (const each of [1, 7, 256, 257]) assert.deepEqual(write(options, each), whole, `${JSON.stringify(options)} in pieces of ${each}`)
    }
  }
})

test('small chunks are seen at once by whoever looks', () => {
  const collector = new Collector()
  const bytes = painted(100)
  for (let i = 0; i < 100; i++) {
    assert.equal(collector.write(bytes.subarray(i, i + 1)), 1)
    if (i % 9 === 0) assert.equal(collector.info().received, i + 1)
    if (i % 10 === 0) assert.equal(collector.copy(0, Buffer.alloc(200)), i + 1)
    if (i % 11 === 0) assertPainted(Buffer.concat(collector.segments()), i + 1)
    assert.equal(collector.complete, false)
  }
  const window = collector.reserve()
  assert.throws(() => collector.write(bytes.subarray(0, 1)), code('state'))
  collector.commit(window.write('end'))
  collector.write(Buffer.from('x'))
  collector.write(Buffer.from('y'))
  collector.cancel()
  assert.equal(String(collector.takePartial().toBuffer().subarray(100)), 'endxy')
  assert.throws(() => collector.write(Buffer.from('x')), code('state'))
  collector.reset()
  collector.write('z')
  collector.end()
  assert.equal(String(collector.finish()), 'z')
})

test('small chunks that find no room in the budget stay for the next attempt', () => {
  const pool = new Pool({ budget: 60_000, memory: 'list' })
  const first = collectPooledSync(giver(20_000), { pool, length: 20_000 })
  const collector = new Collector({ pool, result: 'pooled' })
  const bytes = painted(30_000)
  let refusals = 0
  for (let i = 0; i < bytes.length;) {
    try {
      i += collector.write(bytes.subarray(i, i + 1))
    } catch (error) {
      assert.equal(error.code, 'ERR_BRIMFUL_BUDGET')
      assert.equal(collector.info().status, 'ok')
      if (++refusals === 3) first.release()
    }
  }
  collector.end()
  assert.equal(refusals, 3)
  const body = collector.finish()
  assertPainted(body.toBuffer(), bytes.length)
  body.release()
})
