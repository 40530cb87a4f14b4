import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Collector, collect, collectInto, collectPooled } from 'brimful'
import { assertPainted, code, errorOf, painted, serving } from './helpers.mjs'

const SIZE = 1_000_000

/** Answers by path; the body is painted. */
function body(request, response) {
  const data = painted(SIZE)
  const ways = {
    '/length': () => response.writeHead(200, { 'content-length': SIZE }).end(data),
    '/chunked': () => {
      response.write(data.subarray(0, 1000))
      response.end(data.subarray(1000))
    },
    '/close': () => {
      request.socket.end(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n'), data]))
    },
    '/cut': () => {
      response.writeHead(200, { 'content-length': SIZE })
      response.write(data.subarray(0, SIZE / 2), () => setTimeout(() => request.socket.destroySoon(), 50))
    },
    '/cut-chunked': () => response.write(data.subarray(0, SIZE / 2), () => setTimeout(() => request.socket.destroySoon(), 50)),
    '/gzip': () => {
      const packed = gzipSync(data)
      response.writeHead(200, { 'content-length': packed.length, 'content-encoding': 'gzip' }).end(packed)
    },
    '/empty': () => response.writeHead(204).end(),
  }
  ways[request.url]()
}

async function message(url) {
  const [answer] = await once(get(url), 'response')
  return answer
}

const clients = { 'node:http': message, fetch }

for (const [name, client] of Object.entries(clients)) {
  test(`${name}: bodies with a length, in chunks and until close are read whole`, async (t) => {
    const { url } = await serving(t, body)
    for (const path of ['length', 'chunked', 'close']) {
      assertPainted(await collect(await client(url + path)), SIZE)
      const pooled = await collectPooled(await client(url + path), { limit: SIZE })
      assertPainted(pooled.asBuffer(), SIZE)
      pooled.release()
    }
    assert.equal((await collect(await client(`${url}empty`))).length, 0)
  })

  test(`${name}: an announced length is known before the first read: one allocation, nothing copied`, async (t) => {
    const { url } = await serving(t, body)
    const collector = new Collector()
    assertPainted(await collect(await client(`${url}length`), { collector }), SIZE)
    const { expected, allocations, copied } = collector.info()
    assert.deepEqual({ expected, allocations, copied }, { expected: SIZE, allocations: 1, copied: 0 })
  })

  test(`${name}: an announced length above the limit is refused before the first byte`, async (t) => {
    const { url } = await serving(t, body)
    const error = await errorOf(async () => collect(await client(`${url}length`), { limit: SIZE - 1 }))
    assert.deepEqual([error.code, error.received, error.expected], ['ERR_BRIMFUL_LIMIT', 0, SIZE])
    assert.equal(error.partial.length, 0)
    for (const path of ['chunked', 'close']) {
      const later = await errorOf(async () => collect(await client(url + path), { limit: SIZE - 1 }))
      assert.equal(later.code, 'ERR_BRIMFUL_LIMIT')
      assertPainted(later.partial.toBuffer(), SIZE - 1)
    }
  })

  test(`${name}: a connection that is cut before the announced length is short, with what came`, async (t) => {
    const { url } = await serving(t, body)
    const error = await errorOf(async () => collect(await client(`${url}cut`)))
    assert.deepEqual([error.code, error.received, error.expected], ['ERR_BRIMFUL_SHORT', SIZE / 2, SIZE])
    assert.ok(error.cause instanceof Error)
    assertPainted(error.partial.toBuffer(), SIZE / 2)
  })

  test(`${name}: a connection that is cut within chunks rejects with the client's own error`, async (t) => {
    const { url } = await serving(t, body)
    const collector = new Collector()
    const error = await errorOf(async () => collect(await client(`${url}cut-chunked`), { collector }))
    assert.equal(error.name === 'TypeError' ? error.cause.code : error.code, name === 'fetch' ? 'UND_ERR_SOCKET' : 'ECONNRESET')
    assertPainted(collector.takePartial().toBuffer(), SIZE / 2)
  })

  test(`${name}: the length of an encoded body is not that of what is read`, async (t) => {
    const { url } = await serving(t, body)
    const data = await collect(await client(`${url}gzip`))
    assert.equal(data.length, name === 'fetch' ? SIZE : gzipSync(painted(SIZE)).length)
  })

  test(`${name}: the answer to HEAD has a length and no body`, async (t) => {
    const { url } = await serving(t, body)
    const answer =
      name === 'fetch' ? await fetch(`${url}length`, { method: 'HEAD' }) : (await once(httpRequest(`${url}length`, { method: 'HEAD' }).end(), 'response'))[0]
    assert.equal((await collect(answer)).length, 0)
  })
}

test('a response that a program made is not held to its headers', async () => {
  const headers = { 'content-length': '5' }
  assert.equal((await collect(new Response('abc', { headers }))).length, 3)
  assert.equal((await collect(new Response('abcdefgh', { headers }))).length, 8)
})

test('a message that was read in part is not held to its length any more', async (t) => {
  const { url } = await serving(t, body)
  const answer = await message(`${url}length`)
  await once(answer, 'readable')
  const head = answer.read(100)
  assert.deepEqual(Buffer.concat([head, await collect(answer)]), painted(SIZE))
})

test('a request above the limit stays whole, and its client reads the 413, by 1 byte and by 10 MB (H45)', async (t) => {
  const limit = 100_000
  const ways = { collect, collectPooled, collectInto: (request, options) => collectInto(request, Buffer.alloc(limit), options) }
  for (const [name, read] of Object.entries(ways)) {
    let seen
    const { url } = await serving(t, async (request, response) => {
      seen = await read(request, { limit }).catch((error) => error)
      assert.equal(request.destroyed, false)
      assert.equal(request.isPaused(), true)
      response.writeHead(413, { connection: 'close' }).end('too large')
    })
    for (const over of [1, 10_000_000]) {
      for (const headers of [{ 'content-length': limit + over }, { 'transfer-encoding': 'chunked' }]) {
        const where = `${name}, ${over} bytes too many, ${Object.keys(headers)}`
        const request = httpRequest(url, { method: 'POST', headers })
        request.on('error', () => {}) // the server may close before all of the body was written
        const answered = once(request, 'response')
        request.end(painted(limit + over))
        const [answer] = await answered
        assert.equal(answer.statusCode, 413, where)
        assert.equal(String(await collect(answer)), 'too large', where)
        assert.equal(seen.code, 'ERR_BRIMFUL_LIMIT', where)
        assert.equal(seen.received === 0, 'content-length' in headers, where)
      }
    }
  }
})

test('a request with a limit on a connection that is kept: the next one is served too', async (t) => {
  const { url } = await serving(t, async (request, response) => {
    try {
      response.end(String((await collect(request, { limit: 10 })).length))
    } catch {
      response.writeHead(413).end()
      request.resume()
    }
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const sockets = new Set()
  for (const length of [10, 11, 5, 50_000, 10]) {
    const request = httpRequest(url, { method: 'POST', agent })
    request.on('socket', (socket) => sockets.add(socket))
    request.end(painted(length))
    const [answer] = await once(request, 'response')
    assert.equal(answer.statusCode, length > 10 ? 413 : 200)
    assert.equal(String(await collect(answer)), length > 10 ? '' : String(length))
  }
  assert.equal(sockets.size, 1)
})

test('a request is read whole, and the connection is kept', async (t) => {
  const { url } = await serving(t, async (request, response) => {
    response.end(String((await collectPooled(request, { limit: SIZE })).length))
  })
  for (let i = 0; i < 3; i++) {
    const answer = await fetch(url, { method: 'POST', body: painted(SIZE) })
    assert.equal(String(await collect(answer)), String(SIZE))
  }
})

test('a request whose client hangs up is short', async (t) => {
  let seen
  const served = new Promise((resolve) => {
    seen = resolve
  })
  const { port } = await serving(t, (request) => seen(errorOf(() => collect(request))))
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nabc')
  setTimeout(() => socket.destroy(), 100)
  const error = await served
  assert.deepEqual([error.code, error.received, error.expected], ['ERR_BRIMFUL_SHORT', 3, 100])
  assert.equal(error.cause.code, 'ECONNRESET')
})

test('a message that was aborted before it is read is short too', async (t) => {
  const { url } = await serving(t, body)
  const answer = await message(`${url}cut`)
  answer.on('error', () => {})
  await new Promise((resolve) => answer.on('aborted', resolve).resume())
  await assert.rejects(collect(answer), code('short'))
})

test("an abort is the caller's own error and not a short body", async (t) => {
  const { url } = await serving(t, body)
  const controller = new AbortController()
  const response = await fetch(`${url}cut`, { signal: controller.signal })
  controller.abort()
  assert.equal((await errorOf(() => collect(response))).name, 'AbortError')
})
