import assert from 'node:assert/strict'
import { openSync, closeSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { Collector, Pool, collectInto, collectPooledSync, collectSync } from 'brimful'
import { assertPainted, code, errorOf, folder, giver, painted, pieces, wrongType } from './helpers.mjs'

const detach = (view) => structuredClone(view.buffer, { transfer: [view.buffer] })

test('any writable memory is a target, and only what the body has is written', async () => {
  const targets = {
    Buffer: (memory) => Buffer.from(memory, 8, 24),
    Uint8Array: (memory) => new Uint8Array(memory, 8, 24),
    Uint16Array: (memory) => new Uint16Array(memory, 8, 12),
    Float64Array: (memory) => new Float64Array(memory, 8, 3),
    DataView: (memory) => new DataView(memory, 8, 24),
  }
  const memories = { ArrayBuffer: new ArrayBuffer(40), resizable: new ArrayBuffer(40, { maxByteLength: 80 }), shared: new SharedArrayBuffer(40) }
  for (const [kind, memory] of Object.entries(memories)) {
    for (const [name, make] of Object.entries(targets)) {
      if (kind === 'shared' && name === 'Buffer') continue
      for (const source of [() => painted(10), () => giver(10, 3), () => Readable.from(pieces(10, 4))]) {
        const all = new Uint8Array(memory).fill(0xee)
        assert.equal(await collectInto(source(), make(memory)), 10, `${kind} ${name}`)
        assert.deepEqual([...all], [...Array(8).fill(0xee), ...painted(10), ...Array(22).fill(0xee)], `${kind} ${name}`)
      }
    }
  }
  const whole = new ArrayBuffer(10)
  assert.equal(await collectInto(painted(10), whole), 10)
  assertPainted(Buffer.from(whole), 10)
  for (const target of [undefined, null, 'text', 5, {}, []]) await assert.rejects(collectInto('a', target), wrongType)
})

test('more than fits is the limit, its byte never lands, and the error tells what did', async () => {
  for (const source of [() => painted(101), () => giver(101, 7), () => Readable.from(pieces(101, 10)), () => new Response(painted(101))]) {
    const memory = Buffer.alloc(120, 0xee)
    const error = await errorOf(() => collectInto(source(), memory.subarray(10, 110)))
    assert.deepEqual([error.code, error.landed, error.limit, error.partial], ['ERR_BRIMFUL_LIMIT', 100, 100, undefined])
    assert.deepEqual(memory, Buffer.concat([Buffer.alloc(10, 0xee), painted(100), Buffer.alloc(10, 0xee)]))
    assert.equal(await collectInto(source(), Buffer.alloc(101)), 101)
    assert.equal(await collectInto(source(), Buffer.alloc(50), { limit: 50, truncate: true }), 50)
  }
  assert.equal(await collectInto([], Buffer.alloc(0)), 0)
  await assert.rejects(collectInto(['a'], Buffer.alloc(0)), code('limit'))
  const short = await errorOf(() => collectInto(giver(10), Buffer.alloc(20), { length: 15 }))
  assert.deepEqual([short.code, short.landed], ['ERR_BRIMFUL_SHORT', 10])
  await assert.rejects(collectInto(giver(10), Buffer.alloc(20), { length: 21 }), code('limit'))
})

test('a callback writes into the target itself, and nothing is copied', async () => {
  const target = Buffer.alloc(100_000)
  const give = giver(60_000, 9000)
  const collector = new Collector({ target })
  const read = await collectInto((window) => {
    if (window.length > 1) assert.equal(window.buffer, target.buffer)
    return give(window)
  }, target, { collector })
  assert.equal(read, 60_000)
  assertPainted(target.subarray(0, 60_000), 60_000)
  const { copied, allocations, length } = collector.info()
  assert.deepEqual({ copied, allocations, length }, { copied: 0, allocations: 0, length: 60_000 })
})

test('a body in a target can stop and go on, and a pooled copy is had of it', async () => {
  const target = Buffer.alloc(1000)
  let calls = 0
  const give = giver(500, 100)
  const stopping = (window) => (calls++ % 2 ? null : give(window))
  let error = await errorOf(() => collectInto(stopping, target))
  assert.equal(error.code, 'ERR_BRIMFUL_WOULD_BLOCK')
  const { collector } = error
  while (error.code === 'ERR_BRIMFUL_WOULD_BLOCK') error = await collectInto(stopping, target, { collector }).catch((caught) => caught)
  assert.equal(error, 500)
  assertPainted(target.subarray(0, 500), 500)
  const copy = collector.finish()
  target.fill(0)
  assertPainted(copy.asBuffer(), 500)
  copy.release()

  const pushed = new Collector({ target: new Uint8Array(target.buffer, target.byteOffset, 10) })
  pushed.write('abc')
  assert.equal(String(pushed.segments()[0]), 'abc')
  assert.equal(pushed.segments()[0].buffer, target.buffer)
  const window = pushed.reserve()
  pushed.commit(window.write('def'))
  pushed.end()
  assert.equal(String(target.subarray(0, 6)), 'abcdef')
  assert.equal(String(await collectSync('x')), 'x')
  await assert.rejects(collectInto('a', Buffer.alloc(10), { collector: pushed }), code('invalid'))
  assert.throws(() => new Collector({ target, result: 'exact' }), code('invalid'))
  assert.throws(() => new Collector({ target: new Uint8Array(new SharedArrayBuffer(1)) }), code('invalid'))
  assert.throws(() => new Collector({ target: 'text' }), wrongType)
})

test('a target that is taken away is a breach of contract, and its memory is not touched again', async (t) => {
  const path = join(folder(t), 'body')
  writeFileSync(path, painted(3_000_000))
  const fd = openSync(path)
  t.after(() => closeSync(fd))
  const ways = {
    inside: (target) => collectInto((window) => (detach(target), Math.min(10, window.length)), target),
    later: (target) => collectInto(async (window) => (await null, detach(target), Math.min(10, window.length)), target),
    stream: (target) => collectInto(Readable.from((function* () { yield 'abc'; detach(target); yield 'def' })()), target),
    shrunk: (target) => collectInto((window) => {
      target.buffer.resize(target.buffer.byteLength / 2)
      return Math.min(10, window.length)
    }, target),
    file: (target) => {
      const reading = collectInto({ fd }, target)
      detach(target)
      return reading
    },
  }
  for (const [name, way] of Object.entries(ways)) {
    const target = new Uint8Array(new ArrayBuffer(3_000_000, name === 'shrunk' ? { maxByteLength: 4_000_000 } : undefined))
    const error = await errorOf(() => way(target))
    assert.equal(error.code, 'ERR_BRIMFUL_CONTRACT', name)
    assert.equal(error.landed, 0, name)
  }
  const target = Buffer.alloc(100_000)
  const collector = new Collector({ target })
  const window = collector.reserve()
  detach(target)
  assert.equal(window.length, 0)
  for (const call of [() => collector.commit(5), () => collector.write('x'), () => collector.finish(), () => collector.end()]) {
    assert.throws(call, code('contract'))
  }
  assert.equal(collector.info().status, 'contract')
  assert.equal(collector.takePartial().length, 0)
})

test('a chunk that lies in the target, and a target that lies in a block, are read and written as they are', async () => {
  const target = Buffer.from('abcdefghij')
  function* overlapping() {
    yield target.subarray(2, 8)
    yield target.subarray(0, 4)
  }
  assert.equal(await collectInto(overlapping(), target), 10)
  assert.equal(String(target), 'cdefghcdef')

  const body = collectPooledSync([Buffer.alloc(1000, 1)], { pool: new Pool() })
  assert.equal(await collectInto(painted(10), body.asBuffer().subarray(5, 20)), 10)
  assert.deepEqual(body.toBuffer(), Buffer.concat([Buffer.alloc(5, 1), painted(10), Buffer.alloc(985, 1)]))
  body.release()
})

test('a stream that fails leaves what landed, and the collector tells how much', async () => {
  const own = new Error('mine')
  const target = Buffer.alloc(100, 0xee)
  const collector = new Collector({ target })
  const failing = Readable.from((function* () { yield painted(30); throw own })())
  assert.equal(await errorOf(() => collectInto(failing, target, { collector })), own)
  assert.equal(collector.info().length, 30)
  assertPainted(target.subarray(0, 30), 30)
  assert.ok(target.subarray(30).every((byte) => byte === 0xee))
  const partial = collector.takePartial()
  assertPainted(partial.asBuffer(), 30)
  partial.release()
})
