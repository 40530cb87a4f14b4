// Values over many packets (examples/node/framed.mjs): wherever they are cut and stopped, what was put in comes out. The
// model is the list of values that went in. Hazards H1 to H11; E27 to E30, E40.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { Collector, Pool, collectPooledSync } from 'brimful'
import { Connection, Decoder, UNKNOWN, packets, value } from '../examples/framed.mjs'
import { code, errorOf } from './helpers.mjs'

const RESULTS = ['exact', 'pooled']
const broken = { code: 'ERR_FRAMED_BROKEN' }
const aborted = { name: 'AbortError' }

/** Bytes that come again at no interval that a packet or block could have, others for each seed. */
function content(seed, length) {
  return createHash('shake128', { outputLength: Math.max(1, length) }).update(`${seed}`).digest().subarray(0, length)
}

/** Numbers below `most`, the same ones in each run. */
function chance(seed) {
  let state = BigInt(seed)
  return (most) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn
    return Number((state >> 33n) % BigInt(most))
  }
}

function bytesOf(taken) {
  if (taken === null || Buffer.isBuffer(taken)) return taken
  const copy = taken.toBuffer()
  taken.release()
  return copy
}

/** The values of a connection whose bytes come up to each stop in turn. */
function read(stream, stops, decoder = new Decoder(), piecewise) {
  const values = []
  let at = 0
  for (const stop of [...stops, stream.length]) {
    while (at < stop) {
      at += decoder.feed(stream.subarray(at, stop))
      piecewise?.(decoder)
      if (decoder.ended) values.push(bytesOf(decoder.take()))
    }
  }
  assert.ok(decoder.between)
  return values
}

function assertSame(came, expected, where) {
  assert.equal(came.length, expected.length, where)
  for (let i = 0; i < came.length; i++) {
    const same = came[i] === null || expected[i] === null ? came[i] === expected[i] : came[i].equals(expected[i])
    if (!same) assert.fail(`value ${i} is another, ${where}`)
  }
}

function twoChunks(data, cut, tells) {
  const total = Buffer.alloc(8)
  total.writeBigUInt64LE(tells ? BigInt(data.length) : UNKNOWN)
  const halves = [data.subarray(0, cut), data.subarray(cut)].filter((half) => half.length > 0)
  return Buffer.concat([total, ...halves.map((half) => value(half).subarray(8, -4)), Buffer.alloc(4)])
}

for (const packet of [15, 31, 32767]) {
  test(`each value of up to 64 bytes, cut anywhere and stopped anywhere, is what was put in; packets of ${packet}`, () => {
    const pools = [new Pool(), new Pool({ memory: 'list' })]
    for (let length = 0; length <= 64; length++) {
      const data = content(length, length)
      const next = content(100, 3)
      for (let cut = 0; cut <= length; cut++) {
        const stream = packets([twoChunks(data, cut, cut % 2 === 0), value(next), value(null)], packet)
        const each = packet < 64 ? 3 : 1 // with small packets every third stop, another third for each cut
        for (let stop = cut % each; stop < stream.length; stop += each) {
          const decoder = new Decoder({ result: RESULTS[stop % 2], pool: pools[(stop >> 1) % 2] })
          assertSame(read(stream, [stop], decoder), [data, next, null], `${length} bytes, chunk of ${cut}, stop at ${stop}`)
        }
      }
    }
  })
}

test('two stops anywhere lose nothing (H2)', () => {
  for (const length of [0, 1, 7, 64]) {
    const data = content(1, length)
    const stream = packets([value(data, { chunk: 20 }), value(Buffer.from('abc'), { total: UNKNOWN })], 40)
    for (let first = 0; first < stream.length; first++) {
      for (let second = first; second < stream.length; second++) {
        assertSame(read(stream, [first, second]), [data, Buffer.from('abc')], `stops at ${first} and ${second}`)
      }
    }
  }
})

test('headers, totals and chunk lengths may be cut at each byte and at every set of them (H8)', () => {
  const wide = 9
  const data = Buffer.from('12345')
  const stream = packets([value(data, { chunk: 2 }), value(null)], 19)
  for (let begin = 0; begin + wide < stream.length; begin += 5) {
    for (let set = 0; set < 1 << wide; set++) {
      const stops = Array.from({ length: wide }, (_, bit) => begin + bit).filter((_, bit) => (set >> bit) & 1)
      assertSame(read(stream, stops), [data, null], `stops at ${stops}`)
    }
  }
})

