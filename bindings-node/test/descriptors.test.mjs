import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Collector, Pool, collect, collectInto, collectPooled, collectSync } from 'brimful'
import { assertPainted, code, errorOf, folder, giver, inProcess, painted, pipe, wrongType } from './helpers.mjs'

const here = new URL('.', import.meta.url).pathname

function file(t, length) {
  const path = join(folder(t), 'body')
  writeFileSync(path, painted(length))
  const fd = openSync(path)
  t.after(() => {
    try {
      closeSync(fd)
    } catch {
      // the test has closed it
    }
  })
  return { path, fd }
}

test('files of all sizes are read whole, from a FileHandle and from a number', async (t) => {
  for (const length of [0, 1, 4095, 4096, 65_536, 65_537, 3_000_000, 20_000_000]) {
    const { path, fd } = file(t, length)
    assertPainted(await collect({ fd }), length)
    const handle = await open(path)
    const pooled = await collectPooled(handle)
    assertPainted(pooled.asBuffer(), length)
    pooled.release()
    await handle.close()
    await assert.rejects(collect(handle), code('state'))
    const target = Buffer.alloc(length + 10, 0xee)
    assert.equal(await collectInto({ fd: openSync(path) }, target), length)
    assertPainted(target.subarray(0, length), length)
    assert.ok(target.subarray(length).every((byte) => byte === 0xee))
  }
})

test('what fstat says is a hint: a file in one piece of its size, one allocation, nothing copied', async (t) => {
  for (const length of [5000, 3_000_000]) {
    const { fd } = file(t, length)
    const collector = new Collector()
    const data = await collect({ fd }, { collector })
    assertPainted(data, length)
    const { allocations, copied, waste, expected } = collector.info()
    assert.deepEqual({ copied, waste, expected }, { copied: 0, waste: 0, expected: undefined })
    assert.ok(allocations <= 2, `${allocations} allocations`) // the result, and a window to see the end in
  }
  // Files of /proc say that they are empty.
  assert.deepEqual(await collect({ fd: openSync('/proc/self/cmdline') }), await readFile('/proc/self/cmdline'))
})

test('reading begins where the descriptor stands, goes no further than is wanted, and moves it', async (t) => {
  const { fd, path } = file(t, 1000)
  readSync(fd, Buffer.alloc(100))
  assert.deepEqual(await collect({ fd }, { length: 200, end: 'length' }), painted(200, 100))
  assert.deepEqual(await collect({ fd }, { limit: 50, truncate: true }), painted(50, 300))
  assert.deepEqual(await collect({ fd }), painted(649, 351)) // one byte told that there were more than 50
  const handle = await open(path)
  await handle.read(Buffer.alloc(10), 0, 10)
  assert.deepEqual(await collect(handle), painted(990, 10))
  await handle.close()
  await assert.rejects(collect({ fd: openSync(path) }, { length: 999 }), code('long'))
  await assert.rejects(collect({ fd: openSync(path) }, { length: 1001 }), code('short'))
})

test("the system's errors stay what they are", async (t) => {
  const missing = await errorOf(() => collect({ fd: 987_654 }))
  assert.deepEqual([missing.code, missing.syscall, missing.name], ['EBADF', 'fstat', 'Error'])
  const { path } = file(t, 10)
  const written = openSync(path, 'a')
  t.after(() => closeSync(written))
  const error = await errorOf(() => collect({ fd: written }))
  assert.deepEqual([error.code, error.errno, error.syscall], ['EBADF', -9, 'read'])
  const folder_ = openSync(here)
  t.after(() => closeSync(folder_))
  assert.equal((await errorOf(() => collect({ fd: folder_ }))).code, 'EISDIR')
  for (const fd of [1.5, -2, NaN, 2 ** 40]) await assert.rejects(collect({ fd }), code('invalid'))
  await assert.rejects(collect({ fd: '5' }), wrongType)
  assert.throws(() => collectSync({ fd: 0 }), /collect reads it/)
})

test('a descriptor that is closed while it is read leads to no other file', async (t) => {
  const { fd } = file(t, 30_000_000)
  const other = join(folder(t), 'other')
  writeFileSync(other, Buffer.alloc(30_000_000, 0xaa))
  const reading = collect({ fd })
  closeSync(fd)
  const again = openSync(other)
  assert.equal(again, fd)
  assertPainted(await reading, 30_000_000)
  closeSync(again)
})

