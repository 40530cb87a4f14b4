import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import { Collector, collect, collectPooled } from 'brimful'
import { assertPainted, code, errorOf, painted, pieces } from './helpers.mjs'

test('a stream that was destroyed, has failed or was read already rejects and never hangs', async () => {
  const own = new Error('mine')
  const destroyed = Readable.from(['a'])
  destroyed.destroy()
  await assert.rejects(collect(destroyed), code('state'))
  await once(destroyed, 'close')
  await assert.rejects(collect(destroyed), code('state'))

  const failed = new PassThrough()
  failed.on('error', () => {})
  failed.destroy(own)
  assert.equal(await errorOf(() => collect(failed)), own)
  await once(failed, 'close').catch(() => {})
  assert.equal(await errorOf(() => collect(failed)), own)

  const read = Readable.from(['a'])
  await collect(read)
  await assert.rejects(collect(read), code('state'))

  const response = new Response('a')
  await response.text()
  await assert.rejects(collect(response), code('state'))
  const locked = new Response('a')
  locked.body.getReader()
  await assert.rejects(collect(locked), code('state'))
})

test('a stream that fails or is closed while it is read rejects with its own error, or as short', async () => {
  const own = new Error('mine')
  const failing = new PassThrough()
  failing.write('abc')
  const failed = errorOf(() => collect(failing))
  setImmediate(() => failing.destroy(own))
  assert.equal(await failed, own)

  for (const options of [{}, { length: 10 }]) {
    const closing = new PassThrough()
    closing.write('abc')
    const closed = errorOf(() => collect(closing, options))
    setImmediate(() => closing.destroy())
    const error = await closed
    assert.deepEqual([error.code, error.received, error.expected], ['ERR_BRIMFUL_SHORT', 3, options.length])
    assert.equal(String(error.partial.toBuffer()), 'abc')
  }
})

test('a refused stream is destroyed once, and its listeners are gone', async () => {
  let destroyed = 0
  const stream = new Readable({
    read() {
      this.push('abc')
    },
    destroy(error, done) {
      destroyed++
      done(error)
    },
  })
  await assert.rejects(collect(stream, { limit: 100 }), code('limit'))
  assert.equal(destroyed, 1)
  for (const event of ['data', 'end', 'close']) assert.equal(stream.listenerCount(event), 0, event)
})

test('a stream that was read to its end keeps no listener', async () => {
  const stream = Readable.from(['abc'])
  await collect(stream)
  for (const event of ['data', 'end', 'close', 'error']) assert.equal(stream.listenerCount(event), 0, event)
})

test('a paused stream is resumed', async () => {
  const stream = new PassThrough()
  stream.pause()
  stream.end('abc')
  assert.equal(String(await collect(stream)), 'abc')
})

test('a web stream is cancelled once with the error, and not when it ended', async () => {
  const reasons = []
  const source = { pull: (controller) => controller.enqueue(new Uint8Array(5)), cancel: (reason) => void reasons.push(reason) }
  const error = await errorOf(() => collect(new ReadableStream(source), { limit: 12 }))
  assert.deepEqual(reasons, [error])
  const ended = new ReadableStream({ start: (controller) => controller.close(), cancel: () => assert.fail('cancelled') })
  assert.equal((await collect(ended)).length, 0)
})

