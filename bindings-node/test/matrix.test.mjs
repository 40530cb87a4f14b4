// Every kind of source x every result x what is announced x the limit: one outcome for each column (E16).
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { openSync, closeSync, writeFileSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { get } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { collect, collectInto, collectPooled } from 'brimful'
import { assertPainted, folder, giver, painted, pieces, pipe, serving } from './helpers.mjs'

const N = 50_000
const EACH = 7_000

async function* later() {
  for (const piece of pieces(N, EACH)) {
    await null
    yield piece
  }
}

const byteStream = () => {
  const left = pieces(N, EACH)
  return new ReadableStream({
    type: 'bytes',
    pull(controller) {
      const { done, value } = left.next()
      if (done) controller.close()
      else controller.enqueue(new Uint8Array(value))
      if (done) controller.byobRequest?.respond(0)
    },
  })
}

const chunkStream = () => {
  const left = pieces(N, EACH)
  return new ReadableStream({
    pull(controller) {
      const { done, value } = left.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}

/** Real servers and files; each source is made anew for each case, and what it needs is closed after the test. */
async function makers(t) {
  const { url } = await serving(t, (request, response) => {
    for (const piece of pieces(N, EACH)) response.write(piece)
    response.end()
  })
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(painted(N))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const path = join(folder(t), 'body')
  writeFileSync(path, painted(N))
  const opened = []
  t.after(() => {
    for (const close of opened) close()
  })
  const socket = async () => {
    const client = connect({ port: server.address().port, host: '127.0.0.1' })
    client.pause()
    await once(client, 'connect')
    opened.push(() => client.destroy())
    return client
  }
  return {
    'a Readable': () => Readable.from(pieces(N, EACH)),
    'an answer of node:http': async () => (await once(get(url, { agent: false }), 'response'))[0],
    'a socket': socket,
    'a web stream': chunkStream,
    'a byte stream': byteStream,
    'a fetched Response': () => fetch(url),
    'a Response': () => new Response(painted(N)),
    'a Request': () => new Request('http://127.0.0.1/', { method: 'POST', body: painted(N) }),
    'a Blob': () => new Blob([...pieces(N, EACH)]),
    'an async iterable': later,
    'an iterable': () => pieces(N, EACH),
    'a chunk': () => painted(N),
    'a FileHandle': async () => {
      const handle = await open(path)
      opened.push(() => handle.close())
      return handle
    },
    'a descriptor of a file': () => {
      const fd = openSync(path)
      opened.push(() => closeSync(fd))
      return { fd }
    },
    'a descriptor of a pipe': () => {
      const ends = pipe(t)
      writeSync(ends.writer, painted(N))
      ends.closeWriter()
      return { fd: ends.reader }
    },
    'a descriptor of a socket': async () => ({ fd: (await socket())._handle.fd }),
    'a callback': () => giver(N, EACH),
    'an async callback': () => {
      const give = giver(N, EACH)
      return async (window) => give(window)
    },
  }
}

const KEPT = 13 // bytes of the target around the body's place

const results = {
  exact: async (source, options) => {
    try {
      const data = await collect(source, options)
      return { status: 'ok', data }
    } catch (error) {
      return { status: error.code, error, data: error.partial?.toBuffer() }
    }
  },
  pooled: async (source, options) => {
    try {
      const body = await collectPooled(source, options)
      const data = body.toBuffer()
      body.release()
      return { status: 'ok', data }
    } catch (error) {
      return { status: error.code, error, data: error.partial?.toBuffer() }
    }
  },
  into: async (source, options) => {
    const memory = Buffer.alloc(N + 100 + 2 * KEPT, 0xee)
    const target = memory.subarray(KEPT, -KEPT)
    let outcome
    try {
      outcome = { status: 'ok', landed: await collectInto(source, target, options) }
    } catch (error) {
      outcome = { status: error.code, error, landed: error.landed }
    }
    const { landed } = outcome
    assert.ok(memory.subarray(0, KEPT).every((byte) => byte === 0xee), 'bytes before the target changed')
    assert.ok(memory.subarray(KEPT + landed).every((byte) => byte === 0xee), 'bytes behind the body changed')
    return { ...outcome, data: target.subarray(0, landed) }
  },
}

const announced = { 'no length': {}, 'a hint': { sizeHint: N }, 'a length': { length: N } }

test('every source, result and announcement has the outcome that its limit says (H16, H18, H19)', async (t) => {
  const sources = await makers(t)
  for (const [name, source] of Object.entries(sources)) {
    await t.test(name, async () => {
      for (const [kind, read] of Object.entries(results)) {
        for (const [what, options] of Object.entries(announced)) {
          for (const limit of [0, N - 1, N, N + 1]) {
            const outcome = await read(await source(), { ...options, limit })
            const where = `${kind}, ${what}, limit ${limit}: ${outcome.error?.message}`
            if (limit >= N) {
              assert.equal(outcome.status, 'ok', where)
              assertPainted(outcome.data, N)
              continue
            }
            assert.equal(outcome.status, 'ERR_BRIMFUL_LIMIT', where)
            assert.equal(outcome.error.limit, limit, where)
            const refused = options.length !== undefined // before the first byte (E14)
            assertPainted(outcome.data, refused ? 0 : limit)
            assert.equal(outcome.error.received > limit, !refused, where)
          }
        }
      }
    })
  }
})
