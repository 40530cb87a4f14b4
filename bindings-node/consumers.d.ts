/// <reference types="node" />

import type { CollectOptions, Source, TextOptions } from './index.js'

/**
 * The names of `node:stream/consumers`, with options: limits, lengths, a signal. Two things differ where no options are
 * given: a response is read in the charset that its Content-Type names, and a body that is cut short is an error.
 */
export function arrayBuffer(source: Source, options?: CollectOptions): Promise<ArrayBuffer>
export function buffer(source: Source, options?: CollectOptions): Promise<Buffer>
export function bytes(source: Source, options?: CollectOptions): Promise<Uint8Array>
export function text(source: Source, options?: CollectOptions & TextOptions): Promise<string>
export function json(source: Source, options?: CollectOptions & TextOptions): Promise<any>