test('the collector is busy while a thread reads, an abort is heard at once, and nothing is used again too early', async (t) => {
  const { path } = file(t, 60_000_000)
  const pool = new Pool({ maxRetained: Infinity })
  for (let i = 0; i < 30; i++) {
    const fd = openSync(path)
    const controller = new AbortController()
    const collector = i % 3 === 0 ? new Collector({ pool, result: 'pooled' }) : undefined
    const options = collector ? { collector } : { pool }
    const reading = errorOf(() => collectPooled({ fd }, { ...options, signal: controller.signal }))
    await new Promise((resolve) => setTimeout(resolve, i % 8))
    if (collector?.info().state === 'window_out') assert.throws(() => collector.write('x'), code('busy'))
    controller.abort()
    let heard = false
    reading.then(() => (heard = true))
    await new Promise(setImmediate)
    assert.ok(heard)
    assert.equal(await reading, controller.signal.reason)
    closeSync(fd)
    const next = await collectPooled(giver(2_000_000), { pool })
    assertPainted(next.asBuffer(), 2_000_000)
    next.release()
  }
  for (let i = 0; i < 50 && pool.stats().outstanding > 10; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(pool.stats().outstanding <= 10) // the collectors that keep what came
})

test('views of a collector that is then read from a file are revoked first', async (t) => {
  const { fd } = file(t, 200_000)
  const collector = new Collector({ result: 'pooled', pool: new Pool() })
  collector.write(painted(100_000))
  const [view] = collector.segments()
  const kept = collector.reserve()
  collector.commit(0)
  const reading = collector.readAsync({ fd })
  assert.equal(view.length, 0)
  assert.equal(kept.length, 0)
  assert.equal(await reading, true)
  const body = collector.finish()
  assert.deepEqual(body.toBuffer(), Buffer.concat([painted(100_000), painted(200_000)]))
  body.release()
})

/** The calls of read(2) that strace has seen after the file was opened; one that was interrupted has two lines. */
function readsIn(lines, path) {
  const starts = new Map()
  return lines.slice(lines.findIndex((line) => line.includes(path))).flatMap((line) => {
    const [, thread, start] = /^(\d+) +read\(0x[0-9a-f]+, (0x[0-9a-f]+), /.exec(line) ?? /^(\d+) +<\.\.\. read resumed/.exec(line) ?? []
    if (thread === undefined) return []
    if (start !== undefined) starts.set(thread, BigInt(start))
    const got = /= (0x[0-9a-f]+)/.exec(line)
    return got ? [{ thread: Number(thread), start: starts.get(thread), got: Number(got[1]) }] : []
  })
}

test('a regular file is read by read(2) on a thread of the pool, straight into the result', async (t) => {
  try {
    execFileSync('strace', ['-V'], { stdio: 'ignore' })
  } catch {
    return t.skip('strace is not here')
  }
  const length = 3_000_000
  const { path } = file(t, length)
  const program = `
    import { openSync } from 'node:fs'
    import { collect } from 'brimful'
    const data = await collect({ fd: openSync(process.argv[1]) })
    console.log(data.length, process.pid)
  `
  const log = join(folder(t), 'trace')
  const { stdout } = await promisify(execFile)('strace', ['-f', '-qq', '-e', 'trace=read,pread64,readv,preadv,openat,fcntl', '-e', 'raw=read', '-o', log, process.execPath, '--input-type=module', '-e', program, path], { cwd: here })
  const [read, pid] = stdout.trim().split(' ').map(Number)
  assert.equal(read, length)
  const reads = readsIn(String(await readFile(log)).split('\n'), path).filter(({ got }) => got >= 100_000)
  assert.equal(reads.reduce((sum, { got }) => sum + got, 0), length, 'all of the file came by read(2)')
  // The reads follow each other in one piece of memory: nobody has moved the bytes on the way to an exact result.
  for (let i = 1; i < reads.length; i++) assert.equal(reads[i].start, reads[i - 1].start + BigInt(reads[i - 1].got))
  for (const { thread } of reads) assert.notEqual(thread, pid, 'the event loop did not read')
})

test('a pipe is read as it has something, and what follows a body stays in it', async (t) => {
  const ends = pipe(t)
  const reading = collect({ fd: ends.reader }, { length: 1000 })
  for (let at = 0; at < 2000; at += 250) {
    writeSync(ends.writer, painted(250, at))
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  assertPainted(await reading, 1000)
  assert.deepEqual(await collect({ fd: ends.reader }, { limit: 100, truncate: true }), painted(100, 1000))
  const rest = collect({ fd: ends.reader })
  writeSync(ends.writer, 'end')
  ends.closeWriter()
  assert.deepEqual(await rest, Buffer.concat([painted(899, 1101), Buffer.from('end')]))
})

test('the output of a program is read by its descriptor', async (t) => {
  const ends = pipe(t)
  const child = spawn(process.execPath, ['-e', "require('fs').writeSync(1, Buffer.alloc(3e6, 7))"], { stdio: ['ignore', ends.writer, 'inherit'] })
  ends.closeWriter()
  const data = await collectPooled({ fd: ends.reader })
  assert.ok(data.asBuffer().equals(Buffer.alloc(3_000_000, 7)))
  data.release()
  assert.equal(child.exitCode ?? (await once(child, 'exit'))[0], 0)
})

test('a socket by its descriptor stops at the length, and the connection stays usable both ways', async (t) => {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const client = connect({ port: server.address().port, host: '127.0.0.1', allowHalfOpen: true })
  client.pause()
  await once(client, 'connect')
  for (let i = 0; i < 5; i++) {
    client.write(painted(700))
    assertPainted(await collect({ fd: client._handle.fd }, { length: 400 }), 400)
    assert.deepEqual(await collect({ fd: client._handle.fd }, { length: 300 }), painted(300, 400))
  }
  client.end()
  assert.equal((await collect({ fd: client._handle.fd })).length, 0)
  client.destroy()
})

test('blocked pipes do not slow fs.promises.readFile', async (t) => {
  const { path } = file(t, 100_000)
  const timed = async () => {
    const from = performance.now()
    for (let i = 0; i < 50; i++) await readFile(path)
    return performance.now() - from
  }
  await timed()
  const before = await timed()
  const controller = new AbortController()
  const blocked = Array.from({ length: 8 }, () => errorOf(() => collect({ fd: pipe(t).reader }, { signal: controller.signal })))
  await new Promise((resolve) => setTimeout(resolve, 20))
  const during = await timed()
  controller.abort()
  await Promise.all(blocked)
  // With four reads that block on the pool nothing would come back at all.
  assert.ok(during < 5 * before + 200, `${during} ms with 8 blocked pipes, ${before} ms without`)
})

test('a worker that waits for a pipe can end, and so can the process', async (t) => {
  const ends = pipe(t)
  const program = `
    const { parentPort, workerData } = require('node:worker_threads')
    require('brimful').collect({ fd: workerData }).catch(() => {})
    setTimeout(() => parentPort.postMessage('waiting'), 5)
  `
  for (let i = 0; i < 5; i++) {
    const worker = new Worker(program, { eval: true, workerData: ends.reader })
    await once(worker, 'message')
    const from = performance.now()
    await worker.terminate()
    assert.ok(performance.now() - from < 1000)
  }
  writeSync(ends.writer, 'abc')
  assert.equal(String(await collect({ fd: ends.reader }, { length: 3 })), 'abc')
  const told = await inProcess(`
    import { collect } from 'brimful'
    collect({ fd: 0 }, { signal: AbortSignal.timeout(50) }).catch((error) => console.log(JSON.stringify(error.name)))
  `)
  assert.equal(told, 'TimeoutError')
})

test('a terminal is a stream too', async (t) => {
  try {
    execFileSync('script', ['--version'], { stdio: 'ignore' })
  } catch {
    return t.skip('script(1) is not here')
  }
  const program = `const { collect } = require('brimful'); collect({ fd: 0 }, { length: 3 }).then((data) => { console.log('<' + data + '>'); process.exit() })`
  const child = spawn('script', ['-qec', `${process.execPath} -e "${program}"`, '/dev/null'], { cwd: here, stdio: ['pipe', 'pipe', 'inherit'] })
  setTimeout(() => child.stdin.write('ab\n'), 300)
  const output = String(await collect(child.stdout))
  assert.match(output, /<ab/)
})
