// The names of node:stream/consumers, and text of HTTP messages in the charset of their header.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import * as core from 'node:stream/consumers'
import { test } from 'node:test'
import { collectText } from 'brimful'
import * as ours from 'brimful/consumers'
import { code, serving } from './helpers.mjs'

test('each consumer gives what Node s own gives, where the two are to agree', async () => {
  const bodies = [
    [], ['a'], [Buffer.from('a€😀é')], [Buffer.from('\ufeffmark')], [Buffer.from('\ufeff\ufefftwo')], [Buffer.from([97, 255, 98])], [Buffer.from([0xe2, 0x82]), Buffer.from([0xac])],
    [Buffer.from([0xf0, 0x9f])], ['déjà', Buffer.from(' vu')], [new Uint8Array([49, 50])], [Buffer.alloc(300_000, 'x'), Buffer.from('é')],
  ]
  for (const body of bodies) {
    const streams = () => [Readable.from(body), new Blob(body).stream()]
    for (const index of [0, 1]) {
      assert.equal(await ours.text(streams()[index]), await core.text(streams()[index]))
      assert.deepEqual(await ours.buffer(streams()[index]), await core.buffer(streams()[index]))
      assert.deepEqual(await ours.arrayBuffer(streams()[index]), await core.arrayBuffer(streams()[index]))
      assert.deepEqual(await ours.bytes(streams()[index]), new Uint8Array(await core.arrayBuffer(streams()[index])))
    }
  }
  const value = { a: ['é€😀', 1.5, null] }
  assert.deepEqual(await ours.json(Readable.from([JSON.stringify(value)])), await core.json(Readable.from([JSON.stringify(value)])))
  await assert.rejects(ours.json(Readable.from(['{'])), SyntaxError)
})

test('consumers take the options of brimful, and bytes are a Uint8Array of their own', async () => {
  await assert.rejects(ours.buffer(Readable.from(['abc']), { limit: 2 }), { ...code('limit'), limit: 2 })
  await assert.rejects(ours.text(Readable.from(['abc']), { length: 4 }), code('short'))
  assert.equal(await ours.text(Readable.from([Buffer.from([0xe9])]), { encoding: 'latin1' }), 'é')
  const bytes = await ours.bytes(Readable.from(['abc']))
  assert.equal(Object.getPrototypeOf(bytes), Uint8Array.prototype)
  assert.equal(bytes.buffer.byteLength, 3)
  assert.equal((await ours.arrayBuffer(Readable.from(['abc']))).byteLength, 3)
})

const TEXT = 'naïve café, ÿ, line\r\nby line '.repeat(2000)
/** A Content-Type, and the encoding that the body is in; what names no encoding is none, and then it is UTF-8. */
const HEADERS = [
  ['text/plain; charset=utf-8', 'utf8'],
  ['text/plain;charset=latin1', 'latin1'],
  ['text/plain; charset=ISO-8859-1', 'latin1'],
  ['text/html; charset="windows-1252"', 'latin1'],
  ["text/html; Charset='UTF-8'", 'utf8'],
  ['TEXT/HTML ; boundary=x ; charset=utf-16le ; charset=latin1', 'utf16le'],
  ['text/html; title="a; charset=latin1"; charset=utf-16le', 'utf16le'],
  ['text/html; charset=', 'utf8'],
  ['text/html; charset=no-such-charset', 'utf8'],
  ['no slash; charset=latin1', 'utf8'],
  ['application/json', 'utf8'],
  [undefined, 'utf8'],
]

test('a response and a request are read in the charset of their header', async (t) => {
  const seen = []
  const { url } = await serving(t, (request, response) => {
    const [type, encoding] = HEADERS[Number(request.headers['x-index'])]
    if (request.method === 'POST') {
      seen.push(collectText(request).then((text) => {
        response.end(String(text === TEXT))
      }))
      return
    }
    if (type !== undefined) response.setHeader('content-type', type)
    response.end(Buffer.from(TEXT, encoding))
  })
  for (const [index, [type, encoding]] of HEADERS.entries()) {
    const headers = { 'x-index': index }
    const [message] = await once(get(url, { headers }), 'response')
    assert.equal(await collectText(message), TEXT, type)
    assert.equal(await collectText(await fetch(url, { headers })), TEXT, type)
    assert.equal(await ours.text(await fetch(url, { headers })), TEXT, type)
    assert.equal(await collectText(new Blob([Buffer.from(TEXT, encoding)], { type: type ?? '' })), TEXT, type)
    const request = new Request(url, { method: 'POST', body: Buffer.from(TEXT, encoding), headers: type === undefined ? {} : { 'content-type': type } })
    assert.equal(await collectText(request), TEXT, type)
    const sending = httpRequest(url, { method: 'POST', headers: { ...headers, ...(type === undefined ? {} : { 'content-type': type }) } })
    sending.end(Buffer.from(TEXT, encoding))
    const [answer] = await once(sending, 'response')
    assert.equal(await collectText(answer), 'true', type)
  }
  await Promise.all(seen)
})

test('an encoding that was given wins over the header', async (t) => {
  const { url } = await serving(t, (request, response) => {
    response.setHeader('content-type', 'text/plain; charset=utf-8')
    response.end(Buffer.from(TEXT, 'latin1'))
  })
  assert.equal(await collectText(await fetch(url), { encoding: 'latin1' }), TEXT)
  await assert.rejects(collectText(await fetch(url), { fatal: true }), { ...code('encoding'), offset: TEXT.indexOf('ï') })
})

test('a message that decodes itself is not decoded a second time', async (t) => {
  const { url } = await serving(t, (request, response) => {
    response.setHeader('content-type', 'text/plain; charset=latin1')
    response.end(Buffer.from(TEXT, 'latin1'))
  })
  const [message] = await once(get(url), 'response')
  message.setEncoding('latin1')
  assert.equal(await collectText(message), TEXT)
})
