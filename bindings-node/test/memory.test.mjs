import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collector, Pool, collect, collectPooled, collectPooledSync, collectSync } from 'brimful'
import { assertPainted, code, errorOf, giver, inProcess, painted, pieces } from './helpers.mjs'

const MEMORIES = ['auto', 'list']
const detach = (view) => structuredClone(view.buffer, { transfer: [view.buffer] })

for (const memory of MEMORIES) {
  for (const length of [10, 50_000, 5_000_000]) {
    test(`views of ${length} bytes are empty after release, and the memory is used again (memory ${memory})`, () => {
      const pool = new Pool({ memory })
      let window
      const give = giver(length)
      const first = collectPooledSync((shown) => give((window = shown)), { pool })
      const views = [first.asBuffer(), first.segments()[0], first.asBuffer().subarray(1, 5), new Uint8Array(first.segments()[0].buffer), window]
      assertPainted(first.asBuffer(), length)
      assert.equal(first.asBuffer(), first.asBuffer())
      first.release()
      first.release()
      for (const [i, view] of views.entries()) assert.equal(view.length, 0, `view ${i}`)
      for (const use of [() => first.asBuffer(), () => first.toBuffer(), () => first.segments(), () => first.info()]) {
        assert.throws(use, code('state'))
      }
      assert.equal(first.length, length)
      const second = collectPooledSync(giver(length), { pool })
      assertPainted(second.asBuffer(), length)
      assert.equal(second.info().allocations, 0)
      second.release()
      const stats = pool.stats()
      assert.equal(stats.outstanding, 0)
      assert.equal(stats.allocated - stats.freed, stats.retained)
    })
  }

  test(`nothing of one body shows in what leads to another, windows and views alike (memory ${memory})`, () => {
    const pool = new Pool({ memory })
    const secret = Buffer.alloc(200_000, 0xaa)
    const shows = (view) => Buffer.from(view.buffer).includes(Buffer.alloc(4, 0xaa))
    for (const [i, length] of [10, 5000, 20_000, 100_000, 199_000].entries()) {
      collectPooledSync([secret.subarray(0, 60_000)], { pool }).release()
      collectPooledSync([secret], { pool }).release()
      const give = giver(length, 3000 + i)
      const source = (window) => {
        assert.ok(window.every((byte) => byte === 0))
        assert.ok(!shows(window), 'a window leads to another body')
        return give(window)
      }
      const pooled = collectPooledSync(source, { pool })
      for (const segment of pooled.segments()) assert.ok(!shows(segment))
      pooled.release()
      const pushed = collectPooledSync(pieces(length, 3000), { pool })
      for (const segment of pushed.segments()) assert.ok(!shows(segment), 'a view leads to another body')
      pushed.release()
      const partly = new Collector({ pool })
      partly.write(painted(length))
      for (const segment of partly.segments()) assert.ok(!shows(segment))
      const window = partly.reserve()
      assert.ok(!shows(window) && window.every((byte) => byte === 0))
      partly.commit(0)
      partly.end()
      assertPainted(partly.finish(), length)
    }
  })
}

test('the window of an exact result leads to zeros, and so does its partial', () => {
  const collector = new Collector({ length: 100_000 })
  collector.write(painted(10)) // memory that is not cleared by itself
  const window = collector.reserve()
  assert.ok(Buffer.from(window.buffer).subarray(10).every((byte) => byte === 0))
  collector.commit(0)
  const partial = collector.takePartial()
  assert.ok(Buffer.from(partial.asBuffer().buffer).subarray(10).every((byte) => byte === 0))
  const other = new Collector({ length: 100_000 })
  other.write(painted(10))
  assert.ok(Buffer.from(other.takePartial().asBuffer().buffer).subarray(10).every((byte) => byte === 0))
})

