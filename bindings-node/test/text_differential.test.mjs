// The engine's decoders beside this Node's TextDecoder: every sequence of one and two bytes, and random text with faults. Where
// the Encoding Standard says otherwise than Node does, it is written below, and in docs/design/text.md with the reason. Such
// text is held against Node character by character, its faults against the standard's rule; all other text against Node as a whole.
//
//     BRIMFUL_FUZZ_SECONDS=600 node --test text_differential.test.mjs     for as long, with new inputs
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectTextSync } from 'brimful'

const SECONDS = Number(process.env.BRIMFUL_FUZZ_SECONDS ?? 0)
const between = (byte, least, most) => byte >= least && byte <= most
const range = (least, most) => Array.from({ length: most - least + 1 }, (_, index) => least + index)
const pair = (first, second) => (first << 8) | second

/** windows-949 has the syllables that KS X 1001 lacks in the order of Unicode, at the places that are left over. */
function* syllablesOfWindows949() {
  const decoder = new TextDecoder('euc-kr')
  const known = new Set(range(0xb0, 0xc8).flatMap((first) => range(0xa1, 0xfe).map((second) => decoder.decode(new Uint8Array([first, second])))))
  const lacking = range(0xac00, 0xd7a3).map((unit) => String.fromCharCode(unit)).filter((syllable) => !known.has(syllable))
  assert.equal(lacking.length, 8822)
  const seconds = [...range(0x41, 0x5a), ...range(0x61, 0x7a), ...range(0x81, 0xfe)]
  const places = range(0x81, 0xc6).flatMap((first) => seconds.filter((second) => first < 0xa1 || second < 0xa1).map((second) => pair(first, second)))
  for (const [index, syllable] of lacking.entries()) yield [places[index], syllable]
}

/**
 * The encodings that Node reads otherwise than the standard says:
 *   otherwise   of one byte or two what they are, undefined if they are a fault; in Node they are something else
 *   begins      is this the first byte of two?
 *   taken       is a pair that is no character one fault in the one and another number of bytes in the other?
 */
const DIFFERENT = {
  'windows-1252': {
    // Before Node 23 its decoder is that of ISO-8859-1.
    otherwise: new Map(
      [...'€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ']
        .map((character, index) => [0x80 + index, character])
        .filter(([byte, character]) => new TextDecoder('windows-1252').decode(new Uint8Array([byte])) !== character),
    ),
    begins: () => false,
  },
  shift_jis: {
    // ICU's table is IBM's: three control characters change places, and 80 is none.
    otherwise: new Map([0x1a, 0x1c, 0x7f, 0x80].map((byte) => [byte, String.fromCharCode(byte)])),
    begins: (byte) => between(byte, 0x81, 0x9f) || between(byte, 0xe0, 0xfc),
    // ICU takes a second byte along that is possible after others, and leaves one that is possible after none.
    taken: (first, second) => between(second, 0x40, 0x7e) || second > 0xfc,
  },
  'euc-kr': {
    // ICU's table is KS X 1001 alone, with control characters beside it and two rows for private ones.
    otherwise: new Map([
      ...[...range(0x80, 0x8d), ...range(0x90, 0x9f)].map((byte) => [byte, undefined]),
      ...syllablesOfWindows949(),
      [0xa2e6, '€'],
      [0xa2e7, '®'],
      ...range(0xa1, 0xfe).flatMap((second) => [0xc9, 0xfe].map((first) => [pair(first, second), undefined])),
    ]),
    begins: (byte) => between(byte, 0x81, 0xfe),
    // ICU leaves a second byte that is not possible, if it can begin something.
    taken: (first, second) => (first < 0xa1 ? second >= 0x80 : between(second, 0x80, 0x9f)),
  },
}

/**
 * The text that the standard makes of bytes, of Node's characters where they are the same; where the first fault is; and whether
 * Node has to make the same of all of it.
 */
