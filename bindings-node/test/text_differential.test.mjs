// The engine's decoders beside this Node's TextDecoder: every sequence of one and two bytes, and random text with faults.
// Where the two differ, it is written below with the reason; a difference that is not there fails.
//
//     BRIMFUL_FUZZ_SECONDS=600 node --test text_differential.test.mjs     for as long, with new inputs
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectTextSync } from 'brimful'

const SECONDS = Number(process.env.BRIMFUL_FUZZ_SECONDS ?? 0)
const has = (bytes, ...wanted) => bytes.some((byte) => wanted.includes(byte))
const never = () => false

/** Of each encoding: what Node's decoder reads otherwise than the Encoding Standard says, and why. */
const ENCODINGS = {
  'utf-8': never,
  'utf-16le': never,
  'utf-16be': never,
  // Before Node 23, the decoder is that of ISO-8859-1.
  'windows-1252': new TextDecoder('windows-1252').decode(new Uint8Array([0x80])) === '€' ? never : (bytes) => bytes.some((byte) => byte >= 0x80 && byte < 0xa0),
  gb18030: never,
  // ICU's table is IBM's: 1A, 1C and 7F change places, 80 is a fault and A0, FD, FE, FF are characters. A fault takes
  // other bytes with it.
  shift_jis: (bytes) => has(bytes, 0x1a, 0x1c, 0x7f, 0x80, 0xa0, 0xfd, 0xfe, 0xff),
  // ICU's table is KS X 1001 alone: no Hangul below A1, no euro sign (A2E6) and registered sign (A2E7); 80 to A0 are control
  // characters, and the rows C9 and FE are private.
  'euc-kr': (bytes) => has(bytes, 0xc9, 0xfe, 0xa2) || bytes.some((byte, at) => byte >= 0x80 && (byte < 0xa1 || (bytes[at + 1] < 0xa1 && bytes[at + 1] >= 0x41))),
}
/** Where a fault takes other bytes with it than the standard says, only where there is none can be compared. */
const FAULTS_DIFFER = new Set(['shift_jis', 'euc-kr'])

/** What is put into text: sentences in each encoding, which Node cannot encode, as bytes. */
const SENTENCES = {
  'utf-8': Buffer.from('line\r\nby line, déjà vu ÿ€ 日本語 한국어 简体 😀𠀀\u{10ffff}'),
  'utf-16le': Buffer.from('line\r\nby line, déjà vu ÿ€ 日本語 한국어 简体 😀𠀀\u{10ffff}', 'utf16le'),
  'utf-16be': Buffer.from('line\r\nby line, déjà vu ÿ€ 日本語 한국어 简体 😀𠀀\u{10ffff}', 'utf16le').swap16(),
  'windows-1252': Buffer.from('line by line, d\xe9j\xe0 vu \xff\x80 \x93quoted\x94', 'latin1'),
  gb18030: Buffer.from('6c696e65bcf2ccd6d6d0cec4b5c4bed7d7d3a3acb1eaa1a38136a53095328236e3329a35', 'hex'),
  shift_jis: Buffer.from('6c696e6593fa967b8cea82cc836583458358836742b1b2b3', 'hex'),
  'euc-kr': Buffer.from('6c696e65c7d1b1b9bef4b9aec0e5c0d4b4cfb4d9f9d3edae', 'hex'),
}

/** Small random numbers, the same ones each time unless it is to go on for long. */
function* numbers(seed) {
  for (let state = seed >>> 0 || 1; ; ) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    yield state >>> 0
  }
}

function outcome(decode) {
  try {
    return decode()
  } catch (error) {
    assert.ok(error.code === 'ERR_BRIMFUL_ENCODING' || error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA', error)
    return undefined
  }
}

/** Fails on a difference that has no reason; answers whether the two were compared. */
function compare(encoding, bytes, decoders) {
  if (ENCODINGS[encoding](bytes)) return false
  const strict = outcome(() => collectTextSync(bytes, { encoding, fatal: true }))
  const expected = outcome(() => decoders.strict.decode(bytes))
  assert.equal(strict, expected, `${encoding}: ${bytes.toString('hex')}`)
  if (strict === undefined && FAULTS_DIFFER.has(encoding)) return true
  const cut = bytes.length >> 1
  const replaced = collectTextSync([bytes.subarray(0, cut), bytes.subarray(cut)], { encoding })
  assert.equal(replaced, decoders.replacing.decode(bytes), `${encoding}: ${bytes.toString('hex')}`)
  return true
}

for (const encoding of Object.keys(ENCODINGS)) {
  const decoders = { strict: new TextDecoder(encoding, { fatal: true }), replacing: new TextDecoder(encoding) }

  test(`${encoding}: every sequence of one and two bytes is Node s or has a reason`, () => {
    for (let first = 0; first < 256; first++) {
      compare(encoding, Buffer.from([first]), decoders)
      for (let second = 0; second < 256; second++) {
        if (first >= 0x80 || encoding.startsWith('utf-16')) compare(encoding, Buffer.from([first, second]), decoders)
      }
    }
  })

  test(`${encoding}: random text with faults is Node s too`, () => {
    const random = numbers(SECONDS ? Date.now() : 20261201)
    const below = (most) => random.next().value % most
    const end = Date.now() + (SECONDS * 1000) / Object.keys(ENCODINGS).length
    const sentence = SENTENCES[encoding]
    let compared = 0
    let turn = 0
    while (turn < 10_000 || Date.now() < end) {
      turn++
      const begin = below(sentence.length)
      const bytes = [...sentence.subarray(begin, begin + below(24))]
      for (let faults = [0, 0, 1, 1, 2, 5][below(6)]; faults > 0; faults--) {
        const at = below(bytes.length + 1)
        const put = [[below(256)], [0x80 + below(128)], [], [0xed, 0xa0, 0x80], [0xf4, 0x90], [0, 0xd8], [0xdc, 0], [0x81, 0x30], [0xe2, 0x82]][below(9)]
        bytes.splice(at, below(2), ...put)
      }
      compared += compare(encoding, Buffer.from(bytes), decoders)
    }
    // The reasons hide few of the inputs where text has few bytes that they are about.
    assert.ok(compared > turn * 0.2, `${compared} of ${turn}`)
    if (SECONDS) console.log(`${process.version}, ${encoding}: ${turn} inputs, ${turn - compared} with a reason to differ`)
  })
}
