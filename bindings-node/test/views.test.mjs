// What user code keeps of a body (windows, slices of windows, views) can neither change a result nor show another body.
import assert from 'node:assert/strict'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { MessageChannel, Worker } from 'node:worker_threads'
import { Collector, Pool, collect, collectInto, collectPooled, collectPooledSync, collectSync } from 'brimful'
import { assertPainted, code, errorOf, folder, giver, painted, pieces } from './helpers.mjs'

const SIZES = [10, 5000, 60_000, 1_000_000]
const SECRET = 0xaa
const detach = (view) => structuredClone(view.buffer, { transfer: [view.buffer] })

/** Ways of keeping what a callback is shown. */
const keeps = {
  window: (window) => window,
  slice: (window) => window.subarray(1, -1),
  'another kind of view': (window) => new DataView(window.buffer),
  'its whole memory': (window) => new Uint8Array(window.buffer),
}

/** A source that keeps what it is shown, in one of these ways, and gives the body. */
function keeping(length, keep, kept, isAsync) {
  const give = giver(length, 9000)
  const source = (window) => {
    kept.push(keep(window))
    return give(window)
  }
  return isAsync ? async (window) => source(window) : source
}

const kinds = {
  exact: (source, options) => collect(source, options),
  pooled: (source, options) => collectPooled(source, options),
  'exact at once': async (source, options) => collectSync(source, options),
  'pooled at once': async (source, options) => collectPooledSync(source, options),
  partial: async (source, options) => {
    const collector = new Collector(options)
    await collector.readAsync(source)
    return collector.takePartial()
  },
}

/** Writes wherever what was kept still leads. */
const scribble = (kept) => {
  for (const view of kept) {
    if (view.buffer.byteLength > 0) new Uint8Array(view.buffer, view.byteOffset, view.byteLength).fill(0xff)
  }
}

for (const [way, keep] of Object.entries(keeps)) {
  test(`kept, ${way}: no result is changed and no other body seen, for every kind of result (E49, H22, H23)`, async () => {
    for (const memory of ['auto', 'list']) {
      for (const [kind, read] of Object.entries(kinds)) {
        for (const isAsync of [false, true]) {
          if (isAsync && kind.includes('at once')) continue
          for (const length of SIZES) {
            for (const announced of [{}, { length }, { sizeHint: length }]) {
              const pool = new Pool({ memory })
              const kept = []
              const body = await read(keeping(length, keep, kept, isAsync), { pool, ...announced })
              scribble(kept)
              const data = Buffer.isBuffer(body) ? body : body.asBuffer()
              assertPainted(data, length)
              scribble(kept)
              assertPainted(data, length)
              assertPainted(Buffer.isBuffer(body) ? body : body.toBuffer(), length)
              if (!Buffer.isBuffer(body)) body.release()
              // The next body on the same memory: its bytes do not show in what was kept of the last one.
              const next = await collectPooled([Buffer.alloc(length, SECRET)], { pool })
              const view = next.asBuffer()
              scribble(kept)
              for (const { buffer } of kept) assert.ok(buffer.byteLength === 0 || !Buffer.from(buffer).includes(SECRET), kind)
              assert.ok(view.every((byte) => byte === SECRET), `${kind}: ${length}`)
              next.release()
            }
          }
        }
      }
    }
  })
}

test('what is kept costs nothing that is not kept: copied 0 for pooled and for known lengths', () => {
  for (const length of [1000, 60_000]) {
    const pooled = collectPooledSync(giver(length), { length })
    assert.equal(pooled.info().copied, 0)
    pooled.release()
    const collector = new Collector({ length })
    collector.read(giver(length))
    collector.finish()
    assert.equal(collector.info().copied, 0)
  }
})

test('a callback that claims what it did not write gets zeros there, whatever lay in the memory before (H22, H28)', async () => {
  const pool = new Pool()
  for (const length of [100, 50_000, 1_000_000]) {
    for (const isAsync of [false, true]) {
      collectPooledSync([Buffer.alloc(length, SECRET)], { pool }).release()
      const dirty = collectPooledSync((window) => {
        window.fill(SECRET)
        return Math.min(window.length, 10_000, length)
      }, { pool, length })
      dirty.release()
      let left = length
      const claiming = (window) => {
        assert.ok(window.every((byte) => byte === 0), 'a window shows what it should not')
        const filled = Math.min(left, window.length)
        left -= filled
        return filled
      }
      const body = await collectPooled(isAsync ? async (window) => claiming(window) : claiming, { pool })
      assert.ok(body.asBuffer().equals(Buffer.alloc(length)))
      body.release()
      left = length
      assert.ok((await collect(claiming, { pool, length })).equals(Buffer.alloc(length)))
    }
  }
})

