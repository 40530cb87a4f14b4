//! Text (E41 to E43): the table of cases, every cut, models, memory.
#![allow(
    clippy::cast_possible_truncation,
    reason = "numbers of tests are small, and random bytes are cut on purpose"
)]

mod common;

use brimful::{
    Buffer, Collector, Encoding, Error, Fault, Faults, Filled, MemoryRef, Options, Text, Undecoded, Unit, Widest,
};
use serde_json::Value;
use std::mem::MaybeUninit;

fn read(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/text")
        .join(name);
    serde_json::from_str(&std::fs::read_to_string(path).expect("it is there")).expect("it is JSON")
}

fn unhex(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).expect("a hex digit") as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// The text in each of the three ways, which have to agree: its pieces, its measure, memory of its own.
fn decode(pieces: &[&[u8]], encoding: Option<Encoding>, faults: Faults) -> Result<String, Fault> {
    let text = Text::new(pieces, encoding);
    let mut shown = String::new();
    let whole = text.pieces(faults, |piece| {
        assert!(!piece.is_empty());
        shown.push_str(piece);
        Ok::<(), Fault>(())
    });
    let measure = text.measure(faults);
    let exact = text.to_exact(faults, &MemoryRef::malloc(), 1);
    match whole {
        Ok(()) => {
            let measure = measure.expect("as the pieces");
            assert_eq!(measure.utf8, shown.len());
            assert_eq!(measure.utf16, shown.encode_utf16().count());
            assert_eq!(measure.chars, shown.chars().count());
            let widest = match shown.chars().max().map_or(0, u32::from) {
                ..0x80 => Widest::Ascii,
                0x80..0x100 => Widest::Latin1,
                0x100..0x10000 => Widest::Bmp,
                0x10000.. => Widest::Astral,
            };
            assert_eq!(measure.widest, widest);
            let exact = exact.expect("as the pieces");
            assert_eq!(exact.as_slice(), shown.as_bytes());
            let (pointer, length, _) = exact.into_raw_parts();
            // SAFETY: one byte of padding was asked for; malloc gave the memory, which nobody else has.
            unsafe {
                assert_eq!(pointer.add(length).read(), 0);
                libc::free(pointer.as_ptr().cast());
            }
            Ok(shown)
        }
        Err(fault) => {
            assert_eq!(measure, Err(fault));
            assert_eq!(exact.err(), Some(Undecoded::Fault(fault)));
            Err(fault)
        }
    }
}

/// Bytes that are neither all alike nor ever the same, from a number.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next()).expect("31 bits") % bound
    }

    /// Bytes cut anywhere, some pieces empty.
    fn cut<'a>(&mut self, mut bytes: &'a [u8], most: usize) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(self.below(most + 1).min(bytes.len()));
            pieces.push(piece);
            bytes = rest;
        }
        pieces
    }

    /// Text of all widths, with faults in it where `faulty`, as bytes of this encoding of Unicode.
    fn bytes(&mut self, count: usize, encoding: Encoding, faulty: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..count {
            let ranges = [
                0x20..0x7F,
                0x20..0x7F,
                0x80..0x800,
                0x800..0xD800,
                0xE000..0x1_0000,
                0x1_0000..0x11_0000,
            ];
            let range: std::ops::Range<usize> = ranges[self.below(ranges.len())].clone();
            let number = range.start + self.below(range.len());
            let character = char::from_u32(u32::try_from(number).expect("a character")).expect("a character");
            for _ in 0..[1, 1, 1, 30][self.below(4)] {
                put(&mut bytes, character, encoding);
            }
            if faulty && self.below(8) == 0 {
                (0..=self.below(4)).for_each(|_| bytes.push(self.next() as u8));
            }
        }
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, character: char, encoding: Encoding) {
    let mut units = [0; 2];
    match encoding {
        Encoding::UTF_16LE => {
            let units = character.encode_utf16(&mut units);
            units.iter().for_each(|unit| bytes.extend(unit.to_le_bytes()));
        }
        Encoding::UTF_16BE => {
            let units = character.encode_utf16(&mut units);
            units.iter().for_each(|unit| bytes.extend(unit.to_be_bytes()));
        }
        Encoding::UTF_32LE => bytes.extend(u32::from(character).to_le_bytes()),
        Encoding::UTF_32BE => bytes.extend(u32::from(character).to_be_bytes()),
        _ => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
    }
}

