/// <reference types="node" />

/**
 * Reads a whole body into memory: pooled (memory that is recycled) or exact (memory of exactly the body's length that is
 * yours), without copies while it grows, with limits on every path. All sizes are in bytes.
 *
 * Threads: everything here belongs to the thread that made it; each worker has a pool of its own.
 */

/** Bytes of a body. A string counts and arrives as UTF-8; shared memory is copied when it is taken. */
export type Chunk = NodeJS.ArrayBufferView | ArrayBuffer | SharedArrayBuffer | string

/**
 * A source that is asked for bytes: writes at the start of `window` and answers how many it wrote; 0 is the end, `null`
 * says that there is nothing more now. A window shows only zeros, may be used until the answer, and is at most
 * `maxWindow` long.
 *
 * What it throws comes out unchanged, but for `EAGAIN` (nothing more now) and `EINTR` (ask again at once); a
 * `bytesWritten` of the error says how many bytes are in the window all the same.
 */
export type Callback = (window: Buffer) => number | null

/** The same, with an answer that may come later. The window is the source's until then. */
export type AsyncCallback = (window: Buffer) => number | null | PromiseLike<number | null>

/** A web stream. */
export interface ReadableStreamSource {
  readonly locked: boolean
  getReader(): { read(): Promise<{ done: boolean; value?: unknown }>; releaseLock(): void }
  cancel(reason?: unknown): Promise<void>
}

/** A `Blob` or `File`; its size is a hint. */
export interface BlobSource {
  readonly size: number
  stream(): unknown
  arrayBuffer(): Promise<ArrayBuffer>
}

/** Memory that can be written into: shared memory too, which is filled at the end of the call. */
export type Target = NodeJS.ArrayBufferView | ArrayBuffer | SharedArrayBuffer

/** What is read at once: an iterable of chunks, one chunk that is the whole body, or a callback. */
export type SyncSource = Iterable<Chunk> | Chunk | Callback

/** A fetched response, of Node's own `fetch` or of a client that looks like it. */
export interface ResponseSource {
  readonly body: AsyncIterable<unknown> | null
  readonly bodyUsed: boolean
  readonly headers: { get(name: string): string | null }
  arrayBuffer(): Promise<ArrayBuffer>
}

/**
 * A `FileHandle` of `node:fs/promises`, or any object with a descriptor. It stays open, and reading begins where it
 * stands and moves it: by what the body has, and by one byte more where that has shown that there is more than the limit.
 *
 * A file is read by read(2) on threads of Node's pool, a window at a time, straight into the body; what fstat says of
 * its size is a hint. A thread that is reading cannot be stopped: after an abort or cancel the collector is free again
 * when its window comes back. A pipe, socket or terminal is read by the event loop as it has something, no byte further
 * than is wanted; it is made non-blocking for everybody who has it open, as Node does with its own.
 *
 * Errors of the system come out as Node's own do (`code`, `errno`, `syscall`).
 */
export interface DescriptorSource {
  readonly fd: number
}

/**
 * Anything that can be read: one of Node's streams (an `http.IncomingMessage`, a socket, a file stream), a `Response` or
 * `Request`, a `Blob`, a web stream, a descriptor, an async iterable, and all of {@link SyncSource}.
 *
 * What HTTP announces (Content-Length without Content-Encoding) is enforced, and refused before the first byte where
 * it is above the limit. A stream is read to its end and, when the body is refused, destroyed, cancelled or returned,
 * once; a request on a server is only unpiped and paused, so that its client can still be answered. A byte stream is
 * given memory to fill, by a BYOB reader, and asked for no byte beyond what is wanted.
 */
export type Source =
  | SyncSource
  | NodeJS.ReadableStream
  | ReadableStreamSource
  | ResponseSource
  | BlobSource
  | DescriptorSource
  | AsyncIterable<Chunk>
  | AsyncCallback

/** How a body is read. A name that is not known is a TypeError. */
export interface BodyOptions {
  /**
   * The body has exactly this many bytes: fewer are `ERR_BRIMFUL_SHORT`, more `ERR_BRIMFUL_LONG`. Up to `maxPrealloc`
   * an exact result is then one allocation, filled in place. Default: what the source announces, else unknown.
   */
  length?: number | bigint | null
  /** About how many bytes are expected; never an error. */
  sizeHint?: number | bigint | null
  /**
   * How the end is known where a length is: `'eof'`, the source must then also end; `'length'`, complete as soon as so
   * many bytes are there, and what follows stays in the source. Default: `'eof'`, for callbacks, sockets, pipes (a
   * child's output too) and a Collector `'length'`.
   */
  end?: 'length' | 'eof' | null
  /** The most bytes the body may have; more is `ERR_BRIMFUL_LIMIT`. Default: the pool's, else none. 0 allows only the empty body. */
  limit?: number | bigint | null
  /** More than `limit` is not an error: the result has the first `limit` bytes, and a pooled one says `truncated`. */
  truncate?: boolean | null
  /** The most memory that a mere announcement can cause to be taken. Default: 16 MiB. */
  maxPrealloc?: number | bigint | null
  /** The size of the first block of a body of unknown length, 4 KiB to 1 GiB. Default: 16 KiB. */
  firstBlock?: number | bigint | null
  /** The most bytes asked of a callback at once, 4 KiB to 1 GiB. Default: 1 MiB. Windows begin at 16 KiB and grow with what came. */
  maxWindow?: number | bigint | null
}

