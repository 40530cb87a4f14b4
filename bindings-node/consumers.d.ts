/// <reference types="node" />

import type { CollectOptions, Source, TextOptions } from './index.js'

/**
 * The names of `node:stream/consumers`, with options: limits, lengths, a signal. What differs where no options are given: a
 * response is read in the charset that its Content-Type names, bytes that begin with a mark of UTF-16 or UTF-32 in that
 * encoding, and a body that is cut short is an error. Chunks that are strings count as UTF-8, each by itself: a mark at the
 * body's start is dropped, half a surrogate pair becomes U+FFFD, and a string ends a character that the bytes before it
 * began. Chunks that are neither bytes nor strings are refused by all of them.
 */
export function arrayBuffer(source: Source, options?: CollectOptions): Promise<ArrayBuffer>
export function buffer(source: Source, options?: CollectOptions): Promise<Buffer>
export function bytes(source: Source, options?: CollectOptions): Promise<Uint8Array>
export function text(source: Source, options?: CollectOptions & TextOptions): Promise<string>
export function json(source: Source, options?: CollectOptions & TextOptions): Promise<any>