const UNICODE: [Encoding; 5] = [
    Encoding::UTF_8,
    Encoding::UTF_16LE,
    Encoding::UTF_16BE,
    Encoding::UTF_32LE,
    Encoding::UTF_32BE,
];

#[test]
fn every_case_of_the_table_holds_whole_and_cut_in_every_place() {
    let (cases, mut failures, mut ran) = (read("cases.json"), Vec::new(), 0);
    for case in cases.as_array().expect("an array") {
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let bytes = unhex(text("bytes"));
        let label = case["encoding"].as_str();
        let encoding = label.and_then(Encoding::for_label);
        if text("status") == "invalid" {
            assert_eq!(encoding, None, "{label:?}");
            ran += 1;
            continue;
        }
        let unknown = label.is_some() && encoding.is_none();
        if unknown && !cfg!(feature = "legacy-encodings") {
            continue; // an encoding that this build leaves out
        }
        let faults = match text("errors") {
            "strict" => Faults::Strict,
            "replace" => Faults::Replace,
            other => panic!("errors: {other}"),
        };
        let expected = match text("status") {
            "ok" => Ok(String::from_utf8(unhex(text("utf8"))).expect("UTF-8")),
            "encoding" => Err(case["offset"].as_u64().expect("a number") as usize),
            other => panic!("status: {other}"),
        };
        let check = |pieces: &[&[u8]]| {
            let found = decode(pieces, encoding, faults).map_err(|fault| fault.offset);
            let applies = Text::new(pieces, encoding).encoding().name();
            (unknown || found != expected || applies != text("applies"))
                .then(|| format!("{case}\n    in {pieces:02x?}: {applies} {found:?}"))
        };
        let two = (0..=bytes.len().min(300)).map(|at| vec![&bytes[..at], &bytes[at..]]);
        let each = std::iter::once(bytes.chunks(1).collect());
        let three = (0..bytes.len().min(20)).map(|at| vec![&bytes[..at], &bytes[at..=at], &bytes[at + 1..]]);
        failures.extend(two.chain(each).chain(three).find_map(|pieces| check(&pieces)));
        ran += 1;
    }
    assert!(
        failures.is_empty(),
        "{} cases fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(ran > 300, "only {ran} cases ran");
}

#[test]
#[cfg(feature = "legacy-encodings")]
fn every_label_of_the_encoding_standard_resolves_in_any_case_with_quotes_and_white_space() {
    use brimful::Charset;
    let mut count = 0;
    for (name, labels) in read("labels.json").as_object().expect("an object") {
        for label in labels.as_array().expect("an array") {
            let label = label.as_str().expect("a label");
            let written = [
                label.to_owned(),
                label.to_uppercase(),
                format!("\t{label} \n"),
                format!("\"{label}\""),
                format!("'{label}'"),
            ];
            for label in written {
                assert_eq!(
                    Encoding::for_label(&label).map(Encoding::name),
                    Some(name.as_str()),
                    "{label}"
                );
            }
            assert_eq!(Encoding::for_label(format!("{label}\0")), None);
            let charset = Charset::of_content_type(format!("text/plain; Charset=\"{label}\""));
            assert_eq!(
                charset.expect("a charset").encoding().map(Encoding::name),
                Some(name.as_str())
            );
            count += 1;
        }
    }
    assert_eq!(count, 228);
}

#[test]
fn no_segmentation_changes_a_text_or_where_its_first_fault_is() {
    let mut random = Random(1);
    for round in 0..300 {
        for encoding in UNICODE {
            let bytes = random.bytes(1 + round, encoding, round % 3 > 0);
            for given in [Some(encoding), None] {
                for faults in [Faults::Strict, Faults::Replace] {
                    let whole = decode(&[&bytes], given, faults);
                    let pieces = random.cut(&bytes, [2, 5, 50][round % 3]);
                    assert_eq!(decode(&pieces, given, faults), whole, "{bytes:02x?}");
                }
            }
        }
    }
}

#[test]
fn utf_8_is_what_the_standard_library_says_it_is() {
    let mut random = Random(2);
    for round in 0..2000 {
        let mut bytes = random.bytes(1 + round / 10, Encoding::UTF_8, round % 2 > 0);
        if round % 5 == 0 {
            bytes = (0..round).map(|_| random.next() as u8).collect();
        }
        let pieces = random.cut(&bytes, 3000);
        let strict = decode(&pieces, Some(Encoding::UTF_8), Faults::Strict);
        let replaced = decode(&pieces, Some(Encoding::UTF_8), Faults::Replace);
        let mark = if bytes.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let expected = std::str::from_utf8(&bytes[mark..]).map(str::to_owned);
        assert_eq!(
            strict.map_err(|fault| fault.offset),
            expected.map_err(|error| mark + error.valid_up_to())
        );
        assert_eq!(replaced.as_deref(), Ok(&*String::from_utf8_lossy(&bytes[mark..])));
    }
}

#[test]
fn utf_16_and_utf_32_are_what_the_standard_library_says_they_are() {
    let mut random = Random(3);
    for round in 0..1000 {
        for encoding in &UNICODE[1..] {
            let wide = *encoding == Encoding::UTF_32LE || *encoding == Encoding::UTF_32BE;
            let little = *encoding == Encoding::UTF_16LE || *encoding == Encoding::UTF_32LE;
            let mut bytes = random.bytes(1 + round / 5, *encoding, round % 2 > 0);
            bytes.insert(0, if little { 0x61 } else { 0 }); // never a mark
            bytes.splice(1..1, if wide { vec![0, 0, 0x61] } else { vec![0x61] });
            if little {
                bytes[1..if wide { 4 } else { 2 }].fill(0);
            }
            let unit = |unit: &[u8]| {
                let digits: Vec<u8> = if little {
                    unit.iter().rev().copied().collect()
                } else {
                    unit.to_vec()
                };
                digits
                    .iter()
                    .fold(0_u32, |number, &digit| number << 8 | u32::from(digit))
            };
            let expected: String = if wide {
                let units = bytes
                    .chunks(4)
                    .map(|bytes| if bytes.len() == 4 { unit(bytes) } else { u32::MAX });
                units.map(|unit| char::from_u32(unit).unwrap_or('\u{FFFD}')).collect()
            } else {
                let units: Vec<u16> = bytes.chunks_exact(2).map(|bytes| unit(bytes) as u16).collect();
                let mut text: String = char::decode_utf16(units.iter().copied())
                    .map(|unit| unit.unwrap_or('\u{FFFD}'))
                    .collect();
                // What is left at the end is one fault, a lone lead before an odd byte included.
                let led = units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit));
                if bytes.len() % 2 == 1 && !led {
                    text.push('\u{FFFD}');
                }
                text
            };
            let pieces = random.cut(&bytes, 100);
            assert_eq!(
                decode(&pieces, Some(*encoding), Faults::Replace),
                Ok(expected),
                "{encoding} {bytes:02x?}"
            );
        }
    }
}

