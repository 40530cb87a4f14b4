//! Times of text beside other ways, for docs/design/text.md: cargo run --release -p brimful --example text_speed
//!
//! Each line is measured in turn with the others of its table, the median of the rounds is shown, and every result has
//! been compared with the first before.

use brimful::{Encoding, Faults, MemoryRef, Text};
use std::ffi::{CString, c_char, c_void};
use std::hint::black_box;
use std::time::Instant;

unsafe extern "C" {
    fn iconv_open(to: *const c_char, from: *const c_char) -> *mut c_void;
    fn iconv(
        state: *mut c_void,
        from: *mut *mut c_char,
        left: *mut usize,
        to: *mut *mut c_char,
        room: *mut usize,
    ) -> usize;
    fn iconv_close(state: *mut c_void) -> i32;
}

type Way<'a> = (String, Box<dyn Fn() -> usize + 'a>);

/// Runs all in turn, again and again, and prints each one's median, and its ratio to the first.
fn compare(title: &str, bytes: usize, ways: &[Way]) {
    let expected = ways[0].1();
    for (name, way) in ways {
        assert_eq!(way(), expected, "{title}: {name}");
    }
    let rounds = (400_000_000 / (bytes + 2000)).clamp(7, 2000);
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..rounds {
        for index in 0..ways.len() {
            // Another order in each round: what one leaves of the heap is what the next one finds.
            let index = (index * (1 + round % (ways.len() - 1)) + round) % ways.len();
            let way = &ways[index].1;
            let begin = Instant::now();
            black_box(way());
            times[index].push(begin.elapsed().as_secs_f64());
        }
    }
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
        .collect();
    println!("\n{title}, {bytes} B, {rounds} rounds");
    for ((name, _), median) in ways.iter().zip(&medians) {
        let ratio = median / medians[0];
        println!("  {name:44} {:12.2} us {ratio:7.2} x", median * 1e6);
    }
}

fn ours(pieces: &[&[u8]], encoding: Encoding) -> usize {
    let text = Text::new(pieces, Some(encoding)).to_exact(Faults::Strict, &MemoryRef::malloc(), 1);
    black_box(text.expect("well-formed").as_slice()).len()
}

fn joined(pieces: &[&[u8]], fast: bool) -> usize {
    let whole = pieces.concat();
    let text = match fast {
        true => simdutf8::basic::from_utf8(&whole).is_ok(),
        false => std::str::from_utf8(&whole).is_ok(),
    };
    assert!(text);
    black_box(&whole).len()
}

fn alone(pieces: &[&[u8]], encoding: Encoding) -> usize {
    let decoder = encoding_rs::Encoding::for_label(encoding.name().as_bytes()).expect("it has this one");
    let mut decoder = decoder.new_decoder_without_bom_handling();
    let mut text = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let most = decoder.max_utf8_buffer_length_without_replacement(piece.len());
        text.reserve(most.expect("it fits"));
        let (result, _) = decoder.decode_to_string_without_replacement(piece, &mut text, index + 1 == pieces.len());
        assert_eq!(result, encoding_rs::DecoderResult::InputEmpty);
    }
    black_box(&text).len()
}

fn by_iconv(pieces: &[&[u8]], from: &str, length: usize) -> usize {
    let (to, from) = (c"UTF-8", CString::new(from).expect("a name"));
    let mut text: Vec<u8> = Vec::with_capacity(length + 16);
    let (mut room, mut target) = (text.capacity(), text.as_mut_ptr().cast::<c_char>());
    // SAFETY: the pieces are readable over their lengths, which iconv does not write to, and the target is writable over
    // `room`.
    unsafe {
        let state = iconv_open(to.as_ptr(), from.as_ptr());
        let mut begun: Vec<u8> = Vec::new();
        for piece in pieces {
            // What a piece's end cuts through is put before the next one, as its manual page says.
            begun.extend_from_slice(piece);
            let (mut source, mut left) = (begun.as_mut_ptr().cast::<c_char>(), begun.len());
            iconv(state, &raw mut source, &raw mut left, &raw mut target, &raw mut room);
            begun.drain(..begun.len() - left);
        }
        iconv_close(state);
        assert!(begun.is_empty());
        text.set_len(text.capacity() - room);
    }
    black_box(&text).len()
}

/// The check and the copy by themselves: so many bytes checked, then copied while they are in the cache.
fn checked_at_once(bytes: &[u8], at_once: usize) -> usize {
    let mut text: Vec<u8> = Vec::with_capacity(bytes.len() + 1);
    for chunk in bytes.chunks(at_once) {
        assert!(simdutf8::basic::from_utf8(chunk).is_ok());
        text.extend_from_slice(chunk);
    }
    black_box(&text).len()
}

