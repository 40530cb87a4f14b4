// What a source may do with what it has given, and with itself, while a body's bytes are put by (lib/gather.js).
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { collect, collectSync, collectText, collectTextSync } from 'brimful'
import { code, errorOf, inProcess } from './helpers.mjs'

const bytesFrom = (value, length) => new Uint8Array(length).fill(value)

/** A web stream that gives what `chunks` gives. */
const web = (chunks) => new ReadableStream({
  pull(controller) {
    const { value, done } = chunks.next()
    if (done) controller.close()
    else controller.enqueue(value)
  },
}, { highWaterMark: 0 })

/** One of Node's that has handed each chunk on before it asks for the next one. */
const object = (chunks) => new Readable({
  objectMode: true,
  read() {
    setImmediate(() => {
      const { value, done } = chunks.next()
      this.push(done ? null : value)
    })
  },
})

const STREAMS = { 'web stream': web, 'object stream': object }

for (const name in STREAMS) {
  test(`${name}: a source that fills the same small memory again changes nothing that it gave`, async () => {
    const memory = new Uint8Array(1000)
    const again = function* () {
      for (const letter of 'abc') yield memory.fill(letter.charCodeAt(0))
    }
    const expected = 'a'.repeat(1000) + 'b'.repeat(1000) + 'c'.repeat(1000)
    assert.ok((await collectText(STREAMS[name](again()))) === expected)
    assert.ok((await collect(STREAMS[name](again()))).toString() === expected)
  })

  test(`${name}: memory that is resized afterwards changes nothing that came`, async () => {
    for (const length of [10, 5000, 100_000]) {
      for (const to of [0, 5, 2 * length]) {
        const memory = new ArrayBuffer(length, { maxByteLength: 2 * length })
        new Uint8Array(memory).fill(97)
        const resized = function* () {
          yield new Uint8Array(memory)
          memory.resize(to)
          yield bytesFrom(98, 3)
        }
        assert.ok((await collectText(STREAMS[name](resized()))) === `${'a'.repeat(length)}bbb`, `${length} to ${to}`)
      }
    }
  })
}

test('a stream that is destroyed after its chunk was resized fails as short, with what came', async () => {
  for (const length of [10, 5000]) {
    const memory = new ArrayBuffer(length, { maxByteLength: 50_000 })
    new Uint8Array(memory).fill(97)
    const stream = new Readable({ objectMode: true, read() {} })
    const reading = collect(stream)
    stream.push(new Uint8Array(memory))
    await new Promise(setImmediate)
    memory.resize(50_000)
    stream.destroy()
    const error = await errorOf(() => reading)
    assert.equal(error.code, 'ERR_BRIMFUL_SHORT')
    assert.equal(error.partial.toBuffer().toString(), 'a'.repeat(length))
  }
})

test('bytes that say two lengths of themselves show nothing of an earlier body', async () => {
  assert.equal(collectTextSync(['secret'.repeat(100)]), 'secret'.repeat(100))
  const lying = () => {
    let asked = 0
    return Object.defineProperty(Buffer.from('AB'), 'length', { get: () => (asked++ === 0 ? 2 : 300) })
  }
  assert.equal(collectTextSync([lying()]), 'AB')
  assert.equal(collectSync([lying()]).toString(), 'AB')
  assert.equal(await collectText(Readable.from([lying()])), 'AB')
})

test('a chunk is a chunk, whatever else it looks like', async () => {
  class Chunk extends Uint8Array {
    async *[Symbol.asyncIterator]() {
      yield 'not this'
    }
  }
  const like = (properties) => Object.assign(new Uint8Array([65]), properties)
  const chunks = [Chunk.of(65), like({ fd: 0 }), like({ getReader() {}, cancel() {} }), like({ on() {}, pipe() {}, read() {} })]
  for (const chunk of chunks) {
    assert.equal(await collectText(chunk), 'A')
    assert.equal(collectTextSync(chunk), 'A')
  }
})

test('a web stream that was read to its end is free again', async () => {
  const streams = {
    plain: () => web([bytesFrom(97, 3)].values()),
    bytes: () => new ReadableStream({ type: 'bytes', start(controller) { controller.enqueue(bytesFrom(97, 3)); controller.close() } }),
    response: () => new Response('aaa').body,
  }
  for (const name in streams) {
    for (const call of [collect, collectText]) {
      const stream = streams[name]()
      assert.equal((await call(stream)).toString(), 'aaa', name)
      assert.equal(stream.locked, false, name)
      await stream.cancel()
      const late = streams[name]()
      await assert.rejects(call(late, { length: 4 }), code('short'))
      assert.equal(late.locked, false, name)
    }
  }
})

test("Node's own web streams are read where a program has taken the globals away", async () => {
  const text = await inProcess(`
    import { ReadableStream } from 'node:stream/web'
    for (const name of Object.getOwnPropertyNames(globalThis)) if (/Stream/.test(name)) delete globalThis[name]
    const { collectText } = await import('brimful')
    console.log(JSON.stringify(await collectText(new ReadableStream({ start(controller) { controller.enqueue(Buffer.from('abc')); controller.close() } }))))
  `)
  assert.equal(text, 'abc')
})

test('bodies that wait with a few bytes hold a few kilobytes each', async () => {
  const { before, open, whole } = await inProcess(`
    import { collectText } from 'brimful'
    let go
    const held = new Promise((resolve) => { go = resolve })
    async function* slow() { yield Buffer.from('abc'); yield Buffer.from('def'); await held }
    const memory = () => { gc(); return process.memoryUsage().external }
    const before = memory()
    const all = Array.from({ length: 2000 }, () => collectText(slow()))
    await new Promise((resolve) => setTimeout(resolve, 50))
    const open = memory()
    go()
    const whole = (await Promise.all(all)).every((text) => text === 'abcdef')
    console.log(JSON.stringify({ before, open, whole }))
  `, '--expose-gc')
  assert.ok(whole)
  assert.ok(open - before < 2000 * 16_384, `${open - before} bytes for 2000 bodies`)
})

test('what came, and was detached by somebody since, is never shown as other memory', async () => {
  const stream = new Readable({ read() {} })
  const reading = collect(stream)
  stream.push('a'.repeat(3000))
  setImmediate(() => stream.destroy())
  const { partial } = await errorOf(() => reading)
  const { buffer } = partial.asBuffer()
  structuredClone(buffer, { transfer: [buffer] })
  for (const look of ['toBuffer', 'text', 'segments']) assert.throws(() => partial[look](), code('contract'), look)
})

test('a text for which there is no room of two bytes a byte is made in what it needs', async () => {
  const { units } = await inProcess(`
    import { execFileSync } from 'node:child_process'
    import { readFileSync } from 'node:fs'
    import { collectText } from 'brimful'
    const body = Buffer.alloc(150e6, '日本語')
    function* chunks() { for (let at = 0; at < body.length; at += 1e6) yield body.subarray(at, at + 1e6) }
    const stream = (left) => new ReadableStream({ pull(controller) { const { value, done } = left.next(); done ? controller.close() : controller.enqueue(value) } })
    await collectText(stream(chunks()))
    gc()
    const size = 1024 * Number(/VmSize:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1])
    execFileSync('prlimit', ['--pid', process.pid, '--as=' + (size + 220e6)])
    console.log(JSON.stringify({ units: (await collectText(stream(chunks()))).length }))
  `, '--expose-gc')
  assert.equal(units, 50e6)
})
