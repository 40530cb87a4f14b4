// The code of docs/recipes.md: reads a connection of values over many packets (framed.mjs) from stdin and tells each value's
// length and SHA-256. Value number N, where it is given, is given up when it has not come within a while.
//
//     node recipes.mjs [N] < CONNECTION
import { createHash } from 'node:crypto'
import { Connection, Decoder } from './framed.mjs'

const PATIENCE = 300 // milliseconds

/** Calls `take` with each value's number, and the value or what ended it, as the chunks of an event emitter come. */
export function onValues(stream, decoder, take) {
  stream.on('data', (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      at += decoder.feed(chunk.subarray(at)) // what has come is used; nothing is looked at again
      if (decoder.ended) take(decoder.values - 1, () => decoder.take())
    }
  })
}

export function tell(number, value) {
  if (value === null) return console.log(`${number}: missing`) // not the same as an empty one
  const hash = createHash('sha256').update(value.asBuffer()).digest('hex')
  console.log(`${number}: ${value.length} bytes, ${hash}`)
  value.release() // its memory serves the values after it
}

async function tellAll(connection, unwanted) {
  for (let number = 0; ; number++) {
    try {
      // A value that is given up is passed over by the next call, which waits for its own.
      const signal = number === unwanted ? AbortSignal.timeout(PATIENCE) : undefined
      tell(number, await connection.value({ signal }))
    } catch (error) {
      if (error.name === 'TimeoutError') console.log(`${number}: cancelled`)
      else if (error.code === 'ECONNRESET') return
      else if (error.name === 'BrimfulError') console.log(`${number}: ${error.code.slice('ERR_BRIMFUL_'.length).toLowerCase()}`)
      else throw error // the connection is broken
    }
  }
}

const decoder = new Decoder({ result: 'pooled', limit: 100_000_000 }) // of each value
const unwanted = process.argv[2]
if (unwanted === 'events') onValues(process.stdin, decoder, (number, take) => tell(number, take()))
else await tellAll(new Connection(process.stdin, decoder), unwanted === undefined ? undefined : Number(unwanted))