#[test]
#[cfg(feature = "legacy-encodings")]
fn every_legacy_encoding_equals_its_one_shot_decoder_however_it_is_cut() {
    let mut random = Random(4);
    for name in read("labels.json").as_object().expect("an object").keys() {
        let (encoding, peer) = (
            Encoding::for_label(name),
            encoding_rs::Encoding::for_label_no_replacement(name.as_bytes()),
        );
        let Some(peer) = peer else { continue };
        for round in 0..60 {
            let bytes: Vec<u8> = (0..round * 40)
                .map(|_| match random.below(3) {
                    0 => random.next() as u8 & 0x7F,
                    1 => b"\x1B$B(J"[random.below(5)],
                    _ => random.next() as u8,
                })
                .collect();
            let bytes = [
                &b"a"[..],
                if peer.is_single_byte() || round % 2 == 0 {
                    b""
                } else {
                    b"\0"
                },
                &bytes,
            ]
            .concat();
            let pieces = random.cut(&bytes, 1 + round * 3);
            let (expected, _) = peer.decode_without_bom_handling(&bytes);
            assert_eq!(
                decode(&pieces, encoding, Faults::Replace).as_deref(),
                Ok(&*expected),
                "{name}"
            );
            let strict = decode(&pieces, encoding, Faults::Strict);
            let whole = peer.decode_without_bom_handling_and_without_replacement(&bytes);
            assert_eq!(strict.is_ok(), whole.is_some(), "{name}");
            let offset = strict.err().map(|fault| fault.offset);
            assert_eq!(
                decode(&[&bytes], encoding, Faults::Strict)
                    .err()
                    .map(|fault| fault.offset),
                offset
            );
            if let Some(offset) = offset {
                let before = decode(&[&bytes[..offset]], encoding, Faults::Strict);
                assert!(before.is_ok(), "{name}: what lies before the first fault has none");
            }
        }
    }
}