/** Options of the calls that read a whole body. */
export interface CollectOptions extends BodyOptions {
  /** Where the memory comes from. Default: a pool of this thread. */
  pool?: Pool | null
  /**
   * Reads into this collector, with its options; of the others only `signal` and `onProgress` may be given then. What came
   * before an error is in it.
   */
  collector?: Collector<Buffer | PooledBuffer> | null
  /**
   * Rejects at once with `signal.reason`, also while the source is waited for; the source is destroyed, cancelled or
   * returned. What an async callback writes or answers later goes nowhere, and its window's memory is not used again. A
   * call that reads at once can be aborted from inside its source.
   */
  signal?: AbortSignal | null
  /** Called on this thread whenever more has come. What it throws ends the call, and the source is stopped. */
  onProgress?: ((received: number, expected: number | undefined) => void) | null
}

/**
 * Reads the whole body into a Buffer that owns its memory: byteOffset 0, nothing else in its ArrayBuffer, transferable.
 *
 * Rejects with the source's own error, unchanged; with a {@link BrimfulError}; with a TypeError (`ERR_INVALID_ARG_TYPE`)
 * for what is no source, chunk or option. It never hangs on a stream that was destroyed or read before.
 */
export function collect(source: Source, options?: CollectOptions): Promise<Buffer>

/** As {@link collect}, with the memory that the body arrived in as the result. Release it when it is not needed any more. */
export function collectPooled(source: Source, options?: CollectOptions): Promise<PooledBuffer>

/**
 * Reads the body into memory of the caller's and answers how many bytes lie there; bytes outside, and behind the body, stay
 * as they are, whatever happens. More than fits is `ERR_BRIMFUL_LIMIT`, and the byte that shows it never goes there. An
 * error of brimful tells by `landed` what lies there; for errors of a source give a `collector` made for this `target`,
 * whose `info().length` says so on every outcome.
 *
 * The target must not be detached or shrunk before the call is over (`ERR_BRIMFUL_CONTRACT`). A callback's windows lie in
 * it and show what is there.
 */
export function collectInto(source: Source, target: Target, options?: CollectOptions): Promise<number>

/** How bytes become text. */
export interface TextOptions {
  /**
   * A label of the Encoding Standard (`'utf-8'`, `'windows-1252'`, `'shift_jis'`) or `'utf-32'`, `'utf-32le'`, `'utf-32be'`, in
   * any case, also in quotes; any other is `ERR_BRIMFUL_INVALID`, before the source is read. A byte order mark overrides
   * nothing that was given, and is dropped where it matches.
   *
   * Default: the charset of the Content-Type of an `http.IncomingMessage`, `Response`, `Request` or `Blob`, where it names
   * an encoding; else what the byte order mark says (UTF-8, UTF-32LE, UTF-16LE, UTF-16BE); else UTF-8.
   */
  encoding?: string | null
  /**
   * Bytes that are no text are `ERR_BRIMFUL_ENCODING`, with the `offset` of the first in bytes, and the whole body as `partial`.
   * Default: `false`, they become U+FFFD.
   */
  fatal?: boolean | null
}

/**
 * Reads the whole body as a string, made of the bytes where they arrived: of one byte a unit where Latin-1 suffices, and
 * without the bytes in one piece. Limits and lengths count bytes. Chunks that are strings count as UTF-8.
 *
 * Rejects as {@link collect} does; a text longer than `buffer.constants.MAX_STRING_LENGTH` is `ERR_BRIMFUL_LIMIT` with that
 * as `limit` and the body as `partial`.
 */
export function collectText(source: Source, options?: CollectOptions & TextOptions): Promise<string>

/** Reads the whole body and parses it as JSON; a Content-Type's charset says nothing of it. Rejects with JSON.parse's own error, unchanged. */
export function collectJson(source: Source, options?: CollectOptions & TextOptions): Promise<any>

/** As {@link collectText}, at once. */
export function collectTextSync(source: SyncSource, options?: CollectOptions & TextOptions): string

/** As {@link collect}, at once. A callback with nothing more now throws `ERR_BRIMFUL_WOULD_BLOCK` with the `collector` to go on with. */
export function collectSync(source: SyncSource, options?: CollectOptions): Buffer

