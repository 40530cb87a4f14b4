// Sources, chunks and options that are not what they seem, and callers that do not stop at an error.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Collector, Pool, collect, collectInto, collectPooled, collectPooledSync, collectSync } from 'brimful'
import { assertPainted, code, errorOf, folder, inProcess, painted, pieces, pipe, serving, wrongType } from './helpers.mjs'

const detached = (view) => (structuredClone(view.buffer ?? view, { transfer: [view.buffer ?? view] }), view)
const never = () => new Promise(() => {})
const soon = (promise) => Promise.race([promise, sleep(2000).then(() => assert.fail('nothing came of it'))])

test('what an old source says late does not keep the next one from being cancelled', async (t) => {
  const quiet = {
    callback: () => never,
    iterator: () => ({ [Symbol.asyncIterator]: () => ({ next: never }) }),
    stream: () => new PassThrough(),
    pipe: () => ({ fd: pipe(t).reader }),
  }
  for (const [name, make] of Object.entries(quiet)) {
    for (const kind of ['callback', 'iterator']) {
      let answer
      const asked = () => new Promise((resolve) => { answer = resolve })
      const collector = new Collector()
      const first = collector.readAsync(kind === 'callback' ? asked : { [Symbol.asyncIterator]: () => ({ next: asked }) })
      collector.cancel()
      await assert.rejects(first, code('cancelled'))
      collector.reset()
      const second = collector.readAsync(make())
      answer(kind === 'callback' ? 0 : { done: true })
      await sleep(10)
      collector.cancel()
      await assert.rejects(soon(second), code('cancelled'), `${kind}, then ${name}`)
    }
  }
})

test('an empty chunk is answered as any other is, whether small chunks are waiting or not', () => {
  assert.equal(new Collector().write(new Uint8Array(0)), 0)
  const states = {
    state: () => { const c = new Collector(); c.write('a'); c.end(); c.finish(); return c },
    limit: () => { const c = new Collector({ limit: 5 }); c.write('a'); assert.throws(() => c.write(Buffer.alloc(9)), code('limit')); return c },
  }
  for (const [name, make] of Object.entries(states)) {
    assert.throws(() => make().write(''), code(name), name)
    assert.throws(() => make().write(new Uint8Array(0)), code(name), name)
  }
})

test('small chunks are refused where the budget has no room, and what came before stays to be had', () => {
  const ways = {
    takePartial: (collector) => { const partial = collector.takePartial(); assertPainted(partial.asBuffer(), partial.length); return partial.length },
    finish: (collector) => { collector.end(); return collector.finish().length },
    reset: (collector) => { collector.reset(); collector.write('a'); collector.end(); assert.equal(String(collector.finish().asBuffer()), 'a'); return 16_384 },
  }
  for (const [name, way] of Object.entries(ways)) {
    const collector = new Collector({ result: 'pooled', pool: new Pool({ budget: 16_384 }) })
    collector.write(painted(16_300))
    let written = 16_300
    for (let refused = 0; refused < 3;) {
      const length = refused === 0 ? 40 : 200
      try {
        written += collector.write(painted(length, written))
      } catch (error) {
        assert.equal(error.code, 'ERR_BRIMFUL_BUDGET')
        refused++
      }
    }
    assert.ok(written <= 16_384)
    assert.equal(way(collector), name === 'reset' ? 16_384 : written, name)
  }
})

test('small chunks that wait when the target is detached are lost with it, and so are those that wait at a reset', () => {
  const make = () => {
    const target = Buffer.alloc(1000)
    const collector = new Collector({ target })
    for (const chunk of ['a', 'b', 'c']) collector.write(Buffer.from(chunk))
    detached(target)
    return collector
  }
  assert.equal(make().takePartial().length, 0)
  const collector = make()
  assert.throws(() => collector.end(), code('contract'))
  assert.equal(collector.takePartial().length, 0)
  assert.throws(() => collector.reset(), code('contract'))
  const inOwn = new Collector({ limit: 100 })
  for (const chunk of ['a', 'b']) inOwn.write(Buffer.from(chunk))
  inOwn.reset()
  inOwn.write('c')
  inOwn.end()
  assert.equal(String(inOwn.finish()), 'c')
})

