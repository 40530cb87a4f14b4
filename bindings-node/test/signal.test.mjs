import assert from 'node:assert/strict'
import { once, getEventListeners } from 'node:events'
import { openSync, closeSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import { Collector, Pool, collect, collectInto, collectPooled, collectPooledSync, collectSync } from 'brimful'
import { assertPainted, code, errorOf, folder, giver, painted, pipe, serving, wrongType } from './helpers.mjs'

const reads = {
  exact: collect,
  pooled: collectPooled,
  into: (source, options) => collectInto(source, Buffer.alloc(1000), options),
}

/** Sources that give three bytes and then nothing for ever; `left` says how often each was told that nobody waits. */
async function quiet(t) {
  const server = createServer((socket) => socket.on('error', () => {}).write('abc'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const left = {}
  const mark = (name) => (left[name] = (left[name] ?? 0) + 1)
  const { url } = await serving(t, (request, response) => response.write('abc'))
  const callback = (isAsync) => {
    let calls = 0
    return (window) => (calls++ === 0 ? window.write('abc') : isAsync ? new Promise(() => {}) : 0)
  }
  return {
    left,
    sources: {
      stream: () => {
        const stream = new PassThrough({ destroy: (error, done) => done(error, mark('stream')) })
        stream.write('abc')
        return stream
      },
      socket: () => connect(server.address().port, '127.0.0.1').on('close', () => mark('socket')),
      web: () => new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('abc')), cancel: () => void mark('web') }),
      bytes: () => new ReadableStream({ type: 'bytes', start: (controller) => controller.enqueue(new Uint8Array([97, 98, 99])), cancel: () => void mark('bytes') }),
      fetched: () => fetch(url),
      iterator: () => {
        let calls = 0
        return {
          [Symbol.asyncIterator]: () => ({
            next: () => (calls++ === 0 ? Promise.resolve({ done: false, value: 'abc' }) : new Promise(() => {})),
            return: () => Promise.resolve(mark('iterator')),
          }),
        }
      },
      callback: () => callback(true),
      pipe: () => {
        const ends = pipe(t)
        return { fd: ends.reader }
      },
    },
  }
}

const tick = () => new Promise(setImmediate)