fn body(memory: MemoryRef, bytes: &[u8]) -> Buffer {
    let options = Options {
        first_block: 4096,
        ..Options::default()
    };
    let mut collector = Collector::new(&common::pool(memory), options).expect("options");
    bytes
        .chunks(1000)
        .for_each(|chunk| collector.write(chunk).expect("memory"));
    collector.end().expect("no length");
    collector.finish().expect("complete")
}

#[test]
fn a_body_in_blocks_and_its_slices_are_decoded_where_they_lie() {
    let text: String = "a€😀é".repeat(40_000);
    for (name, memory) in common::both() {
        for before in 0..10 {
            let bytes = ["x".repeat(before), text.clone()].concat().into_bytes();
            let buffer = body(memory.clone(), &bytes);
            let exact = buffer
                .text(None)
                .to_exact(Faults::Strict, &MemoryRef::malloc(), 0)
                .expect("well-formed");
            assert_eq!(exact.as_slice(), bytes, "{name}");
            assert_eq!(
                (exact.info().allocations, exact.info().allocated_bytes),
                (1, bytes.len() as u64)
            );
            assert_eq!(
                buffer.info().copied,
                buffer.info().copied.min(1 << 20),
                "nothing was joined"
            );
            let slice = buffer.slice(before + 1, 3 + 4).expect("within");
            let measure = slice.text(None).measure(Faults::Strict).expect("well-formed");
            assert_eq!((measure.utf16, measure.chars, measure.widest), (3, 2, Widest::Astral));
            let cut = buffer.slice(before + 2, 4).expect("within");
            let fault = cut.text(None).measure(Faults::Strict).expect_err("two continuations");
            assert_eq!((fault.offset, fault.encoding), (0, Encoding::UTF_8));
        }
    }
}

#[test]
fn well_formed_utf_8_is_shown_where_it_lies() {
    let bytes = "a€😀é".repeat(10_000).into_bytes();
    let text = Text::new(&bytes[..], None);
    let mut at = bytes.as_ptr();
    text.pieces(Faults::Strict, |piece| {
        assert_eq!(piece.as_ptr(), at);
        at = at.wrapping_add(piece.len());
        Ok::<(), Fault>(())
    })
    .expect("well-formed");
}

#[test]
fn what_the_visitor_refuses_ends_it() {
    let mut calls = 0;
    let refused = Text::new(&b"ab\xFFcd"[..], None).pieces(Faults::Replace, |_| {
        calls += 1;
        if calls == 2 { Err(Error::Cancelled) } else { Ok(()) }
    });
    assert_eq!((refused, calls), (Err(Error::Cancelled), 2));
}

#[test]
fn text_whose_length_follows_from_its_bytes_takes_one_allocation_and_no_byte_more() {
    let text = "a€😀é plain".repeat(20_000);
    for encoding in UNICODE {
        let mut bytes = Vec::new();
        text.chars().for_each(|character| put(&mut bytes, character, encoding));
        let pieces: Vec<&[u8]> = bytes.chunks(4097).collect();
        let exact = Text::new(&pieces[..], Some(encoding)).to_exact(Faults::Strict, &MemoryRef::malloc(), 1);
        let info = exact.expect("well-formed").info();
        assert_eq!(info.allocations, 1, "{encoding}");
        assert_eq!(
            (info.length, info.allocated_bytes),
            (text.len() as u64, text.len() as u64 + 1)
        );
    }
}