test('a window whose ArrayBuffer was detached is a breach of contract, and nobody gets that memory', async () => {
  for (const options of [{}, { length: 100_000 }, { result: 'pooled' }, { result: 'pooled', length: 3_000_000 }]) {
    const collector = new Collector({ ...options, pool: new Pool() })
    const stolen = []
    assert.throws(() => collector.read((window) => {
      stolen.push(detach(window))
      return Math.min(10, window.length)
    }), code('contract'))
    assert.equal(collector.takePartial().length, 0)
    new Uint8Array(stolen[0]).fill(1)

    const later = new Collector({ ...options, pool: new Pool() })
    await assert.rejects(later.readAsync(async (window) => {
      await null
      stolen.push(detach(window))
      return 10
    }), code('contract'))

    const stepped = new Collector({ ...options, pool: new Pool() })
    stolen.push(detach(stepped.reserve()))
    assert.throws(() => stepped.commit(10), code('contract'))
    assert.throws(() => stepped.write('x'), code('contract'))

    const kept = new Collector({ ...options, pool: new Pool() })
    kept.write(painted(100))
    stolen.push(detach(kept.segments()[0]))
    assert.throws(() => kept.copy(0, Buffer.alloc(10)), code('contract'))
    assert.throws(() => kept.segments(), code('contract'))
    assert.throws(() => kept.write(painted(100)), code('contract'))
    stolen.forEach((memory) => new Uint8Array(memory).fill(2))
  }
})

test('an earlier block that was detached is seen at the next answer', () => {
  const pool = new Pool({ memory: 'list' })
  const collector = new Collector({ pool, result: 'pooled' })
  const windows = []
  const give = giver(10_000_000)
  assert.throws(() => collector.read((window) => {
    windows.push(window)
    if (windows.length === 5) detach(windows[0])
    return give(window)
  }), code('contract'))
  assert.equal(pool.stats().outstanding, 0)
})

test('a result whose ArrayBuffer was detached says so, and its memory is not used again', () => {
  const pool = new Pool()
  for (const length of [100, 1_000_000]) {
    const pooled = collectPooledSync(giver(length), { pool })
    const at = pooled.asBuffer().byteOffset
    const stolen = detach(pooled.asBuffer())
    assert.throws(() => pooled.toBuffer(), code('contract'))
    pooled.release()
    const next = collectPooledSync(giver(length), { pool })
    next.asBuffer().fill(7)
    assertPainted(Buffer.from(stolen, at, length), length)
    next.release()
  }
  assert.equal(pool.stats().outstanding, 0)
})

test('a chunk that lies in the collector itself is taken as it is', () => {
  const collector = new Collector({ firstBlock: 4096 })
  collector.write(painted(4000))
  for (let i = 0; i < 10; i++) collector.write(collector.segments()[0].subarray(0, 4000))
  const window = collector.reserve()
  window.fill(9)
  collector.commit(0)
  collector.write(window.subarray(0, 100))
  collector.end()
  assert.deepEqual(collector.finish(), Buffer.concat([...Array(11).fill(painted(4000)), Buffer.alloc(100, 9)]))
})

test('views of what has arrived are revoked when the body moves on, and by a reset', () => {
  const collector = new Collector({ result: 'pooled', pool: new Pool() })
  collector.write(painted(100))
  const [small] = collector.segments()
  assertPainted(small, 100)
  collector.write(painted(1_000_000)) // outgrows its small block
  assert.equal(small.length, 0)
  const [large] = collector.segments()
  assert.equal(large.length, 1_000_100)
  collector.reset()
  assert.equal(large.length, 0)
  collector.write(painted(50))
  const [again] = collector.segments()
  collector.reset()
  assert.equal(again.length, 0)
  collector.write(painted(70))
  collector.end()
  assertPainted(collector.finish().asBuffer(), 70)
})