test('a source that reuses one scratch buffer gives every byte as it was (H28)', async () => {
  const scratch = Buffer.alloc(1000)
  const reused = (give) => (length) => {
    const window = scratch.subarray(0, length)
    const filled = give(window)
    return window.subarray(0, filled)
  }
  function* iterable() {
    const next = reused(giver(100_000, 1000))
    for (let chunk; (chunk = next(1000)).length > 0;) yield chunk
  }
  async function* later() {
    yield* iterable()
  }
  for (const source of [iterable, later]) {
    assertPainted(await collect(source()), 100_000)
    const body = await collectPooled(source())
    scratch.fill(SECRET)
    assertPainted(body.asBuffer(), 100_000)
    body.release()
  }
})

test('a byte stream that keeps the memory it was given sees no byte of the body and changes none (H23, H28)', async () => {
  const seen = []
  let at = 0
  const stream = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      const { byobRequest } = controller
      const { view } = byobRequest
      const memory = new Uint8Array(view.buffer)
      assert.ok(memory.every((byte) => byte === 0), 'received bytes were shown')
      const filled = Math.min(view.byteLength, 10_000, 300_000 - at)
      new Uint8Array(view.buffer, view.byteOffset, filled).set(painted(filled, at))
      at += filled
      seen.push(memory)
      if (filled === 0) controller.close()
      byobRequest.respond(filled)
    },
  })
  const body = await collectPooled(stream)
  scribble(seen)
  assertPainted(body.asBuffer(), 300_000)
  body.release()
})

test('a window that is exported across calls ends with its commit: what is written later is nobody\'s (H42)', () => {
  for (const result of ['exact', 'pooled']) {
    const collector = new Collector({ result, pool: new Pool() })
    const windows = []
    const give = giver(500_000, 9000)
    for (let filled = -1; filled !== 0;) {
      const window = collector.reserve()
      windows.push(window)
      filled = give(window)
      collector.commit(filled)
    }
    collector.end()
    const body = collector.finish()
    scribble(windows)
    const data = result === 'exact' ? body : body.toBuffer()
    assertPainted(data, 500_000)
    if (result === 'pooled') body.release()
  }
})

test('native I/O that still writes into a window after the abort reaches no other body (H9, H23)', async (t) => {
  const path = join(folder(t), 'secret')
  await writeFile(path, Buffer.alloc(1_000_000, SECRET))
  const file = await open(path)
  const pool = new Pool()
  for (let i = 0; i < 50; i++) {
    const controller = new AbortController()
    let reading
    const source = (window) => (reading = file.read(window, 0, window.length, 0)).then(({ bytesRead }) => bytesRead)
    const collected = errorOf(() => collectPooled(source, { pool, signal: controller.signal }))
    controller.abort()
    assert.equal(await collected, controller.signal.reason)
    const next = collectPooledSync(giver(16_384, 1000), { pool })
    await reading
    assertPainted(next.asBuffer(), 16_384)
    next.release()
  }
  await file.close()
  assert.equal(pool.stats().outstanding, 0)
})

test('a callback that re-enters, resets or finishes the collector is refused, and the body is whole (H24)', async () => {
  for (const isAsync of [false, true]) {
    const collector = new Collector({ result: 'pooled' })
    const give = giver(50_000, 5000)
    const codes = new Set()
    const source = (window) => {
      for (const call of [
        () => collector.read(give), () => collector.reset(), () => collector.finish(), () => collector.takePartial(), () => collector.reserve(),
        () => collector.commit(1), () => collector.write('x'), () => collector.end(),
      ]) {
        try {
          call()
          codes.add('none')
        } catch (error) {
          codes.add(error.code)
        }
      }
      return give(window)
    }
    assert.equal(await collector.readAsync(isAsync ? async (window) => source(window) : source), true)
    assert.deepEqual([...codes], ['ERR_BRIMFUL_BUSY'])
    const body = collector.finish()
    assertPainted(body.asBuffer(), 50_000)
    body.release()
  }
})

test('a callback that throws or answers what it cannot leaves what came before, and its block is not used again (H21, H25, H26)', async () => {
  const pool = new Pool()
  const own = new Error('mine')
  const bad = [() => { throw own }, (window) => window.length + 1, () => -1, () => Number.MAX_VALUE, () => 'x', () => ({}), () => true, () => undefined]
  for (const answer of bad) {
    for (const isAsync of [false, true]) {
      const give = giver(100, 100, (window) => {
        window.fill(SECRET)
        return answer(window)
      })
      const collector = new Collector({ pool, result: 'pooled' })
      await assert.rejects(collector.readAsync(isAsync ? async (window) => give(window) : give))
      const partial = collector.takePartial()
      assertPainted(partial.asBuffer(), 100)
      assert.ok(!Buffer.from(partial.asBuffer().buffer).includes(SECRET) || answer === bad[0] || partial.length === 100)
      partial.release()
    }
  }
})