#[test]
fn text_that_turns_out_longer_is_moved_a_few_times_at_most_and_cut_to_its_length() {
    let mut random = Random(5);
    let ascii = vec![b'x'; 1 << 20];
    let faults = vec![0xFF; 1 << 20];
    let noise: Vec<u8> = (0..1 << 20).map(|_| random.next() as u8).collect();
    for bytes in [
        &faults[..],
        &noise,
        &[&ascii[..], &faults].concat(),
        &[&faults[..], &ascii].concat(),
    ] {
        let exact = Text::new(bytes, None)
            .to_exact(Faults::Replace, &MemoryRef::malloc(), 1)
            .expect("memory");
        assert_eq!(exact.as_slice(), String::from_utf8_lossy(bytes).as_bytes());
        let info = exact.info();
        assert!(info.allocations <= 7, "{info:?}");
        assert!(
            info.peak_held <= 3 * (bytes.len() as u64 + (64 << 10)) + 100,
            "{info:?}"
        );
    }
}

/// What `fill` writes in room for so many units, checked to leave alone what is behind the room.
fn filled<U: Unit + From<u8> + PartialEq + std::fmt::Debug>(
    text: &Text<'_, [&[u8]]>,
    faults: Faults,
    room: usize,
) -> Vec<U> {
    let mut memory = vec![MaybeUninit::new(U::from(0xA5)); room + 3];
    let Filled { units: count, whole } = text.fill(faults, &mut memory[..room]).expect("no fault");
    // SAFETY: all were written with 0xA5 at least.
    let memory: Vec<U> = memory.iter().map(|unit| unsafe { unit.assume_init() }).collect();
    let behind = if whole { count } else { room };
    assert!(count <= room && memory[behind..].iter().all(|&unit| unit == U::from(0xA5)));
    memory[..count].to_vec()
}

#[test]
fn a_host_s_string_is_filled_with_exactly_the_units_that_were_measured_and_never_beyond_its_room() {
    let sentences = [
        "",
        "plain ASCII of some length, which is widened by the block",
        "déjà vu à côté, ÿ",
        "a€日本語 and more than sixteen bytes of ASCII behind it",
        "a😀€é, 😀😀 in pairs",
    ];
    for (index, sentence) in sentences.iter().enumerate() {
        for cut in 0..=sentence.len() {
            let (head, tail) = sentence.as_bytes().split_at(cut);
            let pieces = &[head, tail, b"\xFF"][..];
            for (faults, pieces) in [(Faults::Strict, &pieces[..2]), (Faults::Replace, pieces)] {
                let text = Text::new(pieces, Some(Encoding::UTF_8));
                let measure = text.measure(faults).expect("no fault");
                let expected = String::from_utf8_lossy(&pieces.concat()).into_owned();
                let utf16: Vec<u16> = expected.encode_utf16().collect();
                let utf32: Vec<u32> = expected.chars().map(u32::from).collect();
                assert_eq!(filled::<u16>(&text, faults, measure.utf16), utf16);
                assert_eq!(filled::<u32>(&text, faults, measure.chars), utf32);
                let latin1 = expected
                    .chars()
                    .map_while(|character| u8::try_from(u32::from(character)).ok());
                let latin1: Vec<u8> = latin1.collect();
                assert_eq!(
                    filled::<u8>(&text, faults, measure.chars),
                    latin1,
                    "up to what has no place"
                );
                assert_eq!(measure.widest <= Widest::Latin1, utf32.iter().all(|&unit| unit < 0x100));
                if index < 4 || cut % 5 == 0 {
                    for room in 0..=utf16.len() {
                        let fits = String::from_utf16(&utf16[..room]).map_or(room.saturating_sub(1), |_| room);
                        assert_eq!(filled::<u16>(&text, faults, room), utf16[..fits], "no half of a pair");
                        let fits = room.min(utf32.len());
                        assert_eq!(filled::<u32>(&text, faults, fits), utf32[..fits]);
                    }
                }
            }
        }
    }
    let fault = Text::new(&b"ab\xFF"[..], None).fill(Faults::Strict, &mut [MaybeUninit::<u16>::uninit(); 9]);
    assert_eq!(fault.map_err(|fault| fault.offset), Err(2));
}