/// A body that arrives in pieces in warm memory, checked as it arrives or in the end, and copied out.
fn arriving(warm: &mut [u8], piece: &[u8], early: bool) -> usize {
    for chunk in warm.chunks_mut(piece.len()) {
        let piece = &piece[..chunk.len()];
        chunk.copy_from_slice(piece);
        if early {
            assert!(simdutf8::basic::from_utf8(chunk).is_ok());
        }
    }
    let warm = black_box(warm);
    match early {
        true => black_box(warm.to_vec()).len(),
        false => checked_at_once(warm, 16 << 10),
    }
}

/// Cut as the list of heap blocks would hold it.
fn doubling(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces: Vec<&[u8]> = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at((65536 << pieces.len().min(7)).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

fn main() {
    // Each a multiple of 16 bytes, so that cuts at powers of two never go through a character where that matters.
    let kinds = [
        ("ASCII", "a line of text, "),
        ("mixed", "é text und € 12"),
        ("CJK", "日本語文字"),
    ];
    for (kind, unit) in kinds {
        for size in [1_000, 100_000, 10_000_000, 100_000_000] {
            let whole = unit.repeat(size / unit.len());
            for (cut, block) in [("one piece", usize::MAX), ("blocks of 64 KiB to 8 MiB", 0)] {
                let pieces = if block == 0 {
                    doubling(whole.as_bytes())
                } else {
                    vec![whole.as_bytes()]
                };
                if block == 0 && size < 1_000_000 {
                    continue;
                }
                let pieces = &pieces[..];
                compare(
                    &format!("UTF-8, {kind}, {cut}"),
                    pieces.iter().map(|piece| piece.len()).sum(),
                    &[
                        ("ours".into(), Box::new(|| ours(pieces, Encoding::UTF_8))),
                        ("joined, String::from_utf8".into(), Box::new(|| joined(pieces, false))),
                        ("joined, simdutf8".into(), Box::new(|| joined(pieces, true))),
                        ("encoding_rs alone".into(), Box::new(|| alone(pieces, Encoding::UTF_8))),
                        ("iconv".into(), Box::new(|| by_iconv(pieces, "UTF-8", whole.len()))),
                    ],
                );
            }
        }
    }
    for (kind, unit, label) in [
        ("ASCII", kinds[0].1, "utf-16le"),
        ("mixed", kinds[1].1, "utf-16le"),
        ("CJK", kinds[2].1, "utf-16le"),
        ("ASCII", kinds[0].1, "windows-1252"),
        ("mixed", kinds[1].1, "windows-1252"),
        ("CJK", kinds[2].1, "shift_jis"),
        ("CJK", kinds[2].1, "gb18030"),
    ] {
        let encoding = Encoding::for_label(label).expect("a label");
        for size in [1_000, 10_000_000] {
            let text = unit.repeat(size / unit.len());
            let bytes = match label {
                "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
                _ => encoding_rs::Encoding::for_label(label.as_bytes())
                    .expect("a label")
                    .encode(&text)
                    .0
                    .into_owned(),
            };
            let pieces = &[&bytes[..]][..];
            compare(
                &format!("{label}, {kind}, one piece"),
                bytes.len(),
                &[
                    ("ours".into(), Box::new(|| ours(pieces, encoding))),
                    ("encoding_rs alone".into(), Box::new(|| alone(pieces, encoding))),
                    ("iconv".into(), Box::new(|| by_iconv(pieces, label, text.len()))),
                ],
            );
        }
    }
    for size in [100_000, 10_000_000, 100_000_000] {
        let whole = kinds[0].1.repeat(size / 16);
        let ways = [4, 16, 64, 256, 1 << 30].map(|kib: usize| {
            let whole = whole.as_bytes();
            let way: Way = (
                format!("{kib} KiB checked, then copied"),
                Box::new(move || checked_at_once(whole, kib.saturating_mul(1024))),
            );
            way
        });
        compare("chunks, ASCII", whole.len(), &ways);
        let warm = std::cell::RefCell::new(vec![b' '; size]);
        for piece in [16 << 10, 64 << 10, 1 << 20] {
            let piece = &kinds[0].1.repeat(piece / 16).into_bytes()[..];
            compare(
                &format!("arriving in pieces of {} KiB, then text", piece.len() / 1024),
                size,
                &[
                    (
                        "checked in the end, while copying".into(),
                        Box::new(|| arriving(&mut warm.borrow_mut(), piece, false)),
                    ),
                    (
                        "checked as it arrives".into(),
                        Box::new(|| arriving(&mut warm.borrow_mut(), piece, true)),
                    ),
                ],
            );
        }
    }
}