for (const memory of ['auto', 'list']) {
  for (const result of RESULTS) {
    test(`random values of up to 5 MiB over packets of any size are what was put in; ${result}, ${memory}`, () => {
      const below = chance(RESULTS.indexOf(result) + (memory === 'list' ? 10 : 20))
      const pick = (...choices) => choices[below(choices.length)]
      const pool = new Pool({ memory })
      for (let turn = 0; turn < 44; turn++) {
        const large = turn >= 40
        const most = large ? 5 << 20 : 3000
        const values = []
        const framed = []
        for (let index = 0; index < (large ? 3 : 20); index++) {
          const data = below(10) === 0 ? null : content(turn * 100 + index, pick(0, 1, below(most), most))
          values.push(data)
          framed.push(value(data, { chunk: 50 + below((data?.length ?? 0) + 10), total: pick(undefined, UNKNOWN) }))
        }
        const stream = packets(framed, large ? pick(512, 4096, 8000, 32767, 65535) : pick(9, 20, 100, 8000))
        const stops = []
        for (let at = 0; at < stream.length; at += pick(1, 1 + below(40_000))) stops.push(at)
        let offset = 0
        const inPieces = (decoder) => {
          const model = values[decoder.values - Number(decoder.ended)] ?? Buffer.alloc(0)
          const piece = Buffer.alloc(1 + 2 * below(3000))
          for (let got; (got = decoder.collector.copy(offset, piece)) > 0; offset += got) {
            assert.equal(piece.compare(model, offset, offset + got, 0, got), 0)
          }
          if (decoder.ended) {
            assert.equal(offset, model.length)
            offset = 0
          }
        }
        assertSame(read(stream, stops, new Decoder({ result, pool }), inPieces), values, `turn ${turn}`)
      }
    })
  }
}

test('a value that stops after every packet costs the same as one that does not (E27)', () => {
  const data = content(10, 5 << 20)
  for (const result of RESULTS) {
    for (const memory of ['auto', 'list']) {
      for (const total of [undefined, UNKNOWN]) {
        const stream = packets([value(data, { chunk: 16384, total })], 8000)
        const costs = [stream.length, 8000].map((each) => {
          const stops = Array.from({ length: Math.floor(stream.length / each) }, (_, i) => i * each)
          const decoder = new Decoder({ result, pool: new Pool({ memory }) })
          assertSame(read(stream, stops, decoder), [data], `${each} bytes at a time`)
          const { allocations, allocatedBytes, copied, rents, peakHeld } = decoder.collector.info()
          return { allocations, allocatedBytes, copied, rents, peakHeld }
        })
        assert.deepEqual(costs[1], costs[0])
        assert.ok(costs[1].copied <= (total === undefined ? 0 : (result === 'exact' ? data.length : 0) + 2 ** 20))
      }
    }
  }
})

test('a value whose last bytes end at a stop is whole when its end comes alone (H1)', () => {
  for (const total of [undefined, UNKNOWN]) {
    const data = content(1, 1000)
    const stream = packets([value(data, { total })], 32767)
    const decoder = new Decoder()
    assert.equal(decoder.feed(stream.subarray(0, -4)), stream.length - 4)
    assert.equal(decoder.ended, false)
    assert.equal(decoder.collector.info().length, 1000)
    assert.equal(decoder.feed(stream.subarray(-4)), 4)
    assert.ok(decoder.ended)
    assert.ok(decoder.take().equals(data))
  }
})

