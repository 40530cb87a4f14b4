import assert from 'node:assert/strict'
import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { collect, collectPooledSync } from 'brimful'
import { assertPainted, folder, giver, inProcess, painted, pipe } from './helpers.mjs'

const program = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { Readable } = require('node:stream')
  const { Collector, collect, collectPooled, collectPooledSync, collectSync } = require('brimful')
  const ways = {
    answer() {
      const data = collectSync([Buffer.alloc(1000, 7), Buffer.alloc(1000, 8)])
      parentPort.postMessage(data, [data.buffer])
    },
    async forever() {
      parentPort.postMessage('ready')
      const chunk = Buffer.alloc(100_000, 1)
      for (let kept = []; ; kept = kept.slice(-20)) {
        kept.push(collectPooledSync([chunk, chunk], { limit: 1e6 }))
        kept.push(await collectPooled(Readable.from([chunk, chunk])))
        const open = new Collector()
        open.reserve()[0] = 1
        kept.push(open)
        kept.at(0).release?.()
      }
    },
    inside() {
      let calls = 0
      collectSync((window) => {
        if (calls++ === 10) parentPort.postMessage('ready')
        return window.length > 1e6 ? 0 : window.length
      }, { limit: 1e12, maxWindow: 65536 })
    },
  }
  ways[workerData]()
`
const start = (way) => new Worker(program, { eval: true, workerData: way })

test('each worker has its own state and may hand an exact result over', async () => {
  const workers = Array.from({ length: 4 }, () => start('answer'))
  const answers = await Promise.all(workers.map((worker) => once(worker, 'message')))
  for (const [answer] of answers) {
    assert.deepEqual(Buffer.from(answer), Buffer.concat([Buffer.alloc(1000, 7), Buffer.alloc(1000, 8)]))
  }
})

test('a worker may be terminated at any moment', async () => {
  for (const way of ['forever', 'inside']) {
    for (let i = 0; i < 8; i++) {
      const worker = start(way)
      await once(worker, 'message')
      await new Promise((resolve) => setTimeout(resolve, i * 7))
      await worker.terminate()
    }
  }
  const body = collectPooledSync(giver(1_000_000))
  assertPainted(body.asBuffer(), 1_000_000)
  body.release()
})

test('a worker is ended in mid-read 100 times, in every kind of read', async (t) => {
  const path = join(folder(t), 'body')
  writeFileSync(path, painted(20_000_000))
  const program = `
    const { openSync } = require('node:fs')
    const { Readable } = require('node:stream')
    const { parentPort, workerData: { way, path, pipe } } = require('node:worker_threads')
    const { collect, collectInto, collectPooled } = require('brimful')
    const { signal } = new AbortController()
    const never = () => new Promise(() => {})
    const ways = {
      file: () => collect({ fd: openSync(path) }),
      'file, pooled': () => collectPooled({ fd: openSync(path) }),
      'file, into': () => collectInto({ fd: openSync(path) }, Buffer.alloc(2e7)),
      'file, with a signal': () => collect({ fd: openSync(path) }, { signal }),
      pipe: () => collect({ fd: pipe }),
      callback: () => collect(never, { signal }),
      stream: () => collectPooled(Readable.from((async function* () { for (;;) yield Buffer.alloc(65536) })())),
      'byte stream': () => collect(new ReadableStream({ type: 'bytes', pull: (c) => { c.byobRequest.view[0] = 1; c.byobRequest.respond(1) } })),
      iterable: () => collectInto((async function* () { for (;;) yield Buffer.alloc(10) })(), Buffer.alloc(2 ** 28)),
      'many files': () => Promise.all(Array.from({ length: 8 }, () => collectPooled({ fd: openSync(path) }))),
    }
    const go = async () => {
      for (;;) await ways[way]()
    }
    parentPort.postMessage(Object.keys(ways))
    setInterval(() => {}, 1000) // nothing else may be left to wait for
    if (way) go()
  `
  const ends = pipe(t)
  const data = (way) => ({ eval: true, workerData: { way, path, pipe: ends.reader } })
  const first = new Worker(program, data(undefined))
  const [ways] = await once(first, 'message')
  await first.terminate()
  for (let i = 0; i < 100; i += 2) {
    await Promise.all([i, i + 1].map(async (number) => {
      const worker = new Worker(program, data(ways[number % ways.length]))
      await once(worker, 'message')
      await new Promise((resolve) => setTimeout(resolve, number % 13))
      assert.equal(await worker.terminate(), 1)
    }))
  }
  assertPainted(await collect({ fd: openSync(path) }), 20_000_000)
})

test('a process ends with bodies open, windows out and buffers held', async () => {
  const told = await inProcess(`
    import { Collector, collect, collectPooledSync } from 'brimful'
    globalThis.kept = [collectPooledSync(giver(1_000_000)), new Collector(), new Collector({ length: 10 })]
    kept[0].asBuffer()
    kept[1].reserve()
    kept[2].write('abc')
    collect(() => new Promise(() => {}))
    console.log('1')
  `)
  assert.equal(told, 1)
})