function standard({ otherwise, begins, taken }, bytes, decoder) {
  const characterOf = (length, at) => {
    const code = length === 1 ? bytes[at] : pair(bytes[at], bytes[at + 1])
    if (otherwise.has(code)) return otherwise.get(code)
    const text = outcome(() => decoder.decode(bytes.subarray(at, at + length)))
    return text?.length === 1 ? text : undefined
  }
  const found = { text: '', fault: undefined, alike: true }
  for (let at = 0, length; at < bytes.length; at += length) {
    length = begins(bytes[at]) && at + 1 < bytes.length ? 2 : 1
    const character = characterOf(length, at)
    if (character === undefined) {
      found.fault ??= at
      if (length === 2 && taken(bytes[at], bytes[at + 1])) found.alike = false
      // What is ASCII is never lost to a fault before it.
      if (length === 2 && bytes[at + 1] < 0x80) length = 1
    }
    if (otherwise.has(length === 1 ? bytes[at] : pair(bytes[at], bytes[at + 1]))) found.alike = false
    found.text += character ?? '\ufffd'
  }
  return found
}

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

/** The text, or undefined where there is a fault; then `told` is given where it is, if the decoder says so. */
function outcome(decode, told = () => {}) {
  try {
    return decode()
  } catch (error) {
    assert.ok(error.code === 'ERR_BRIMFUL_ENCODING' || error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA', error)
    told(error.offset)
    return undefined
  }
}

/** Fails on a difference that is not written down; answers whether there can be none. */
function compare(encoding, bytes, decoders) {
  const hex = `${encoding}: ${bytes.toString('hex')}`
  const cut = bytes.length >> 1
  let fault
  const strict = outcome(() => collectTextSync(bytes, { encoding, fatal: true }), (offset) => { fault = offset })
  const replaced = collectTextSync([bytes.subarray(0, cut), bytes.subarray(cut)], { encoding })
  if (DIFFERENT[encoding]) {
    const expected = standard(DIFFERENT[encoding], bytes, decoders.strict)
    assert.equal(replaced, expected.text, hex)
    assert.equal(fault, expected.fault, hex)
    assert.equal(strict, fault === undefined ? expected.text : undefined, hex)
    if (!expected.alike) return false
  }
  assert.equal(strict, outcome(() => decoders.strict.decode(bytes)), hex)
  assert.equal(replaced, decoders.replacing.decode(bytes), hex)
  return true
}

for (const encoding of Object.keys(SENTENCES)) {
  const decoders = { strict: new TextDecoder(encoding, { fatal: true }), replacing: new TextDecoder(encoding) }

  test(`${encoding}: every sequence of one and two bytes is Node s, or it is written down that it is not`, () => {
    for (const first of range(0, 255)) {
      const seconds = first >= 0x80 || encoding.startsWith('utf-16') ? range(0, 255) : []
      for (const bytes of [Buffer.from([first]), ...seconds.map((second) => Buffer.from([first, second]))]) {
        if (compare(encoding, bytes, decoders)) continue
        assert.notEqual(decoders.replacing.decode(bytes), collectTextSync(bytes, { encoding }), `${encoding}: ${bytes.toString('hex')} is written down`)
      }
    }
  })

  test(`${encoding}: random text with faults is Node s too`, () => {
    const random = numbers(SECONDS ? Date.now() : 20261201)
    const below = (most) => random.next().value % most
    const end = Date.now() + (SECONDS * 1000) / Object.keys(SENTENCES).length
    const sentence = SENTENCES[encoding]
    let compared = 0
    let turn = 0
    while (turn < 10_000 || Date.now() < end) {
      turn++
      const begin = below(sentence.length)
      const bytes = [...sentence.subarray(begin, begin + below(24))]
      for (let faults = [0, 0, 1, 1, 2, 5][below(6)]; faults > 0; faults--) {
        const at = below(bytes.length + 1)
        const put = [[below(256)], [0x80 + below(128)], [], [0xed, 0xa0, 0x80], [0xf4, 0x90], [0, 0xd8], [0xdc, 0], [0x81, 0x30], [0xe2, 0x82], [0x80 + below(128), below(256)]][below(10)]
        bytes.splice(at, below(2), ...put)
      }
      compared += compare(encoding, Buffer.from(bytes), decoders)
    }
    // Enough of them are held against Node as a whole.
    assert.ok(compared > turn * 0.2, `${compared} of ${turn}`)
    if (SECONDS) console.log(`${process.version}, ${encoding}: ${turn} inputs, ${turn - compared} with something that Node reads otherwise`)
  })
}