test('a socket stops at the length and keeps what follows for the next reader', async (t) => {
  const server = createServer((socket) => socket.end(painted(1000)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const socket = connect(server.address().port, '127.0.0.1')
  await once(socket, 'connect')
  assertPainted(await collect(socket, { length: 600 }), 600)
  assert.equal(socket.destroyed, false)
  const rest = await collectPooled(socket)
  assert.deepEqual(Buffer.concat([painted(600), rest.asBuffer()]), painted(1000))
  rest.release()
})

test('any stream stops at the length where that is asked for', async () => {
  const stream = Readable.from(pieces(1000, 300))
  assertPainted(await collect(stream, { length: 500, end: 'length' }), 500)
  assert.deepEqual(await collect(stream, { length: 500 }), painted(500, 500))
})

test('bodies that share one stream never show in each other', async () => {
  const stream = new PassThrough()
  const sizes = Array.from({ length: 200 }, (_, i) => (i * 37) % 500)
  const collected = (async () => {
    for (const [i, length] of sizes.entries()) {
      const data = await collect(stream, { length, end: 'length' })
      assert.deepEqual(data, Buffer.alloc(length, i))
    }
  })()
  const all = Buffer.concat(sizes.map((length, i) => Buffer.alloc(length, i)))
  for (let at = 0; at < all.length; at += 129) stream.write(all.subarray(at, at + 129))
  await collected
})

test('cancel stops a stream that says nothing, and is seen by the others at their next answer', async () => {
  const silent = new PassThrough()
  const collector = new Collector()
  const reading = errorOf(() => collector.readAsync(silent))
  setImmediate(() => collector.cancel())
  assert.equal((await reading).code, 'ERR_BRIMFUL_CANCELLED')
  assert.equal(silent.destroyed, true)

  let cancelled = 0
  const web = new ReadableStream({ cancel: () => void cancelled++ })
  const other = new Collector()
  const waiting = errorOf(() => other.readAsync(web))
  setImmediate(() => other.cancel())
  assert.equal((await waiting).code, 'ERR_BRIMFUL_CANCELLED')
  assert.equal(cancelled, 1)

  const third = new Collector()
  async function* cancelling() {
    yield 'abc'
    third.cancel()
    yield 'def'
    assert.fail('asked again')
  }
  assert.equal((await errorOf(() => third.readAsync(cancelling()))).code, 'ERR_BRIMFUL_CANCELLED')
  assert.equal(String(third.takePartial().toBuffer()), 'abcdef')

  const before = new Collector()
  before.cancel()
  const stream = Readable.from(['abc'])
  await assert.rejects(before.readAsync(stream), code('cancelled'))
  assert.equal(stream.destroyed, true)
})

test('a collector that is being read into is busy, but can be looked at', async () => {
  const stream = new PassThrough()
  const collector = new Collector()
  const reading = collector.readAsync(stream)
  stream.write('abc')
  await new Promise(setImmediate)
  for (const call of [() => collector.write('x'), () => collector.finish(), () => collector.reset(), () => collector.read(() => 0)]) {
    assert.throws(call, code('busy'))
  }
  await assert.rejects(collector.readAsync(['x']), code('busy'))
  assert.equal(collector.info().received, 3)
  const soFar = Buffer.alloc(3)
  assert.equal(collector.copy(0, soFar), 3)
  assert.equal(String(soFar), 'abc')
  stream.end('def')
  assert.equal(await reading, true)
  assert.equal(String(collector.finish()), 'abcdef')
})

test('chunks of all sizes that a stream gives are put together in order', async () => {
  const sizes = [1, 5000, 3, 3, 70_000, 4096, 4095, 1, 65_536, 10, 200_000, 65_535, 65_537]
  const total = sizes.reduce((sum, size) => sum + size, 0)
  function* chunks(make) {
    let at = 0
    for (const size of sizes) {
      yield make(painted(size, at))
      at += size
    }
  }
  const makes = {
    whole: (bytes) => bytes,
    'part of more': (bytes) => Buffer.concat([Buffer.alloc(300_000), bytes]).subarray(300_000),
    'another view': (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  }
  for (const make of Object.values(makes)) {
    const streams = [() => Readable.from(chunks(make)), () => ReadableStream.from(chunks(make))]
    for (const stream of streams) {
      const data = await collect(stream())
      assertPainted(data, total)
      assert.deepEqual([data.byteOffset, data.buffer.byteLength], [0, total])
      for (const limit of [0, 1, 5000, 5003, 79_000, total - 1]) {
        const error = await errorOf(() => collect(stream(), { limit }))
        assert.deepEqual([error.code, error.partial.length, error.partial.info().length], ['ERR_BRIMFUL_LIMIT', limit, limit])
        assert.match(error.message, new RegExp(`the first ${limit} can be taken`))
        const small = Buffer.from('a view of the pool of small buffers')
        assertPainted(error.partial.asBuffer(), limit)
        error.partial.release()
        assert.equal(String(small), 'a view of the pool of small buffers')
        assertPainted(await collect(stream(), { limit, truncate: true }), limit)
      }
    }
  }
})

test('a chunk that is detached after the stream has given it is a breach of contract', async () => {
  const chunk = painted(10_000)
  const stream = new PassThrough()
  const reading = errorOf(() => collect(stream))
  stream.write(chunk)
  await new Promise(setImmediate)
  structuredClone(chunk.buffer, { transfer: [chunk.buffer] })
  stream.end('abc')
  assert.equal((await reading).code, 'ERR_BRIMFUL_CONTRACT')
})