test('an abort while a read is pending rejects with the very reason, within a tick, and the source is told once', async (t) => {
  const { left, sources } = await quiet(t)
  for (const [name, source] of Object.entries(sources)) {
    for (const [kind, read] of Object.entries(reads)) {
      for (const reason of [new Error('mine'), 'a string', undefined]) {
        const controller = new AbortController()
        const { signal } = controller
        let settled
        const opened = await source()
        const reading = errorOf(() => read(opened, { signal }))
        reading.then((error) => (settled = { error }))
        await new Promise((resolve) => setTimeout(resolve, 15))
        assert.equal(settled, undefined, `${name} ${kind}`)
        controller.abort(reason)
        await null
        await tick()
        assert.ok(settled, `${name} ${kind}: nothing was rejected within a tick`)
        assert.equal(settled.error, signal.reason, `${name} ${kind}`)
        assert.equal(getEventListeners(signal, 'abort').length, 0)
      }
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(left, { stream: 9, socket: 9, web: 9, bytes: 9, iterator: 9 })
})

test('a signal that was aborted before rejects before the source is asked', async () => {
  const signal = AbortSignal.abort(new Error('before'))
  const stream = new Readable({ read: () => assert.fail('asked') })
  const untouched = { [Symbol.asyncIterator]: () => assert.fail('asked') }
  const iterable = { [Symbol.iterator]: () => assert.fail('asked') }
  for (const read of Object.values(reads)) {
    for (const source of [stream, untouched, iterable, () => assert.fail('asked'), 'chunk', new Response('a')]) {
      assert.equal(await errorOf(() => read(source, { signal })), signal.reason)
    }
  }
  for (const source of [iterable, () => assert.fail('asked'), 'chunk']) {
    assert.equal(await errorOf(() => collectSync(source, { signal })), signal.reason)
  }
  assert.equal(stream.destroyed, true)
})

test('1000 reads on one signal leave no listener, however they end', async (t) => {
  const { signal } = new AbortController()
  const path = join(folder(t), 'body')
  writeFileSync(path, painted(1000))
  const fd = openSync(path)
  t.after(() => closeSync(fd))
  const own = new Error('mine')
  const ways = [
    () => collect(Readable.from(['abc']), { signal }),
    () => collect(new Response('abc'), { signal }),
    () => collectPooled(giver(10), { signal }).then((body) => body.release()),
    () => collect(async () => { throw own }, { signal }),
    () => collect(giver(11), { signal, limit: 10 }),
    () => collectInto('abc', Buffer.alloc(2), { signal }),
    () => collect(() => null, { signal }),
    () => collect({ fd }, { signal }),
    () => collect(Readable.from([{}]), { signal }),
    () => Promise.resolve().then(() => collectSync(giver(11), { signal, limit: 10 })),
  ]
  for (let i = 0; i < 1000; i++) await ways[i % ways.length]().catch(() => {})
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('an abort from inside a synchronous read ends it with the reason', () => {
  const controller = new AbortController()
  const reason = new Error('mine')
  let calls = 0
  const source = (window) => {
    if (++calls === 3) controller.abort(reason)
    return Math.min(window.length, 10)
  }
  assert.throws(() => collectPooledSync(source, { signal: controller.signal }), (error) => error === reason)
  assert.equal(calls, 3)
})

test('with a collector, what came before the abort is in it, and it can be read at once (H9)', async () => {
  for (const result of ['exact', 'pooled']) {
    for (const options of [{}, { length: 100 }]) {
      const pool = new Pool()
      const collector = new Collector({ result, pool, ...options })
      const controller = new AbortController()
      let window
      let answer
      let calls = 0
      const source = (shown) => {
        if (calls++ === 0) return shown.write('abc')
        window = shown
        return new Promise((resolve) => (answer = resolve))
      }
      const reading = errorOf(() => collect(source, { collector, signal: controller.signal }))
      await tick()
      controller.abort()
      assert.equal(await reading, controller.signal.reason)
      assert.equal(collector.info().status, 'cancelled')
      const partial = collector.takePartial()
      assert.equal(String(partial.asBuffer()), 'abc')
      // What the source writes and says later reaches neither this body nor the next one.
      window.fill(0xff)
      answer(50)
      await tick()
      assert.equal(String(partial.toBuffer()), 'abc')
      partial.release()
      const next = collectPooledSync(giver(16_000), { pool })
      window.fill(0xee)
      assertPainted(next.asBuffer(), 16_000)
      next.release()
      collector.reset({})
      assert.equal(await collector.readAsync('def'), true)
      const data = collector.finish()
      assert.equal(String(result === 'exact' ? data : data.toBuffer()), 'def')
    }
  }
})

test('cancel stops an async callback and an async iterable while they are waited for', async () => {
  for (const source of [() => new Promise(() => {}), { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }]) {
    const collector = new Collector()
    const reading = errorOf(() => collector.readAsync(source))
    await tick()
    collector.cancel()
    assert.equal((await reading).code, 'ERR_BRIMFUL_CANCELLED')
    collector.reset()
    collector.write('abc')
    collector.end()
    assert.equal(String(collector.finish()), 'abc')
  }
})

test('the end and a cancel at the same moment give one of both, and a cancel is not the next body\'s (H44)', async () => {
  for (let i = 0; i < 20; i++) {
    const collector = new Collector()
    const stream = new PassThrough()
    const reading = collector.readAsync(stream).catch((error) => error)
    stream.end('abc')
    for (let ticks = 0; ticks < i % 7; ticks++) await null
    if (i % 2) await tick()
    collector.cancel()
    const outcome = await reading
    if (outcome === true) assert.equal(String(collector.finish()), 'abc')
    else assert.equal(outcome.code, 'ERR_BRIMFUL_CANCELLED')
    collector.cancel()
    collector.reset()
    assert.equal(await collector.readAsync(['d', 'ef']), true)
    assert.equal(String(collector.finish()), 'def')
  }
  const controller = new AbortController()
  const reading = collect(Readable.from(['abc']), { signal: controller.signal })
  const data = await reading
  controller.abort()
  assert.equal(String(data), 'abc')
})

test('an endless async source with a limit is stopped after the limit and one chunk, and never holds more (H20)', async () => {
  const limit = 1_000_000
  const chunk = Buffer.alloc(65_536, 1)
  const pool = new Pool()
  let given = 0
  let most = 0
  async function* endless() {
    for (;;) {
      most = Math.max(most, pool.stats().outstandingBytes)
      given += chunk.length
      yield chunk
    }
  }
  await assert.rejects(collect(endless(), { limit, pool }), code('limit'))
  assert.ok(given <= limit + 2 * chunk.length, `${given} bytes were given`)
  assert.ok(most <= 5 * limit, `${most} bytes were held`)
  given = 0
  const stream = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      const { view } = controller.byobRequest
      given += view.byteLength
      controller.byobRequest.respond(view.byteLength)
    },
  })
  const error = await errorOf(() => collect(stream, { limit, pool }))
  assert.equal(error.received, limit + 1)
  assert.equal(given, limit + 1)
})

test('onProgress is told how far the body has come, and what it throws ends the body', async () => {
  const told = []
  const onProgress = (received, expected) => told.push([received, expected])
  await collect(Readable.from([painted(10), painted(20)]), { onProgress, length: 30 })
  assert.deepEqual(told.splice(0), [[10, 30], [30, 30]])
  for (const read of [collect, collectPooled, async (...all) => collectSync(...all)]) {
    await read(giver(30, 10), { onProgress })
    assert.deepEqual(told.splice(0), [[10, undefined], [20, undefined], [30, undefined]])
  }
  await collectInto(['abc', 'def'], Buffer.alloc(10), { onProgress })
  assert.deepEqual(told.splice(0), [[3, undefined], [6, undefined]])
  const own = new Error('mine')
  const stream = new PassThrough()
  stream.write('abc')
  const failing = () => { throw own }
  assert.equal(await errorOf(() => collect(stream, { onProgress: failing })), own)
  assert.equal(stream.destroyed, true)
  assert.equal(await errorOf(() => collect(giver(10, 5), { onProgress: failing })), own)
  const collector = new Collector()
  const inside = []
  await collect(['abc'], { collector, onProgress: () => { try { collector.write('x') } catch (error) { inside.push(error.code) } } })
  assert.deepEqual(inside, ['ERR_BRIMFUL_BUSY'])
})

test('what is no signal and no function is refused by name', async () => {
  for (const signal of [5, {}, 'x', () => {}]) await assert.rejects(collect('a', { signal }), wrongType)
  for (const onProgress of [5, {}, 'x']) await assert.rejects(collect('a', { onProgress }), wrongType)
  assert.equal((await collect('a', { signal: null, onProgress: null })).length, 1)
})