for (const result of RESULTS) {
  test(`2000 values that share packets leave nothing behind and take no more memory; ${result} (H3, E40)`, () => {
    const sizes = [0, 1, 3, 100, 5000, null, 17, 70_000, 300, 1000, 12, 250_000]
    const values = Array.from({ length: 2000 }, (_, i) => (sizes[i % 12] === null ? null : content(i, sizes[i % 12])))
    const framed = values.map((data, i) => value(data, { chunk: 900 + i, total: i % 3 === 0 ? UNKNOWN : undefined }))
    const stream = packets(framed, 4096)
    const pool = new Pool()
    const decoder = new Decoder({ result, pool })
    const seen = []
    for (let at = 0; at < stream.length; ) {
      at += decoder.feed(stream.subarray(at, at + 1500))
      if (!decoder.ended) continue
      assertSame([bytesOf(decoder.take())], [values[decoder.values - 1]], `value ${decoder.values - 1}`)
      if (decoder.values === 200 || decoder.values === 2000) {
        const { allocated, allocatedBytes, peakBytes } = pool.stats()
        seen.push({ allocated, allocatedBytes, peakBytes })
      }
    }
    assert.equal(decoder.values, 2000)
    assert.deepEqual(seen[0], seen[1])
  })

  test(`a caller who reads on in ever smaller pieces never gets nothing before the end; ${result} (H4, H7)`, () => {
    const data = content(2, 1_000_000)
    const stream = packets([value(data, { chunk: 70_001, total: UNKNOWN })], 8000)
    const decoder = new Decoder({ result })
    let [at, offset, size] = [0, 0, 65_521]
    while (offset < data.length) {
      const piece = Buffer.alloc(Math.min(size, data.length - offset))
      let got
      while ((got = decoder.collector.copy(offset, piece)) < piece.length && !decoder.ended) {
        at += decoder.feed(stream.subarray(at, at + 8000))
      }
      assert.equal(got, piece.length)
      assert.ok(piece.equals(data.subarray(offset, offset + got)))
      offset += got
      size = Math.max(101, Math.floor((size * 2) / 3) | 1)
    }
    assert.equal(decoder.collector.copy(offset, Buffer.alloc(1)), 0)
  })

  test(`no byte is turned or cleared at the interval of a packet or block; ${result} (H11)`, () => {
    const data = content(5, 600_000)
    for (const packet of [251 + 8, 502 + 8, 4096, 4096 + 8, 16384 + 8]) {
      for (const memory of ['auto', 'list']) {
        const stream = packets([value(data, { chunk: packet * 3, total: UNKNOWN })], packet)
        const stops = Array.from({ length: Math.floor(stream.length / packet) }, (_, i) => i * packet)
        assertSame(read(stream, stops, new Decoder({ result, pool: new Pool({ memory }) })), [data], `packets of ${packet}`)
      }
    }
  })

  test(`a value that is too large, or not what its total said, fails alone; ${result} (H18)`, () => {
    const data = content(7, 100)
    const cases = [[100], [101, 'short'], [99, 'long'], [151, 'limit'], [0, 'long'], [UNKNOWN], [2n ** 62n, 'limit']]
    const framed = cases.map(([total]) => value(data, { chunk: 33, total }))
    const stream = packets([...framed, value(content(8, 151), { total: UNKNOWN })], 64)
    for (const each of [1, 7, 64, stream.length]) {
      const decoder = new Decoder({ result, limit: 150 })
      const outcomes = []
      for (let at = 0; at < stream.length; ) {
        at += decoder.feed(stream.subarray(at, at + each))
        if (!decoder.ended) continue
        try {
          assert.ok(bytesOf(decoder.take()).equals(data))
          outcomes.push(undefined)
        } catch (error) {
          outcomes.push(error.code)
          const partial = bytesOf(decoder.collector.takePartial())
          assert.equal(Buffer.concat([data, content(8, 151)]).indexOf(partial) % 100, 0)
        }
      }
      const expected = [...cases.map(([, name]) => name && code(name).code), code('limit').code]
      assert.deepEqual(outcomes, expected, `${each} bytes at a time`)
    }
  })

  test(`of a body's tail and the next one's head in one chunk each collector takes its own; ${result}`, () => {
    // What C does by `taken`: a window is never larger than what a body of known length lacks.
    const below = chance(5)
    const bodies = Array.from({ length: 300 }, (_, i) => content(i, below(4) === 0 ? 0 : below(3000)))
    const all = Buffer.concat(bodies)
    const collector = new Collector({ result })
    let at = 0
    let chunk = Buffer.alloc(0)
    const give = (window) => {
      const took = chunk.copy(window)
      chunk = chunk.subarray(took)
      return took
    }
    for (const body of bodies) {
      collector.reset({ length: body.length })
      while (!collector.complete) {
        if (chunk.length === 0) {
          chunk = all.subarray(at, (at += 1 + below(5000)))
        }
        if (below(2) === 0) collector.commit(give(collector.reserve()))
        else collector.read((window) => give(window) || null)
      }
      assert.ok(bytesOf(collector.finish()).equals(body))
    }
    assert.equal(chunk.length, 0)
  })
}

test('a value that nobody took is not seen when the next one begins (H3)', () => {
  const stream = packets([value(Buffer.from('first')), value(null), value(Buffer.from('next'))], 32767)
  const decoder = new Decoder()
  const byte = Buffer.alloc(1)
  let at = decoder.feed(stream)
  assert.equal(decoder.collector.copy(0, byte), 1)
  while (decoder.values < 3) {
    at += decoder.feed(stream.subarray(at, at + 1))
    assert.ok(decoder.collector.copy(0, byte) === 0 || byte.toString() === 'n')
  }
})

