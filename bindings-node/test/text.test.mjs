// Text and JSON: the table that every language's text is held against, encodings by their labels, where strings come from,
// limits, and what errors carry (E16, E36, E41 to E43).
import assert from 'node:assert/strict'
import { constants } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { open, writeFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { Collector, Pool, collectJson, collectPooled, collectPooledSync, collectText, collectTextSync } from 'brimful'
import { code, errorOf, folder, inProcess, wrongType } from './helpers.mjs'

const TABLES = new URL('../../../tests/text/', import.meta.url)
const tableOf = (name) => JSON.parse(readFileSync(new URL(name, TABLES), 'utf8'))

/** Each width that strings have, NUL among them. */
const UNITS = { ASCII: 'line\r\nby line\0', 'Latin-1': 'déjà vu\0ÿ ', 'two bytes': 'a€日本\0é', pairs: 'a€😀é\0' }
const chunksOf = (bytes, each) => Array.from({ length: Math.ceil(bytes.length / each) }, (_, index) => bytes.subarray(index * each, (index + 1) * each))

/** What came of decoding, in one line. */
function outcome(decode) {
  try {
    return `text ${Buffer.from(decode(), 'utf8').toString('hex')}`
  } catch (error) {
    if (error.code === 'ERR_BRIMFUL_ENCODING') return `fault at ${error.offset}`
    return error.code
  }
}

function expectedOf({ status, utf8, offset }) {
  if (status === 'ok') return `text ${utf8}`
  return status === 'encoding' ? `fault at ${offset}` : 'ERR_BRIMFUL_INVALID'
}

test('every case of the table is decoded alike whole and cut in every place', () => {
  const cases = tableOf('cases.json')
  assert.ok(cases.length > 1500)
  for (const one of cases) {
    const bytes = Buffer.from(one.bytes, 'hex')
    const options = { encoding: one.encoding, fatal: one.errors === 'strict' }
    const expected = expectedOf(one)
    assert.equal(outcome(() => collectTextSync(bytes, options)), expected, one.why)
    assert.equal(outcome(() => collectTextSync(chunksOf(bytes, 1), options)), expected, one.why)
    const pooled = collectPooledSync(bytes)
    assert.equal(outcome(() => pooled.text(options)), expected, one.why)
    pooled.release()
  }
})

test('every case of the table is decoded alike from chunks that are kept, and from blocks that end within it', async () => {
  const cases = tableOf('cases.json').filter((one, index) => index % 5 === 0)
  for (const one of cases) {
    const bytes = Buffer.from(one.bytes, 'hex')
    const options = { encoding: one.encoding, fatal: one.errors === 'strict' }
    for (let cut = 0; cut <= Math.min(bytes.length, 9); cut++) {
      const came = await collectText(Readable.from([bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length > 0)), options)
        .then((text) => outcome(() => text), (error) => outcome(() => { throw error }))
      assert.equal(came, expectedOf(one), `${one.why}, cut at ${cut}`)
    }
    for (let cut = 1; cut < Math.min(bytes.length, 9); cut++) {
      // Behind zeros, which are a character everywhere, the first block ends `cut` bytes within.
      const body = Buffer.concat([Buffer.alloc(4096 - cut), bytes])
      const pooled = collectPooledSync([body.subarray(0, 4096), body.subarray(4096)], { firstBlock: 4096, pool: new Pool({ memory: 'list' }) })
      assert.equal(pooled.segments().length, 2)
      assert.equal(outcome(() => pooled.text(options)), outcome(() => collectTextSync(body, options)), `${one.why}, block cut at ${cut}`)
    }
  }
})

test('every label of the Encoding Standard names its encoding, in any case, in quotes and white space', () => {
  let labels = 0
  for (const [name, all] of Object.entries(tableOf('labels.json'))) {
    for (const label of all) {
      labels++
      for (const written of [label, label.toUpperCase(), ` \t${label}\n`, `"${label}"`, `' ${label} '`]) {
        assert.equal(collectTextSync('', { encoding: written }), '', name)
      }
    }
  }
  assert.equal(labels, 228)
})

for (const [name, unit] of Object.entries(UNITS)) {
  test(`${name}: text comes from every kind of source`, async (t) => {
    const text = unit.repeat(40_000)
    const bytes = Buffer.from(text)
    const path = join(folder(t), 'text')
    await writeFile(path, bytes)
    const file = await open(path)
    let at = 0
    const callback = (window) => {
      const filled = bytes.copy(window, 0, at, at + 10_007)
      at += filled
      return filled
    }
    const sources = [
      text, bytes, new Uint8Array(bytes).buffer, [bytes], chunksOf(bytes, 1001), Readable.from(chunksOf(bytes, 65_536)), Readable.from(chunksOf(bytes, 999)),
      new Response(bytes), new Blob([bytes]), new Blob([bytes]).stream(), file, callback, (async function* () { yield* chunksOf(bytes, 5003) })(), [text.slice(0, 5), text.slice(5)],
      Readable.from([bytes.subarray(0, 3), bytes.subarray(3)]).setEncoding('utf8'),
    ]
    for (const source of sources) assert.equal(await collectText(source), text)
    await file.close()
    const pooled = await collectPooled(chunksOf(bytes, 1001))
    assert.equal(pooled.text(), text)
    assert.equal(pooled.subarray(3, -2).text(), bytes.subarray(3, -2).toString())
    assert.equal(pooled.text({ encoding: 'latin1' }).length, bytes.length)
    const collector = new Collector({ result: 'pooled' })
    for (const chunk of chunksOf(bytes, 999)) collector.write(chunk)
    collector.end()
    assert.equal(await collectText([], { collector }), text)
  })

  test(`${name}: text of every length is right, also in UTF-16 and UTF-32`, () => {
    for (const length of [0, 1, 2, 15, 16, 17, 1023, 1024, 1025, 4096, 65_537, 262_143, 262_144, 262_145, 600_000]) {
      const text = unit.repeat(Math.ceil(length / unit.length)).slice(0, length).toWellFormed?.() ?? unit.repeat(Math.ceil(length / unit.length))
      assert.equal(collectTextSync(chunksOf(Buffer.from(text), 60_001)), text)
      assert.equal(collectTextSync(Buffer.from(text, 'utf16le'), { encoding: 'utf-16le' }), text)
      const utf32 = Buffer.alloc(4 * [...text].length)
      ;[...text].forEach((character, index) => utf32.writeUInt32BE(character.codePointAt(0), 4 * index))
      assert.equal(collectTextSync(utf32, { encoding: 'utf-32be' }), text)
    }
  })
}

test('a mark is dropped where it matches and overrides nothing that was given', () => {
  assert.equal(collectTextSync('\ufeffa'), 'a')
  assert.equal(collectTextSync('\ufeff\ufeffa'), '\ufeffa')
  assert.equal(collectTextSync(Buffer.from('\ufeffa', 'utf16le')), 'a')
  assert.equal(collectTextSync(Buffer.from('\ufeffa', 'utf16le'), { encoding: 'utf-16' }), 'a')
  assert.equal(collectTextSync('\ufeffa', { encoding: 'windows-1252' }), 'ï»¿a')
  assert.equal(collectTextSync(Buffer.from([0x80, 0x81]), { encoding: 'latin1' }), '€\x81', 'latin1 is windows-1252 in the Encoding Standard')
})

test('a fault is U+FFFD, or with fatal an error that tells where and keeps the body', async () => {
  const bytes = Buffer.from('ab€', 'utf8').subarray(0, 4)
  assert.equal(await collectText(Readable.from([bytes])), 'ab\ufffd')
  const collector = new Collector()
  for (const [source, options] of [[Readable.from([bytes]), {}], [[bytes], {}], [bytes, {}], [Readable.from([bytes]), { collector }], [new Response(bytes), {}]]) {
    const error = await errorOf(() => collectText(source, { fatal: true, ...options }))
    assert.deepEqual({ name: error.name, code: error.code, offset: error.offset }, { ...code('encoding'), offset: 2 })
    assert.match(error.message, /offset 2.*UTF-8/)
    assert.deepEqual(error.partial.toBuffer(), bytes)
  }
  const pooled = collectPooledSync(bytes)
  assert.throws(() => pooled.text({ fatal: true }), { ...code('encoding'), offset: 2 })
  assert.equal(pooled.text(), 'ab\ufffd')
  pooled.release()
  assert.throws(() => pooled.text(), code('state'))
  assert.throws(() => pooled.json(), code('state'))
})

test('a name of nothing and options of the wrong kind are refused before the source is read', async () => {
  const asked = () => assert.fail('the source was asked')
  for (const encoding of ['no such encoding', '', 'utf-8;', 'utf\0-8', 'é', 'x'.repeat(100_000)]) {
    assert.throws(() => collectTextSync(asked, { encoding }), code('invalid'))
    await assert.rejects(collectText(asked, { encoding }), code('invalid'))
  }
  assert.throws(() => collectTextSync(asked, { encoding: 'nope' }), /"nope"/)
  for (const options of [{ encoding: 8 }, { encoding: {} }, { fatal: 1 }, { fatal: 'yes' }, { encodng: 'utf-8' }]) {
    assert.throws(() => collectTextSync(asked, options), wrongType)
    await assert.rejects(collectJson(asked, options), wrongType)
    assert.throws(() => collectPooledSync('x').text(options), wrongType)
  }
  assert.throws(() => collectPooledSync('x', { encoding: 'utf-8' }), wrongType, 'bytes have no encoding')
})

test('limits, lengths and truncation count bytes, with one outcome for every cut', async () => {
  const bytes = Buffer.concat([Buffer.from('é€😀'), Buffer.from([0xff]), Buffer.from('a')])
  const came = async (source, options) => {
    try {
      return await collectText(source, options)
    } catch (error) {
      return `${error.code} ${error.offset} ${error.partial?.length}`
    }
  }
  for (const fatal of [false, true]) {
    for (const more of [{ length: bytes.length }, { length: bytes.length + 1 }, {}, ...[0, 3, 8, 9, 10, 11, 12].flatMap((limit) => [{ limit }, { limit, truncate: true }])]) {
      const options = { ...more, fatal }
      const expected = await came(bytes, options)
      for (let each = 1; each <= bytes.length; each++) {
        const chunks = chunksOf(bytes, each)
        for (const source of [chunks, (async function* () { yield* chunks })(), new Response(new Blob(chunks))]) {
          // What came of a chunk beyond the limit is cut in the same place (E13).
          assert.equal(await came(source, options), expected, JSON.stringify(options))
        }
        assert.equal(await came(Readable.from(chunks), options), expected, JSON.stringify(options))
      }
    }
  }
  await assert.rejects(collectText(Readable.from([bytes]), { limit: 10 }), { ...code('limit'), limit: 10 })
  await assert.rejects(collectText(Readable.from([bytes]), { length: 12 }), { ...code('short'), expected: 12, received: 11 })
})

test('a text that no string can hold is an error that says the longest, and keeps the body', { skip: totalmem() < 6 * 2 ** 30 && 'less than 6 GiB of memory' }, async () => {
  const came = await inProcess(`
    import { constants } from 'node:buffer'
    import { Pool, collectPooledSync, collectTextSync } from 'brimful'
    const block = Buffer.alloc(2 ** 20, 'x')
    function* body(length) { for (let left = length; left > 0; left -= block.length) yield left < block.length ? block.subarray(0, left) : block }
    const longest = constants.MAX_STRING_LENGTH
    const text = collectTextSync(body(longest))
    const lengths = [text.length, text.charCodeAt(longest - 1)]
    let error
    try { collectTextSync(body(longest + 1)) } catch (caught) { error = caught }
    console.log(JSON.stringify({ lengths, longest, code: error.code, limit: error.limit, partial: error.partial.length, message: error.message }))
  `)
  assert.deepEqual(came.lengths, [constants.MAX_STRING_LENGTH, 120])
  assert.equal(came.code, 'ERR_BRIMFUL_LIMIT')
  assert.equal(came.limit, constants.MAX_STRING_LENGTH)
  assert.equal(came.partial, constants.MAX_STRING_LENGTH + 1)
  assert.match(came.message, /collectPooled/)
})

test('JSON comes from every result, by its mark, and what is none is the parser s own error', async () => {
  const value = { text: 'déjà vu €😀\0', list: [1, 2, { a: null }] }
  const text = JSON.stringify(value)
  for (const source of [text, Readable.from([Buffer.from(text)]), new Response(text), Buffer.from(`\ufeff${text}`), Buffer.from(`\ufeff${text}`, 'utf16le')]) {
    assert.deepEqual(await collectJson(source), value)
  }
  assert.deepEqual(await collectJson(new Response(text, { headers: { 'content-type': 'application/json; charset=latin1' } })), value)
  assert.deepEqual(await collectJson(Buffer.from('"\xe9"', 'latin1'), { encoding: 'latin1' }), 'é')
  assert.deepEqual(collectPooledSync(text).json(), value)
  for (const wrong of ['', '{', '[1,]']) {
    await assert.rejects(collectJson(wrong), SyntaxError)
    assert.throws(() => collectPooledSync(wrong).json(), SyntaxError)
  }
  await assert.rejects(collectJson(text, { limit: 5 }), code('limit'))
  await assert.rejects(collectJson(Buffer.from([0x22, 0xff, 0x22]), { fatal: true }), { ...code('encoding'), offset: 1 })
})

test('strings stay when their bytes go: a buffer is released, its block is used again, memory is collected', async () => {
  const pool = new Pool()
  const text = 'a€日本'.repeat(100_000)
  const pooled = await collectPooled(Readable.from(chunksOf(Buffer.from(text), 65_536)), { pool })
  const [whole, ascii] = [pooled.text(), collectTextSync(['x'.repeat(1_000_000)], { pool })]
  pooled.release()
  for (let turn = 0; turn < 20; turn++) (await collectPooled([Buffer.alloc(1_500_000, turn)], { pool })).release()
  assert.equal(whole, text)
  assert.equal(ascii, 'x'.repeat(1_000_000))
})

/** What is done again and again; each in a process of its own, since one path's holes in the heap hide another's leak. */
const AGAIN = {
  short: `collectTextSync(Buffer.from('a€😀'.repeat(50)))`,
  long: `if (turn % 10 === 0) { collectTextSync([latin]); collectTextSync(ascii) }`,
  refused: `try { collectTextSync(faulty, { fatal: true }) } catch {}`,
}

for (const [name, again] of Object.entries(AGAIN)) {
  test(`ten thousand texts leak nothing: ${name}`, async (t) => {
    // glibc raises this threshold by itself, and then keeps what large strings left, or not, by chance.
    process.env.MALLOC_MMAP_THRESHOLD_ = '65536'
    t.after(() => delete process.env.MALLOC_MMAP_THRESHOLD_)
    const { before, after } = await inProcess(`
      import { collectTextSync } from 'brimful'
      const [latin, ascii] = [Buffer.from('é'.repeat(200_000)), Buffer.from('x'.repeat(300_000))]
      const faulty = Buffer.concat([Buffer.alloc(5000, 'x'), Buffer.from([255])])
      function round(times) {
        for (let turn = 0; turn < times; turn++) { ${again} }
      }
      const settle = async () => { for (let turn = 0; turn < 5; turn++) { gc(); await new Promise(setImmediate) } return process.memoryUsage.rss() }
      round(3000)
      const before = await settle()
      round(10_000)
      console.log(JSON.stringify({ before, after: await settle() }))
    `, '--expose-gc')
    assert.ok(after - before < 24 * 2 ** 20, `${before} bytes before, ${after} after`)
  })
}

test('a worker that ends with long strings alive takes nothing with it that is still needed', async () => {
  // The addon may be loaded in workers only: V8 lets their strings go after Node has closed their addons.
  const program = `
    import { collectTextSync } from 'brimful'
    import { parentPort } from 'node:worker_threads'
    globalThis.kept = [collectTextSync(['é'.repeat(400_000)]), collectTextSync(['€'.repeat(400_000)])]
    parentPort.postMessage(kept[0].length + kept[1].length)
  `
  const came = await inProcess(`
    import { Worker } from 'node:worker_threads'
    const lengths = []
    for (let turn = 0; turn < 10; turn++) {
      const worker = new Worker(${JSON.stringify(program)}, { eval: true })
      worker.once('message', (length) => { lengths.push(length); if (turn % 2) worker.terminate() })
      await new Promise((resolve) => worker.once('exit', resolve))
    }
    console.log(JSON.stringify(lengths))
  `)
  assert.deepEqual(came, Array(10).fill(800_000))
})

test('CommonJS and ES modules have the same functions', async () => {
  const require = createRequire(import.meta.url)
  const { collectText: required } = require('brimful')
  assert.equal(required, collectText)
  const consumers = await import('brimful/consumers')
  assert.deepEqual(Object.keys(require('brimful/consumers')).sort(), ['arrayBuffer', 'buffer', 'bytes', 'json', 'text'])
  assert.equal(consumers.text, require('brimful/consumers').text)
})