/** As {@link collectSync}, pooled. */
export function collectPooledSync(source: SyncSource, options?: CollectOptions): PooledBuffer

/** Statistics of one body. */
export interface Info {
  /** `'ok'`, or what ended the body: `'limit'`, `'short'`, `'long'`, `'source'`, `'contract'`, `'no_progress'`, `'cancelled'`. */
  status: string
  /** The source's own error number: its `errno`, -1 where it has none, 0 where no error of the source came. */
  sourceError: number
  truncated: boolean
  state: 'open' | 'window_out' | 'complete' | 'failed' | 'taken'
  /** Bytes that the source delivered, those beyond a limit or length included. */
  received: number
  /** The announced length. */
  expected: number | undefined
  limit: number | undefined
  /** Bytes of the result, or of what can be taken so far. */
  length: number
  /** How often a callback was asked. */
  sourceCalls: number
  /** How often it had nothing. */
  pendings: number
  /** Bytes that were moved again after they had landed. */
  copied: number
  /** Blocks taken from the pool. */
  rents: number
  /** Pieces of memory that were newly made, and their bytes as they were touched. */
  allocations: number
  allocatedBytes: number
  /** The most bytes held at once. */
  peakHeld: number
  /** Bytes that the result holds beyond its length. */
  waste: number
}

/**
 * Collects one body step by step. It can stop at any byte and go on later. Lost ones are cleaned up by the garbage
 * collector. While a source is being read every call but `info` and `cancel` is `ERR_BRIMFUL_BUSY`.
 */
export interface Collector<Result extends Buffer | PooledBuffer = Buffer> {
  /** Takes a whole chunk and answers its bytes. Copies it at once, so it may be used again. */
  write(chunk: Chunk): number
  /** The source has ended; `ERR_BRIMFUL_SHORT` where a length is not reached. */
  end(): void
  /**
   * A window to write into, all zeros; `want` is a wish for its size. While one is out the same one is given again. It may
   * be used until `commit`.
   */
  reserve(want?: number): Buffer
  /** Takes the window back with `filled` bytes at its start; 0 is nothing, and not the end. */
  commit(filled: number): void
  /** Asks the callback until the body is complete (true) or the callback has nothing more now (false). */
  read(source: Callback): boolean
  /** Reads any source, as far as it goes: true, the body is complete; false, a callback has nothing more now. */
  readAsync(source: Source): Promise<boolean>
  /** Whether the body is complete. Throws what ended it, so that a loop ends. */
  readonly complete: boolean
  /** Copies from `offset` of what has arrived so far into `target`, before the end too; answers how many bytes. */
  copy(offset: number, target: NodeJS.ArrayBufferView | ArrayBuffer): number
  /**
   * What has arrived so far, where it lies. The views are valid until the next call that changes the collector; once the
   * result is taken they have length 0, as kept windows do, so that nothing can change it.
   */
  segments(): Buffer[]
  /** The complete body, as `result` says; once. `ERR_BRIMFUL_STATE` while it is not complete. */
  finish(): Result
  /** What has arrived so far, after any error too; once. */
  takePartial(): PooledBuffer
  info(): Info
  /**
   * Asks the body to stop: `ERR_BRIMFUL_CANCELLED`. A source that is being waited for is left at once, but for a file, which
   * has its window back first. Works from inside a callback.
   */
  cancel(): void
  /** Begins again for another body, with these options or the same ones, keeping up to 1 MiB of memory. Views of the last one are revoked. */
  reset(options?: BodyOptions): void
}

/** Makes collectors. */
export const Collector: {
  new (options: BodyOptions & { result: 'pooled'; pool?: Pool | null }): Collector<PooledBuffer>
  /**
   * The body lies in this memory of the caller's, as `collectInto` says; `info().length` tells how much of it, and `finish`
   * and `takePartial` give a pooled copy. Not memory that other threads see.
   */
  new (options: BodyOptions & { target: NodeJS.ArrayBufferView | ArrayBuffer; pool?: Pool | null }): Collector<PooledBuffer>
  new (options?: BodyOptions & { result?: 'exact' | undefined; pool?: Pool | null }): Collector
  readonly prototype: Collector
}

/**
 * A body in the memory it arrived in. Treat it as read-only: several readers may share it.
 *
 * `release` gives the memory to the next body: all views become empty (length 0), wherever they are, once no slice is
 * left. A buffer that is
 * not released is cleaned up by the garbage collector, and its memory is not used again.
 */
