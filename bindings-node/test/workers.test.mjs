import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { collectPooledSync } from 'brimful'
import { assertPainted, giver, inProcess } from './helpers.mjs'

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