test('a collector whose target was taken away never writes there again, whatever it is asked', () => {
  for (const before of [() => {}, (collector) => collector.takePartial(), (collector) => collector.info(), (collector) => collector.end()]) {
    const target = Buffer.alloc(1000)
    const collector = new Collector({ target })
    collector.write(painted(300))
    const moved = Buffer.from(structuredClone(target.buffer, { transfer: [target.buffer] }), target.byteOffset, 1000)
    for (let times = 0; times < 2; times++) {
      try { before(collector) } catch (error) { assert.match(error.code, /CONTRACT|STATE/) }
      assert.throws(() => collector.reset(), code('contract'))
      assert.throws(() => collector.reset({ limit: 500 }), code('contract'))
      try { collector.write(Buffer.alloc(300, 0xee)) } catch (error) { assert.match(error.code, /CONTRACT|STATE/) }
    }
    assert.deepEqual(moved, Buffer.concat([painted(300), Buffer.alloc(700)]))
  }
})

test('options that are inherited, or those of a class, are options', async () => {
  class Options { get limit() { return 10 } }
  const body = painted(100)
  for (const options of [Object.create({ limit: 10 }), new Options()]) {
    for (const way of [collect, collectPooled, async (...all) => collectSync(...all), async (...all) => collectPooledSync(...all), (source, given) => collectInto(source, Buffer.alloc(100), given)]) {
      await assert.rejects(way(body, options), code('limit'))
    }
    assert.throws(() => new Collector(options).write(body), code('limit'))
    await assert.rejects(collect(body, Object.create({ collector: new Collector() }, { limit: { value: 10 } })), code('invalid'))
  }
})

test('null is none for every option', async () => {
  const none = { length: null, sizeHint: null, limit: null, maxPrealloc: null, firstBlock: null, maxWindow: null, end: null, truncate: null, pool: null }
  assert.equal(String(await collect('abc', { ...none, collector: null, signal: null, onProgress: null })), 'abc')
  assert.equal(String(collectSync('abc', { ...none, collector: new Collector(none), signal: null, onProgress: null })), 'abc')
  new Collector({ ...none, result: null, target: null }).reset({ end: null, truncate: null })
  new Pool({ maxRetained: null, limit: null, budget: null, idleMs: null, scrub: null, memory: null }).close()
})

test('a socket stops at the length, also one that is still connecting and one without an address', async (t) => {
  const listening = async (...where) => {
    const server = createServer((socket) => socket.on('error', () => {}).write('abcdef'))
    server.listen(...where)
    await once(server, 'listening')
    t.after(() => server.close())
    return server
  }
  const tcp = await listening(0, '127.0.0.1')
  const path = join(folder(t), 'socket')
  await listening(path)
  for (const make of [() => connect(tcp.address().port, '127.0.0.1'), () => connect(path)]) {
    const socket = make()
    t.after(() => socket.destroy())
    assert.equal(String(await soon(collect(socket, { length: 3 }))), 'abc')
    assert.equal(String(socket.read()), 'def')
  }
})

test('a promise that is refused as an answer, a chunk or a source does not end the process when it fails', async () => {
  const codes = await inProcess(`
    import { Collector, collect, collectSync } from 'brimful'
    const boom = async () => { throw new Error('boom') }
    const codes = []
    const tries = [() => collectSync(boom), () => new Collector().read(boom), () => collect([boom()]), () => new Collector().write(boom()), () => collect(boom()), () => collectSync(boom())]
    for (const attempt of tries) try { await attempt() } catch (error) { codes.push(error.code) }
    await new Promise((resolve) => setTimeout(resolve, 20))
    console.log(JSON.stringify(codes))
  `)
  assert.deepEqual(codes, Array(6).fill('ERR_INVALID_ARG_TYPE'))
})

