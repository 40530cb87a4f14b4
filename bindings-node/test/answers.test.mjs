import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrimfulError, Collector, collect, collectPooled, collectSync } from 'brimful'
import { assertPainted, code, errorOf, giver, painted, wrongType } from './helpers.mjs'

test('a claim that cannot be is a breach of contract, and what came before is kept', async () => {
  const claims = [(room) => room + 1, () => -1, () => NaN, () => 1.5, () => Infinity, () => 2 ** 53, () => Number.MAX_SAFE_INTEGER]
  for (const claim of claims) {
    for (const isAsync of [false, true]) {
      const give = giver(100, 100, (window) => claim(window.length))
      const source = isAsync ? async (window) => give(window) : give
      const error = await errorOf(() => collect(source))
      assert.ok(error instanceof BrimfulError)
      assert.equal(error.code, 'ERR_BRIMFUL_CONTRACT')
      assert.equal(error.received, 100)
      assertPainted(error.partial.toBuffer(), 100)
      error.partial.release()
    }
  }
})

test('an answer of another type is a TypeError and no byte counts', async () => {
  for (const answer of ['5', undefined, true, {}, 5n, [5]]) {
    assert.throws(() => collectSync(() => answer), wrongType)
    await assert.rejects(collect(async () => answer), wrongType)
    const collector = new Collector()
    assert.throws(() => collector.read(giver(10, 10, () => answer)), wrongType)
    assert.equal(collector.info().status, 'contract')
    assert.equal(collector.takePartial().length, 10)
  }
})

test('a claim without writing shows zeros', () => {
  assert.deepEqual(collectSync(giver(0, 0, ((calls) => () => (calls++ === 0 ? 1000 : 0))(0))), Buffer.alloc(1000))
})

test('windows begin at 16 KiB, grow with what came, and never exceed maxWindow', () => {
  const rooms = []
  const give = giver(5_000_000)
  collectSync((window) => {
    rooms.push(window.length)
    return give(window)
  }, { maxWindow: 200_000 })
  assert.equal(rooms[0], 16_384)
  assert.ok(Math.max(...rooms) === 200_000)
})

test('nothing now is an error that carries the collector to go on with', async () => {
  const stuttering = (length) => {
    let calls = 0
    const give = giver(length, 100)
    return (window) => (calls++ % 2 === 0 ? null : give(window))
  }
  for (const isAsync of [false, true]) {
    const source = stuttering(1000)
    const error = await errorOf(() => (isAsync ? collect(async (window) => source(window)) : collectSync(source)))
    assert.equal(error.code, 'ERR_BRIMFUL_WOULD_BLOCK')
    assert.equal(error.received, 0)
    const { collector } = error
    let pendings = 1
    while (!collector.read(source)) pendings++
    assertPainted(collector.finish(), 1000)
    assert.equal(pendings, 11)
    assert.equal(collector.info().pendings, 11)
  }
})

test('a collector that was given goes on where the last call stopped', async () => {
  const collector = new Collector({ length: 1000 })
  const source = giver(1000, 400, () => null)
  let calls = 0
  const stopping = (window) => (calls++ % 2 ? null : source(window))
  for (const received of [400, 800]) {
    assert.throws(() => collectSync(stopping, { collector }), { code: 'ERR_BRIMFUL_WOULD_BLOCK', received, collector })
  }
  assertPainted(await collect(stopping, { collector }), 1000)
})

test('EAGAIN is nothing now, EINTR is asked again, and bytes that come with an error count', () => {
  const raise = (fields) => { throw Object.assign(new Error('x'), fields) }
  const steps = [
    (window) => raise({ code: 'EINTR', bytesWritten: window.write('ab') }),
    () => raise({ code: 'EINTR' }),
    (window) => raise({ code: 'EAGAIN', bytesWritten: window.write('cd') }),
    () => raise({ code: 'EAGAIN' }),
    (window) => raise({ errno: -5, bytesWritten: window.write('ef') }),
  ]
  const collector = new Collector()
  const source = (window) => steps.shift()(window)
  assert.equal(collector.read(source), false)
  assert.equal(collector.read(source), false)
  assert.throws(() => collector.read(source), { message: 'x', errno: -5 })
  const { sourceError, status, sourceCalls, pendings } = collector.info()
  assert.deepEqual({ sourceError, status, sourceCalls, pendings }, { sourceError: -5, status: 'source', sourceCalls: 5, pendings: 2 })
  assert.equal(String(collector.takePartial().toBuffer()), 'abcdef')
})

test('a thousand interruptions in a row are no progress', () => {
  assert.throws(() => collectSync(() => { throw Object.assign(new Error(), { code: 'EINTR' }) }), code('no_progress'))
})

test('calls on the collector from inside its callback are busy, but info and cancel work', () => {
  const collector = new Collector()
  const errors = []
  const attempts = [
    () => collector.write('x'), () => collector.end(), () => collector.reserve(), () => collector.commit(0), () => collector.read(() => 0),
    () => collector.finish(), () => collector.takePartial(), () => collector.reset(),
  ]
  const give = giver(10)
  collector.read((window) => {
    for (const attempt of attempts) {
      try {
        attempt()
      } catch (error) {
        errors.push(error.code)
      }
    }
    assert.equal(collector.info().state, 'window_out')
    assert.equal(collector.copy(0, Buffer.alloc(10)), 0)
    assert.deepEqual(collector.segments(), [])
    return give(window)
  })
  assert.deepEqual(new Set(errors), new Set(['ERR_BRIMFUL_BUSY']))
  assert.equal(errors.length % attempts.length, 0)
  assertPainted(collector.finish(), 10)
  const other = new Collector()
  assert.throws(() => other.read((window) => { other.cancel(); return window.write('abc') }), code('cancelled'))
  assert.equal(other.takePartial().length, 3)
})

test('another collector and the pool may be used from inside a callback', () => {
  const data = collectSync(giver(1000, 100, () => 0), {})
  let inner
  const give = giver(1000, 100)
  const outer = collectSync((window) => {
    inner = collectSync(giver(5000, 77))
    return give(window)
  })
  assertPainted(inner, 5000)
  assert.deepEqual(outer, data)
})

test('an async callback has its window until it answers', async () => {
  const give = giver(100_000, 5000)
  const data = await collectPooled(async (window) => {
    await new Promise(setImmediate)
    return give(window)
  })
  assertPainted(data.asBuffer(), 100_000)
  data.release()
})

test('656 stops at 8000 bytes cost what no stop costs', () => {
  const length = 5 * 2 ** 20
  const cost = (options, stop) => {
    const collector = new Collector({ result: 'pooled', ...options })
    const give = giver(length, 8000)
    let calls = 0
    let pendings = 0
    while (!collector.read((window) => (stop && calls++ % 2 ? null : give(window)))) pendings++
    const result = collector.finish()
    assertPainted(result.asBuffer(), length)
    const { allocations, copied } = result.info()
    result.release()
    return { allocations, copied, pendings }
  }
  for (const options of [{}, { length }]) {
    cost(options, false) // warms the pool, so that both runs find the same
    const whole = cost(options, false)
    const stopped = cost(options, true)
    assert.ok(stopped.pendings >= 655, `${stopped.pendings} stops`)
    assert.deepEqual({ ...stopped, pendings: 0 }, whole)
  }
})