#[test]
fn long_texts_of_characters_of_every_length_in_any_order_are_filled_right() {
    let kinds: [&[char]; 5] = [
        &['a', 'Z', '\0', '\u{7f}'],
        &['\u{80}', 'é', 'ÿ', '\u{100}', '\u{7ff}'],
        &['\u{800}', '€', '日', '\u{ffff}', '\u{d7ff}', '\u{e000}'],
        &['\u{10000}', '😀', '\u{10ffff}'],
        &['é', 'ü'],
    ];
    let mut state = 20_261_201_u32;
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % most
    };
    for turn in 0..400 {
        // Runs of one kind, so that each way through is taken for long, and every change from one to another.
        let (length, run) = (below(1200), 1 + below(40));
        let mut text = String::new();
        while text.len() < length {
            let kind = match turn % 4 {
                0 => kinds[[0, 4][below(2)]],
                1 => kinds[below(2)],
                _ => kinds[below(5)],
            };
            text.extend((0..=below(run)).map(|_| kind[below(kind.len())]));
        }
        let utf16: Vec<u16> = text.encode_utf16().collect();
        let utf32: Vec<u32> = text.chars().map(u32::from).collect();
        let latin1: Vec<u8> = utf32.iter().map_while(|&number| u8::try_from(number).ok()).collect();
        let (head, tail) = text.as_bytes().split_at(below(text.len() + 1));
        let pieces = &[head, tail][..];
        let decoded = Text::new(pieces, Some(Encoding::UTF_8));
        assert_eq!(filled::<u16>(&decoded, Faults::Strict, utf16.len()), utf16, "{text}");
        assert_eq!(filled::<u32>(&decoded, Faults::Strict, utf32.len()), utf32, "{text}");
        assert_eq!(filled::<u8>(&decoded, Faults::Strict, utf32.len()), latin1, "{text}");
        // Less room, and more.
        let room = below(utf32.len() + 1);
        assert_eq!(filled::<u32>(&decoded, Faults::Strict, room), utf32[..room], "{text}");
        assert_eq!(
            filled::<u16>(&decoded, Faults::Strict, utf16.len() + 100),
            utf16,
            "{text}"
        );
    }
}

#[test]
fn memory_that_cannot_be_had_is_a_status_and_what_was_there_is_given_back() {
    use brimful::memory::{Memory, Profile, Raw};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    static OUT: AtomicUsize = AtomicUsize::new(0);
    struct Few;
    // SAFETY: all is passed on to a memory that keeps the contract.
    unsafe impl Memory for Few {
        fn profile(&self) -> Profile {
            MemoryRef::heap().profile()
        }
        fn allocate(&self, size: usize, align: usize) -> Option<Raw> {
            LEFT.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).ok()?;
            OUT.fetch_add(1, Relaxed);
            MemoryRef::heap().allocate(size, align)
        }
        unsafe fn deallocate(&self, raw: Raw) {
            OUT.fetch_sub(1, Relaxed);
            // SAFETY: passed on from the caller.
            unsafe { MemoryRef::heap().deallocate(raw) };
        }
    }
    let memory = MemoryRef::counted(Few).expect("memory");
    let bytes = [&[b'x'; 300][..], &[0xFF; 100_000]].concat();
    let decode = |faults| Text::new(&bytes[..], None).to_exact(faults, &memory, 1);
    let mut allocations = 0;
    loop {
        LEFT.store(allocations, Relaxed);
        match decode(Faults::Replace) {
            Ok(exact) => {
                assert_eq!(exact.len(), 300 + 3 * 100_000, "in memory that cannot reallocate");
                assert_eq!(OUT.load(Relaxed), 1);
                break;
            }
            Err(undecoded) => assert_eq!(
                (undecoded, Error::from(undecoded)),
                (Undecoded::NoMemory, Error::NoMemory)
            ),
        }
        assert_eq!(OUT.load(Relaxed), 0);
        allocations += 1;
        assert!(allocations < 10);
    }
    assert!(allocations >= 2);
    LEFT.store(9, Relaxed);
    let fault = decode(Faults::Strict).expect_err("a fault");
    assert_eq!(Error::from(fault), Error::Encoding);
    assert_eq!(fault.to_string(), "the bytes from offset 300 on are no text in UTF-8");
    assert_eq!(OUT.load(Relaxed), 0);
}