test('a callback that has nothing for ever is left to its caller, and one that interrupts for ever is stopped (H27)', async () => {
  let calls = 0
  const collector = new Collector()
  for (let i = 0; i < 1000; i++) assert.equal(collector.read(() => (calls++, null)), false)
  assert.equal(calls, 1000)
  calls = 0
  await assert.rejects(collect(() => (calls++, null)), { code: 'ERR_BRIMFUL_WOULD_BLOCK' })
  assert.equal(calls, 1)
  await assert.rejects(collect(async () => { throw Object.assign(new Error(), { code: 'EINTR' }) }), code('no_progress'))
  assert.equal(collectSync(() => 0).length, 0)
})

test('a limit is the same after a stop and after a reset (H18)', () => {
  for (const memory of ['auto', 'list']) {
    const collector = new Collector({ limit: 1000, result: 'pooled', pool: new Pool({ memory }) })
    for (let round = 0; round < 3; round++) {
      let calls = 0
      const give = giver(1001, 100)
      const stopping = (window) => (calls++ % 2 ? null : give(window))
      const read = () => {
        while (!collector.read(stopping));
      }
      assert.throws(read, code('limit'))
      const partial = collector.takePartial()
      assertPainted(partial.asBuffer(), 1000)
      partial.release()
      collector.reset()
    }
  }
})

test('slices share the memory, each counts, and the last release revokes (H30)', () => {
  for (const memory of ['auto', 'list']) {
    for (const length of [100, 60_000, 3_000_000]) {
      const pool = new Pool({ memory })
      const body = collectPooledSync(pieces(length, 7000), { pool })
      const middle = body.subarray(10, -10)
      const inner = middle.subarray(5, 20)
      const empty = body.subarray(50, 20)
      assert.deepEqual([middle.length, inner.length, empty.length], [length - 20, 15, 0])
      assert.deepEqual(middle.toBuffer(), painted(length - 20, 10))
      assert.deepEqual(Buffer.concat(middle.segments()), painted(length - 20, 10))
      assert.deepEqual(inner.asBuffer(), painted(15, 15))
      assert.equal(inner.info().copied, body.info().copied)
      assert.equal(empty.asBuffer().length, 0)
      const views = [inner.asBuffer(), middle.segments()[0], body.segments()[0]]
      body.release()
      middle.release()
      assert.throws(() => body.subarray(0, 1), code('state'))
      assert.ok(views.every((view) => view.length > 0), 'a slice is left, so nothing is revoked')
      assert.deepEqual(inner.subarray(1, 3).toBuffer(), painted(2, 16))
      empty.release()
      const outstanding = pool.stats().outstanding
      assert.ok(outstanding > 0)
      inner.release()
      inner.release()
      const last = pool.stats().outstanding
      if (last > 0) continue // the slice of the slice is left to the garbage collector
      assert.ok(views.every((view) => view.length === 0))
    }
  }
})

test('subarray takes what Buffer.subarray takes', () => {
  const body = collectPooledSync(painted(100))
  const plain = painted(100)
  for (const [begin, end] of [[], [5], [5, 10], [-5], [-10, -5], [0, 1000], [90, 5], [-1000, 3], [1.7, 4.2], [NaN, 3], [100], [50, undefined]]) {
    const slice = body.subarray(begin, end)
    assert.deepEqual(slice.toBuffer(), Buffer.from(plain.subarray(begin, end)), `${begin} ${end}`)
    slice.release()
  }
  assert.throws(() => body.subarray('1'), { code: 'ERR_INVALID_ARG_TYPE' })
  body.release()
})

test('slices of what an error carries share its memory too', () => {
  let error
  try {
    collectPooledSync([painted(50_000)], { limit: 40_000 })
  } catch (caught) {
    error = caught
  }
  const slice = error.partial.subarray(100, 200)
  const view = slice.asBuffer()
  error.partial.release()
  assert.deepEqual(view, painted(100, 100))
  slice.release()
  assert.equal(view.length, 0)
})

test('a release while views live empties them, and a second one does nothing (H29, H30)', () => {
  const pool = new Pool()
  for (let i = 0; i < 50; i++) {
    const body = collectPooledSync(giver(100_000), { pool })
    const views = [body.asBuffer(), new Uint8Array(body.asBuffer().buffer), body.asBuffer().subarray(5)]
    body.release()
    body.release()
    body[Symbol.dispose]()
    for (const view of views) assert.equal(view.length, 0)
    const { outstanding, rented, released } = pool.stats()
    assert.deepEqual([outstanding, released], [0, rented])
  }
})