test('the pieces from before a stop are still there after it (H5)', () => {
  const data = content(3, 500_000)
  const stream = packets([value(data, { total: UNKNOWN })], 4096)
  const decoder = new Decoder({ result: 'pooled', pool: new Pool({ memory: 'list' }) })
  let most = 0
  for (let at = 0; at < stream.length; at += 4096) {
    decoder.feed(stream.subarray(at, at + 4096))
    const segments = decoder.collector.segments()
    const arrived = decoder.collector.info().length
    assert.ok(Buffer.concat(segments).equals(data.subarray(0, arrived)))
    most = Math.max(most, segments.length)
  }
  assert.ok(decoder.ended && most > 3)
})

test('an empty value and a missing one stay two things (H6)', () => {
  const empty = Buffer.alloc(0)
  const values = [empty, null, empty, null, null, Buffer.from('x'), null]
  const stream = packets(values.map((data, i) => value(data, { total: data === empty && i > 0 ? UNKNOWN : undefined })), 11)
  for (let each = 1; each < stream.length; each++) {
    const stops = Array.from({ length: Math.floor(stream.length / each) }, (_, i) => i * each)
    assertSame(read(stream, stops), values, `${each} bytes at a time`)
  }
})

test('a thousand stops without a byte change nothing (H10)', () => {
  const data = content(4, 64)
  const stream = packets([value(data, { chunk: 20 })], 31)
  const decoder = new Decoder()
  for (let at = 0; at < stream.length; at++) {
    for (let i = 0; i < (at % 8 === 0 ? 1000 : 1); i++) assert.equal(decoder.feed(Buffer.alloc(0)), 0)
    assert.equal(decoder.feed(stream.subarray(at, at + 1)), 1)
  }
  assert.ok(decoder.take().equals(data))
})

/** A connection that is fed by hand. */
function wire(stream) {
  const readable = new Readable({ read() {} })
  let at = 0
  return {
    readable,
    get left() {
      return stream.length - at
    },
    async send(length, turns) {
      readable.push(stream.subarray(at, at + length))
      at = Math.min(stream.length, at + length)
      for (let i = 0; i < turns; i++) await new Promise(setImmediate)
    },
  }
}

test('100 callers that give a value up each get the next ten in step, with nothing of the first (H9)', async () => {
  const pool = new Pool()
  const one = async (task) => {
    const below = chance(task)
    const wanted = Array.from({ length: 10 }, (_, i) => content(task * 100 + 50 + i, i * 997))
    const each = wanted.flatMap((data, i) => [content(task * 100 + i, 30_000), data])
    const framed = each.map((data) => value(data, { chunk: 5000, total: below(2) ? UNKNOWN : undefined }))
    const connection = wire(packets(framed, 4096))
    const values = new Connection(connection.readable, new Decoder({ result: RESULTS[below(2)], pool }))
    let right = 0
    for (const data of wanted) {
      const controller = new AbortController()
      const givenUp = values.value({ signal: controller.signal })
      const refused = assert.rejects(givenUp, aborted)
      await connection.send(1 + below(25_000), below(3))
      controller.abort()
      await refused
      let came
      const followUp = values.value().then((taken) => (came = bytesOf(taken)))
      while (came === undefined && connection.left > 0) await connection.send(1 + below(3000), 1 + below(2))
      await followUp
      assert.ok(came.equals(data))
      right++
    }
    return right
  }
  const right = await Promise.all(Array.from({ length: 100 }, (_, task) => one(task)))
  assert.deepEqual(right, Array(100).fill(10))
})

test('callers who wait for the same connection get their own values, whoever of them gives up (H9)', async () => {
  const datas = Array.from({ length: 6 }, (_, i) => content(i, 5000))
  for (let set = 0; set < 64; set++) {
    const connection = wire(packets(datas.map((data) => value(data)), 512))
    const values = new Connection(connection.readable, new Decoder())
    const callers = datas.map((_, i) => {
      const controller = new AbortController()
      const waits = values.value({ signal: controller.signal })
      if ((set >> i) & 1) controller.abort()
      return waits
    })
    const came = Promise.allSettled(callers)
    await connection.send(100_000, 1)
    connection.readable.push(null)
    for (const [i, { value: taken, reason }] of (await came).entries()) {
      if ((set >> i) & 1) assert.equal(reason?.name, 'AbortError')
      else assert.ok(taken.equals(datas[i]))
    }
    await assert.rejects(values.value(), { code: 'ECONNRESET' })
  }
})

