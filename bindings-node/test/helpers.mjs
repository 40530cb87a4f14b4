// What several test files need. Bodies are painted: byte i is i mod 251, so that no two places look alike.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const PERIOD = 251

export function painted(length, from = 0) {
  const bytes = Buffer.allocUnsafeSlow(length)
  for (let i = 0; i < Math.min(length, PERIOD); i++) bytes[i] = (from + i) % PERIOD
  for (let done = PERIOD; done < length; done *= 2) bytes.copy(bytes, done, 0, Math.min(done, length - done))
  return bytes
}

export function assertPainted(bytes, length) {
  assert.equal(bytes.length, length)
  assert.equal(bytes.compare(painted(length)), 0, 'the bytes are not those of the body')
}

/** The body in pieces of `each` bytes. */
export function* pieces(length, each) {
  for (let at = 0; at < length; at += each) yield painted(Math.min(each, length - at), at)
}

/** A callback that gives the body, at most `each` bytes a call; `then` is asked after the last byte. */
export function giver(length, each = Infinity, then = () => 0) {
  let at = 0
  return (window) => {
    const filled = Math.min(window.length, each, length - at)
    if (filled === 0) return then(window)
    painted(filled, at).copy(window)
    at += filled
    return filled
  }
}

export const code = (name) => ({ name: 'BrimfulError', code: `ERR_BRIMFUL_${name.toUpperCase()}` })
export const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }

/** The error that `f` throws or rejects with. */
export async function errorOf(f) {
  try {
    await f()
  } catch (error) {
    return error
  }
  assert.fail('an error was expected')
}

/** A real HTTP server for one test. */
export async function serving(t, handler) {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${server.address().port}/`, port: server.address().port }
}

/** A folder that goes with the test. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'brimful-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A pipe whose reading end blocks, as those that a program inherits do. */
export function pipe(t) {
  const path = join(folder(t), 'pipe')
  execFileSync('mkfifo', [path])
  const first = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const ends = { reader: undefined, writer: openSync(path, constants.O_WRONLY) }
  ends.reader = openSync(path, constants.O_RDONLY)
  closeSync(first)
  ends.closeWriter = () => {
    if (ends.writer !== undefined) closeSync(ends.writer)
    ends.writer = undefined
  }
  t.after(() => {
    closeSync(ends.reader)
    ends.closeWriter()
  })
  return ends
}

/** Runs a program in a process of its own; what it prints is JSON. */
export async function inProcess(program, ...flags) {
  const here = new URL('.', import.meta.url)
  const prelude = `import { giver, painted, pieces } from ${JSON.stringify(new URL('helpers.mjs', here).href)}\n`
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--input-type=module', '-e', prelude + program], { cwd: here })
  return JSON.parse(stdout)
}