test('views that are passed to another thread are copies there, and one that was moved there is lost here (H34)', async () => {
  const program = `
    const { parentPort } = require('node:worker_threads')
    parentPort.on('message', (view) => {
      view.fill(0xff)
      parentPort.postMessage('written')
    })
  `
  const worker = new Worker(program, { eval: true })
  const answered = () => new Promise((resolve) => worker.once('message', resolve))
  const pool = new Pool()
  const body = collectPooledSync(giver(100_000), { pool })
  worker.postMessage(body.asBuffer())
  await answered()
  assertPainted(body.asBuffer(), 100_000)
  const view = body.asBuffer()
  worker.postMessage(view, [view.buffer])
  await answered()
  assert.throws(() => body.toBuffer(), code('contract'))
  body.release()
  assert.equal(pool.stats().outstanding, 0)
  const next = collectPooledSync(giver(100_000), { pool })
  assertPainted(next.asBuffer(), 100_000)
  next.release()
  await worker.terminate()
  const { port1, port2 } = new MessageChannel()
  const lost = collectPooledSync(giver(10), { pool })
  port1.postMessage(lost.asBuffer(), [lost.asBuffer().buffer])
  port1.close()
  port2.close()
  assert.throws(() => lost.segments(), code('contract'))
  lost.release()
})

test('a budget is an error at once that changes nothing, and the same call goes on later (E45)', async () => {
  // What is granted counts, not what the steps of a growing block would be: 64 KiB, then 16 KiB, and 64 KiB more is too much.
  const pool = new Pool({ budget: 120_000 })
  const first = collectPooledSync(giver(60_000), { pool, length: 60_000 })
  const collector = new Collector({ result: 'pooled', pool })
  collector.write(painted(10_000))
  const rest = painted(50_000, 10_000)
  assert.throws(() => collector.write(rest), code('budget'))
  const error = await errorOf(() => collectPooled(giver(250_000), { pool, length: 250_000 }))
  assert.deepEqual([error.code, error.received], ['ERR_BRIMFUL_BUDGET', 0])
  const later = await errorOf(() => collect(pieces(100_000, 1000), { pool }))
  assert.equal(later.code, 'ERR_BRIMFUL_BUDGET')
  assertPainted(later.partial.toBuffer(), later.received)
  const called = await errorOf(() => collectPooled(giver(100_000), { pool }))
  assertPainted(called.partial.toBuffer(), called.received)
  first.release()
  assert.equal(collector.info().received, 10_000)
  collector.write(rest)
  collector.end()
  const body = collector.finish()
  assertPainted(body.asBuffer(), 60_000)
  body.release()
  assert.ok(pool.stats().refused >= 3)
  assert.throws(() => new Pool({ budget: -1 }), code('invalid'))
})

test('1e5 one-byte answers into windows of 1 MiB clear at most the body and 1 MiB, counted', () => {
  const calls = 100_000
  let left = calls
  let asked = 0
  let cleared = 0
  let last = { buffer: undefined, end: 0 }
  const from = performance.now()
  const body = collectPooledSync((window) => {
    asked++
    const end = window.byteOffset + window.length
    // What was never shown was cleared for this call; what was is marked at its end, and a mark that went says that it was
    // cleared again.
    const known = window.buffer === last.buffer && last.end > window.byteOffset
    const whole = !known || new Uint8Array(window.buffer)[last.end - 1] !== 9
    cleared += whole ? window.length : Math.max(0, end - last.end)
    if (whole || end > last.end) last = { buffer: window.buffer, end }
    new Uint8Array(window.buffer)[last.end - 1] = 9
    window[0] = 7
    return left-- > 0 ? 1 : 0
  }, { maxWindow: 2 ** 20 })
  const took = performance.now() - from
  assert.equal(body.length, calls)
  assert.equal(asked, calls + 1)
  assert.ok(cleared > calls && cleared <= calls + 2 ** 20, `${cleared} bytes cleared`)
  assert.ok(body.asBuffer().every((byte) => byte === 7))
  body.release()
  // Clearing each window anew would be more than 10 GB.
  assert.ok(took < 2000, `${took} ms`)
})

test('into the caller\'s own memory nothing is hidden: a kept window is the caller\'s own view', async () => {
  const target = Buffer.alloc(1000, 0x11)
  let kept
  const give = giver(500, 100)
  assert.equal(await collectInto((window) => give((kept ??= window)), target), 500)
  assert.equal(kept.buffer, target.buffer)
  assert.equal(kept.length > 0, true)
  assert.ok(detach(target))
})