test('a cancelled value gives its memory back before the rest of it comes', () => {
  const stream = packets([value(content(6, 5_000_000), { total: UNKNOWN }), value(Buffer.from('next'))], 32767)
  const pool = new Pool()
  const decoder = new Decoder({ result: 'pooled', pool })
  let at = decoder.feed(stream.subarray(0, 4_500_000))
  assert.ok(pool.stats().outstandingBytes > 4_000_000)
  decoder.cancel()
  assert.ok(pool.stats().outstandingBytes <= 1 << 20)
  at += decoder.feed(stream.subarray(at))
  assert.ok(decoder.ended && pool.stats().outstandingBytes <= 1 << 20)
  assert.throws(() => decoder.take(), aborted)
  decoder.feed(stream.subarray(at))
  assert.equal(bytesOf(decoder.take()).toString(), 'next')
})

test('a value whose caller gave up before its first byte takes no memory', async () => {
  const pool = new Pool()
  const connection = wire(packets([value(content(6, 5_000_000)), value(Buffer.from('next'))], 32767))
  const values = new Connection(connection.readable, new Decoder({ result: 'pooled', pool }))
  const controller = new AbortController()
  const givenUp = assert.rejects(values.value({ signal: controller.signal }), aborted)
  controller.abort()
  await givenUp
  const followUp = values.value()
  while (connection.left > 0) {
    await connection.send(100_000, 2)
    assert.ok(pool.stats().outstandingBytes <= 1 << 20)
  }
  assert.equal(bytesOf(await followUp).toString(), 'next')
})

test('bytes of a number that finds no memory come again (E30)', () => {
  const [first, third] = ['first', 'third'].map((word) => value(Buffer.from(word), { chunk: 3 }))
  const stream = packets([first, value(Buffer.alloc(0), { total: UNKNOWN }), third], 15)
  for (let each = 1; each < stream.length; each++) {
    const decoder = new Decoder()
    const { collector } = decoder
    const asked = { reset: 0, end: 0 }
    decoder.collector = new Proxy(collector, {
      get(_, name) {
        if (!(name in asked) || asked[name]++ % 2 === 1) return (...rest) => collector[name](...rest)
        return () => {
          throw Object.assign(new Error('refused'), code('no_memory'))
        }
      },
    })
    const came = []
    for (let at = 0; at < stream.length; ) {
      try {
        at += decoder.feed(stream.subarray(at, at + each))
      } catch (error) {
        assert.equal(error.message, 'refused')
        continue
      }
      if (decoder.ended) came.push(decoder.take().toString())
    }
    assert.deepEqual(came, ['first', '', 'third'])
  }
})

test('a cancel between two values is for the next one', () => {
  const stream = packets(['first', 'second', 'third'].map((word) => value(Buffer.from(word))), 32767)
  const decoder = new Decoder()
  let at = decoder.feed(stream)
  decoder.cancel()
  assert.equal(decoder.take().toString(), 'first')
  at += decoder.feed(stream.subarray(at))
  assert.throws(() => decoder.take(), aborted)
  decoder.feed(stream.subarray(at))
  assert.equal(decoder.take().toString(), 'third')
})

test('a value that finds no memory within the budget goes on when there is some (E30)', async () => {
  const data = content(9, 300_000)
  const stream = packets([value(data, { total: UNKNOWN })], 8000)
  const pool = new Pool({ budget: 900_000 })
  const holds = collectPooledSync(Buffer.alloc(800_000), { pool })
  const decoder = new Decoder({ result: 'pooled', pool })
  let at = 0
  const feed = () => {
    while (at < stream.length) at += decoder.feed(stream.subarray(at))
  }
  assert.equal((await errorOf(feed)).code, code('budget').code)
  assert.equal((await errorOf(feed)).code, code('budget').code)
  holds.release()
  feed()
  assert.ok(bytesOf(decoder.take()).equals(data))
})

test('a connection that is not in the format says so from then on', () => {
  const good = packets([value(Buffer.from('12345'), { chunk: 2 }), value(Buffer.from('abc'))], 30)
  for (const wrong of [0, 4, 5, 6, 7]) {
    const bad = Buffer.from(good)
    bad[30 + wrong] ^= 0x80
    const decoder = new Decoder()
    let at = 0
    assert.throws(() => {
      while (at < bad.length) at += decoder.feed(bad.subarray(at))
    }, broken)
    assert.throws(() => decoder.feed(good), broken)
    assert.throws(() => decoder.feed(good), broken)
  }
})