test('a class of bytes that says something else of itself is taken for what is in its memory', async () => {
  class Longer extends Uint8Array { get length() { return 5000 } }
  class Mapped extends Uint8Array { static get [Symbol.species]() { return class extends Uint8Array { constructor() { super(5000) } } } }
  const own = Object.defineProperty(new Uint8Array(1), 'length', { value: 5000 })
  const shared = new Longer(new SharedArrayBuffer(1))
  for (const chunk of [new Longer(1), own, shared]) {
    assert.deepEqual(await collect(Readable.from([chunk, Buffer.alloc(10)])), Buffer.alloc(11))
    assert.deepEqual(collectSync([chunk, Buffer.alloc(10)]), Buffer.alloc(11))
    const collector = new Collector()
    collector.write('a')
    assert.equal(collector.write(chunk), 1)
    collector.end()
    assert.deepEqual(collector.finish(), Buffer.from('a\0'))
  }
  assert.equal((await collect(Readable.from([new Mapped(100)]), { limit: 10, truncate: true })).length, 10)
  const target = new Longer(20)
  await assert.rejects(collectInto(painted(21), target), code('limit'))
  assert.equal(await collectInto(painted(20), target), 20)
  assertPainted(Buffer.from(target.buffer), 20)
})

test('what only looks like a web stream is read as it answers, and its limit error comes out', async () => {
  const chunk = painted(100)
  const like = (extra) => {
    let calls = 0
    return { locked: false, cancel() {}, getReader: () => ({ read: async () => (calls++ < 3 ? { done: false, value: chunk } : { done: true }), ...extra }) }
  }
  for (const extra of [{}, { releaseLock() {} }, { cancel() {} }, { cancel() { throw new Error('mine') } }]) {
    await assert.rejects(collect(like(extra), { limit: 50 }), code('limit'))
    assert.equal((await collect(like(extra))).length, 300)
    assertPainted(chunk, 100)
  }
})

test('a call that is refused as busy leaves the one that runs its signal and progress', async () => {
  const collector = new Collector()
  const seen = []
  let inner
  const read = collectSync((window) => {
    inner ??= collect('x', { collector, onProgress: () => {} })
    return seen.length < 2 ? window.write('abc') : 0
  }, { collector, onProgress: (received) => seen.push(received) })
  await assert.rejects(inner, code('busy'))
  assert.equal(String(read), 'abcabc')
  assert.deepEqual(seen, [3, 6])

  const other = new Collector()
  const controller = new AbortController()
  const running = collect(never, { collector: other, signal: controller.signal })
  assert.throws(() => collectSync('x', { collector: other }), code('busy'))
  const reason = new Error('enough')
  controller.abort(reason)
  assert.equal(await errorOf(() => soon(running)), reason)
})

test('shared memory as a target has what came on every outcome, and a body that stopped there goes on', async () => {
  const make = () => new Uint8Array(new SharedArrayBuffer(100)).fill(0xee)
  const own = Object.assign(new Error('mine'), { landed: 90 })
  const failing = () => Readable.from((function* () { yield painted(30); throw own })())
  const failed = make()
  assert.equal(await errorOf(() => collectInto(failing(), failed)), own)
  assertPainted(Buffer.from(failed.subarray(0, 30)), 30)
  assert.ok(failed.subarray(30).every((byte) => byte === 0xee))

  const target = make()
  let calls = 0
  const give = (window) => (calls++ % 2 ? null : (painted(10, 5 * (calls - 1)).copy(window), 10))
  let outcome = await errorOf(() => collectInto(give, target))
  assertPainted(Buffer.from(target.subarray(0, 10)), 10)
  outcome = await errorOf(() => collectInto(give, target, { collector: outcome.collector }))
  assert.equal(outcome.code, 'ERR_BRIMFUL_WOULD_BLOCK')
  assertPainted(Buffer.from(target.subarray(0, 20)), 20)
  await assert.rejects(collectInto(give, make(), { collector: outcome.collector }), code('invalid'))
  assert.equal(await collectInto([], target, { collector: outcome.collector }), 20)

  const body = collectPooledSync([painted(1000)], { pool: new Pool() })
  const released = collectInto((function* () { yield 'abc'; body.release(); yield 'def' })(), body.asBuffer())
  await assert.rejects(released, code('contract'))
})

