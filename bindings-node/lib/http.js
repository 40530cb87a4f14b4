// What HTTP says of a body's length (E14), and which side a message is read on.
'use strict'

let http

/** The class itself, for the many objects that only look like it (decoded responses keep the header). */
function isIncomingMessage(source) {
  // Loaded when there is something that looks like it, since most programs need no node:http for this.
  return 'httpVersion' in source && source instanceof (http ??= require('node:http')).IncomingMessage
}

/** Whether this is a request that a server reads: its client waits for an answer on the same connection. */
const isServerSide = (message) => isIncomingMessage(message) && message.statusCode === null

function parse(text) {
  if (typeof text !== 'string' || !/^\d{1,19}$/.test(text)) return undefined
  const length = BigInt(text)
  return length <= Number.MAX_SAFE_INTEGER ? Number(length) : length
}

const isPlain = (encoding) => ['', 'identity'].includes(String(encoding ?? '').trim().toLowerCase())

/** A length that a message of node:http announces, if these bytes are what is read here. */
function lengthOfMessage(message) {
  const { headers, statusCode } = message
  if (headers['transfer-encoding'] !== undefined || !isPlain(headers['content-encoding'])) return undefined
  if (message.readableDidRead || message.readableEncoding) return undefined // some of it is gone, or not bytes any more
  const bodiless = message.req?.method === 'HEAD' || statusCode === 204 || statusCode === 304
  return bodiless ? undefined : parse(headers['content-length'])
}

/**
 * A length that a fetched response announces. One that a program made itself, or a request, may have another body than
 * its headers say (the headers of what it was made from), so there it is a hint.
 */
function lengthOfResponse(response) {
  const { headers } = response
  if (typeof headers?.get !== 'function') return {}
  const length = parse(headers.get('content-length'))
  if (length === undefined || !isPlain(headers.get('content-encoding'))) return {}
  return response.url && 'status' in response ? { length } : { hint: length }
}

/** The error by which node:http says that the connection went before the body's end. */
const isMessageCut = (message, error) => error?.code === 'ECONNRESET' && message.aborted === true && !message.complete

/** The same of fetch: a TypeError around what the connection said. */
const isFetchCut = (error) =>
  error instanceof TypeError && ['UND_ERR_SOCKET', 'ECONNRESET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'].includes(error.cause?.code)

module.exports = { isIncomingMessage, isServerSide, lengthOfMessage, lengthOfResponse, isMessageCut, isFetchCut }