test('a pool holds at most maxRetained, gives back on trim, and may be closed while buffers are out', () => {
  const pool = new Pool({ maxRetained: 1_000_000 })
  const out = Array.from({ length: 100 }, () => collectPooledSync(giver(50_000), { pool }))
  assert.equal(pool.stats().outstanding, 100)
  for (const pooled of out.slice(1)) pooled.release()
  assert.ok(pool.stats().retainedBytes <= 1_000_000)
  const { retainedBytes } = pool.stats()
  assert.equal(pool.trim(), retainedBytes)
  assert.equal(pool.stats().retained, 0)
  pool.close()
  assertPainted(out[0].asBuffer(), 50_000)
  const view = out[0].asBuffer()
  out[0].release()
  assert.equal(view.length, 0)
  assert.equal(pool.stats().retained, 0)
  assert.equal(pool.stats().outstanding, 0)
})

test('a buffer is disposed of by `using`', () => {
  const pooled = collectPooledSync(['abc'])
  const view = pooled.asBuffer()
  pooled[Symbol.dispose]()
  assert.equal(view.length, 0)
})

test('100 MB of unknown length, pooled: one range, no copy, and less than 1.1 times the memory', async () => {
  const length = 100_000_000
  const { before, after, segments, info, external } = await inProcess(`
    import { collectPooled, collectPooledSync } from 'brimful'
    const chunk = painted(64 * 1024)
    collectPooledSync([chunk]).release()
    gc()
    const before = process.memoryUsage()
    let left = ${length}
    const body = await collectPooled((window) => {
      const filled = Math.min(left, window.length, chunk.length)
      chunk.copy(window, 0, 0, filled)
      left -= filled
      return filled
    })
    const segments = body.segments().length
    const view = body.asBuffer()
    const after = process.memoryUsage()
    console.log(JSON.stringify({ before, after, segments, info: body.info(), external: view.length }))
  `, '--expose-gc')
  assert.equal(segments, 1)
  assert.equal(external, length)
  assert.ok(info.copied <= 2 ** 20, `${info.copied} bytes copied`)
  assert.ok(after.arrayBuffers < 1.1 * length, `arrayBuffers ${after.arrayBuffers}`)
  assert.ok(after.rss - before.rss < 1.1 * length, `RSS grew by ${after.rss - before.rss}`)
})

test('2^40 bytes declared and 10 delivered: resident memory grows by less than 20 MiB', async () => {
  const grown = await inProcess(`
    import { Collector, collect, collectPooled } from 'brimful'
    const before = process.memoryUsage().rss
    const codes = []
    for (const read of [collect, collectPooled]) {
      for (const source of [giver(10), pieces(10, 10)]) {
        await read(source, { length: 2 ** 40 }).catch((error) => codes.push(error.code, error.partial.toBuffer().length))
        await read(source, { sizeHint: 2 ** 40 })
      }
    }
    console.log(JSON.stringify({ grown: process.memoryUsage().rss - before, codes }))
  `)
  assert.deepEqual(grown.codes, Array(4).fill(['ERR_BRIMFUL_SHORT', 10]).flat())
  assert.ok(grown.grown < 20 * 2 ** 20, `RSS grew by ${grown.grown}`)
})

test('what nobody released is cleaned up: views stay as they are, and the memory is not used again', async () => {
  const told = await inProcess(`
    import { Collector, Pool, collectPooledSync } from 'brimful'
    const pool = new Pool()
    const views = []
    function lose(i) {
      const body = collectPooledSync([Buffer.alloc(5000, i)], { pool })
      views.push(body.asBuffer())
      const large = collectPooledSync([Buffer.alloc(500_000, i)], { pool })
      views.push(large.asBuffer())
      const collector = new Collector({ pool })
      collector.reserve()
      new Collector({ pool }).write('abc')
    }
    for (let i = 0; i < 50; i++) lose(i)
    const out = pool.stats().outstanding
    for (let i = 0; i < 20 && pool.stats().outstanding > 0; i++) {
      gc()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const { outstanding, retained } = pool.stats()
    for (let i = 0; i < 200; i++) collectPooledSync([Buffer.alloc(i * 1000, 0xee)], { pool }).asBuffer().fill(0xff)
    const intact = views.every((view, i) => view.length === (i % 2 ? 500_000 : 5000) && view.every((byte) => byte === i >> 1))
    console.log(JSON.stringify({ out, outstanding, retained, intact }))
  `, '--expose-gc')
  // Only blocks that were never shown go back to the pool: those of the collectors that nobody looked into.
  assert.deepEqual(told, { out: 200, outstanding: 0, retained: 50, intact: true })
})