export class PooledBuffer {
  private constructor()
  /** Bytes of the body. */
  readonly length: number
  /** Whether the body was cut at its limit. */
  readonly truncated: boolean
  info(): Info
  /**
   * All bytes as one Buffer, the same one each time: the body's own memory, without a copy, where it lies in one block (bodies
   * up to 1 GiB, unless the pool has `memory: 'list'`); else joined once.
   *
   * It is a view of a resizable ArrayBuffer for bodies above 64 KiB. A few interfaces refuse those (`new Response(view)`
   * in Node 20 and 22): give them `toBuffer()`.
   */
  asBuffer(): Buffer
  /** A copy that owns its memory and outlives `release`. */
  toBuffer(): Buffer
  /** The body's pieces in order, without a copy. An empty body has none. */
  segments(): Buffer[]
  /**
   * Bytes `begin` to `end` as a buffer of their own that shares the memory; the arguments are those of `Buffer.subarray`.
   * It holds all of the memory until it is released itself: the last release empties the views of all of them.
   */
  subarray(begin?: number, end?: number): PooledBuffer
  /** The body as a string, as {@link collectText} makes it; errors carry no `partial`, since the body stays. */
  text(options?: TextOptions): string
  /** What the body means as JSON. Throws JSON.parse's own error, unchanged. */
  json(options?: TextOptions): any
  /** Gives the memory back; every further call but this one is `ERR_BRIMFUL_STATE`. */
  release(): void
  [Symbol.dispose](): void
}

export interface PoolOptions {
  /** The most bytes of memory that lie in the pool for the next bodies. Default: 64 MiB. */
  maxRetained?: number | bigint | null
  /**
   * The most writable bytes that bodies and buffers of this pool may have at once; beyond it `ERR_BRIMFUL_BUDGET`, at once and with
   * nothing changed. Default: none. Exact results are not counted.
   */
  budget?: number | bigint | null
  /** The limit of bodies whose own options say none. */
  limit?: number | bigint | null
  /** Memory that lies unused for so many milliseconds is given back at the next use. Default: 10 000. */
  idleMs?: number | null
  /** Clears every window before it is used, also those that only the library writes into. */
  scrub?: boolean
  /** `'auto'`: large bodies lie in one block that grows in place. `'list'`: in a list of fixed blocks. */
  memory?: 'auto' | 'list'
}

/** Statistics of a pool: counts of blocks, and the same in bytes. */
export interface PoolStats {
  rented: number
  rentedBytes: number
  released: number
  releasedBytes: number
  /** Rents that were served by recycled memory. */
  reused: number
  reusedBytes: number
  allocated: number
  allocatedBytes: number
  freed: number
  freedBytes: number
  /** What bodies and buffers hold now. */
  outstanding: number
  outstandingBytes: number
  /** What lies in the pool now. */
  retained: number
  retainedBytes: number
  /** The most bytes owned at once. */
  peakBytes: number
  /** Rents that found no memory, or none within the budget. */
  refused: number
}

/** Recycles the memory of bodies, within a cap. */
export class Pool {
  constructor(options?: PoolOptions)
  stats(): PoolStats
  /** Gives retained memory back until at most `keep` bytes are left; answers how many went. */
  trim(keep?: number): number
  /** Keeps nothing any more. Buffers that are out stay valid. */
  close(): void
}

/** What brimful itself has to say; errors of a source come out as they are. */
export class BrimfulError extends Error {
  private constructor()
  readonly name: 'BrimfulError'
  readonly code:
    | 'ERR_BRIMFUL_LIMIT'
    | 'ERR_BRIMFUL_SHORT'
    | 'ERR_BRIMFUL_LONG'
    | 'ERR_BRIMFUL_CONTRACT'
    | 'ERR_BRIMFUL_NO_PROGRESS'
    | 'ERR_BRIMFUL_CANCELLED'
    | 'ERR_BRIMFUL_STATE'
    | 'ERR_BRIMFUL_BUSY'
    | 'ERR_BRIMFUL_BUDGET'
    | 'ERR_BRIMFUL_NO_MEMORY'
    | 'ERR_BRIMFUL_INVALID'
    | 'ERR_BRIMFUL_WOULD_BLOCK'
    | 'ERR_BRIMFUL_ENCODING'
    | 'ERR_BRIMFUL_PANIC'
  /** Bytes that had come. */
  readonly received?: number
  /** The limit that holds for the body; for a text that no string can hold, the longest one's length in units of UTF-16. */
  readonly limit?: number
  /** The length that was announced. */
  readonly expected?: number
  /** Of `collectInto`: how many bytes lie in the target. */
  readonly landed?: number
  /** Of `ERR_BRIMFUL_ENCODING`: where the first bytes that are no text begin, in bytes from the start of the body. */
  readonly offset?: number
  /** What came before the error, if the call made the collector itself; with `collector` it is in that one. Its memory goes with the error. */
  readonly partial: PooledBuffer | undefined
  /** Of `ERR_BRIMFUL_WOULD_BLOCK`: what to go on with. */
  readonly collector?: Collector
}