test('a signal that cannot be left is refused at once', async () => {
  const signal = { aborted: false, addEventListener() {} }
  await assert.rejects(collect('a', { signal }), wrongType)
  assert.throws(() => collectSync('a', { signal }), wrongType)
})

test('every source of a cancelled collector is refused, a chunk too', async () => {
  for (const source of ['x', Buffer.from('x'), ['x'], Readable.from(['x']), new Response('x'), () => 0]) {
    const collector = new Collector()
    collector.cancel()
    await assert.rejects(collector.readAsync(source), code('cancelled'))
  }
})

test('the plain encoding is known in any case, and its length is the body\'s', async (t) => {
  const { port } = await serving(t, (request, response) => {
    response.writeHead(200, { 'Content-Encoding': ' Identity', 'Content-Length': 10 })
    response.write('abc', () => response.destroy())
  })
  const { get } = await import('node:http')
  const [message] = await once(get({ port, host: '127.0.0.1' }), 'response')
  await assert.rejects(collect(message), code('short'))
  await assert.rejects(collect(await fetch(`http://127.0.0.1:${port}/`)), code('short'))
})

test('bytes whose memory was taken away are refused, as chunks and as targets', async () => {
  const kinds = [() => new Uint8Array(10), () => Buffer.from(new ArrayBuffer(10)), () => new Uint16Array(5), () => new DataView(new ArrayBuffer(10)), () => new ArrayBuffer(10)]
  for (const make of kinds) {
    await assert.rejects(collect(detached(make())), code('invalid'))
    await assert.rejects(collect([detached(make())]), code('invalid'))
    assert.throws(() => new Collector().write(detached(make())), code('invalid'))
    await assert.rejects(collectInto('abc', detached(make())), code('invalid'))
    assert.throws(() => new Collector({ target: detached(make()) }), code('invalid'))
  }
})

test('a value that cannot even be named is refused with a code', async () => {
  const throwing = { get constructor() { throw new Error('mine') } }
  const symbolic = { constructor: { name: Symbol('x') } }
  for (const value of [throwing, symbolic]) {
    await assert.rejects(collect(value), wrongType)
    assert.throws(() => new Collector().write(value), wrongType)
  }
})

test('a source that answers nothing for its next chunk is refused with a code', async () => {
  await assert.rejects(collect({ [Symbol.asyncIterator]: () => ({ next: async () => undefined }) }), wrongType)
  await assert.rejects(collect({ locked: false, cancel() {}, getReader: () => ({ read: async () => 5, releaseLock() {} }) }), wrongType)
})

test('a callback, iterator or web stream that always has something leaves timers their turn', async () => {
  const end = Date.now() + 3000
  const ready = () => Date.now() > end
  const sources = {
    callback: () => (window) => (ready() ? 0 : 1),
    promises: () => async () => (ready() ? 0 : 1),
    iterator: () => (async function* () { while (!ready()) yield 'a' })(),
    web: () => new ReadableStream({ pull: (controller) => (ready() ? controller.close() : controller.enqueue(new Uint8Array(1))) }),
  }
  for (const [name, make] of Object.entries(sources)) {
    const began = Date.now()
    const error = await errorOf(() => collect(make(), { signal: AbortSignal.timeout(50) }))
    assert.equal(error.name, 'TimeoutError', name)
    assert.ok(Date.now() - began < 1000, `${name} was heard after ${Date.now() - began} ms`)
  }
})