test('a window of an async call that never answers is nobody else\'s, whatever is written there later', async () => {
  const told = await inProcess(`
    import { Collector, Pool, collect, collectPooledSync } from 'brimful'
    const pool = new Pool()
    const windows = []
    const lose = () => void collect((window) => { windows.push(window); return new Promise(() => {}) }, { pool })
    for (let i = 0; i < 20; i++) lose()
    for (let i = 0; i < 20 && pool.stats().outstanding > 0; i++) {
      gc()
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const { outstanding, retained } = pool.stats()
    const body = collectPooledSync([painted(10_000)], { pool })
    for (const window of windows) window.fill(0xff)
    console.log(JSON.stringify({ outstanding, retained, lengths: windows.map((window) => window.length), right: body.toBuffer().equals(painted(10_000)) }))
  `, '--expose-gc')
  assert.deepEqual(told, { outstanding: 0, retained: 0, lengths: Array(20).fill(16_384), right: true })
})

test('20,000 bodies of mixed sizes leave the memory flat', async () => {
  const { grown, rented } = await inProcess(`
    import { Pool, collectPooled, collectPooledSync, collectSync } from 'brimful'
    const pool = new Pool()
    const source = painted(300_000)
    const round = async (count) => {
      for (let i = 0; i < count; i++) {
        const length = (i * 7919) % 300_000
        const body = collectPooledSync([source.subarray(0, length)], { pool })
        if (i % 3 === 0) body.asBuffer()
        body.release()
        if (i % 10 === 0) collectSync(giver(length % 5000))
        if (i % 10 === 1) (await collectPooled(giver(length % 5000), { pool })).release()
        if (i % 10 === 2) try { collectSync([source], { limit: length }) } catch {}
      }
      gc()
      await new Promise((resolve) => setTimeout(resolve, 20))
      gc()
    }
    await round(4000)
    const before = process.memoryUsage().rss
    await round(20_000)
    console.log(JSON.stringify({ grown: process.memoryUsage().rss - before, rented: pool.stats().rented }))
  `, '--expose-gc')
  assert.ok(rented >= 24_000)
  assert.ok(grown < 15 * 2 ** 20, `RSS grew by ${grown}`)
})

test('a buffer that was lost while a slice of it lives takes its block along: views of it stay as they are', async () => {
  const told = await inProcess(`
    import { Pool, collectPooledSync } from 'brimful'
    const pool = new Pool()
    const views = []
    function lose(i) {
      const body = collectPooledSync([Buffer.alloc(5000, i)], { pool })
      views.push(body.asBuffer())
      return body.subarray(10, 20)
    }
    const slices = Array.from({ length: 50 }, (_, i) => lose(i))
    for (let i = 0; i < 20; i++) {
      gc()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const out = pool.stats().outstanding
    for (const slice of slices) slice.release()
    const { outstanding, retained } = pool.stats()
    for (let i = 0; i < 100; i++) collectPooledSync([Buffer.alloc(5000, 0xee)], { pool }).asBuffer().fill(0xff)
    const intact = views.every((view, i) => view.length === 5000 && view.every((byte) => byte === i))
    console.log(JSON.stringify({ out, outstanding, retained, intact }))
  `, '--expose-gc')
  assert.deepEqual(told, { out: 50, outstanding: 0, retained: 0, intact: true })
})
