//! The checked-in header is what cbindgen makes of this crate's source, and it is a manual.
//!
//! `BLESS=1 cargo test -p brimful-ffi --test header` writes it anew.

use std::path::{Path, PathBuf};

/// The files whose public items make the header, in the order in which a reader meets them.
const NOUNS: [&str; 10] = [
    "status",
    "options",
    "memory",
    "info",
    "cancel",
    "pool",
    "collect",
    "collector",
    "buffer",
    "queue",
];

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn generated() -> String {
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        header: Some(read(crate_root().join("header/begin.h")).trim_end().into()),
        after_includes: Some(format!("\n{}", read(crate_root().join("header/init.h")).trim_end())),
        include_guard: Some("BRIMFUL_H".into()),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        usize_is_size_t: true,
        style: cbindgen::Style::Both,
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        line_length: 120,
        function: cbindgen::FunctionConfig {
            sort_by: Some(cbindgen::SortKey::None),
            ..Default::default()
        },
        ..Default::default()
    };
    let mut builder = cbindgen::Builder::new().with_config(config);
    for noun in NOUNS {
        builder = builder.with_src(crate_root().join("src").join(noun).with_extension("rs"));
    }
    let mut header = Vec::new();
    builder.generate().expect("the source is sound").write(&mut header);
    with_parentheses(&String::from_utf8(header).expect("the source is UTF-8"))
}

/// `#define X -1` as `#define X (-1)`, so that the macro is one operand wherever it stands.
fn with_parentheses(header: &str) -> String {
    let mut lines = String::new();
    for line in header.lines() {
        match line.split_once(" -") {
            Some((name, number)) if name.starts_with("#define ") => lines += &format!("{name} (-{number})"),
            _ => lines += line,
        }
        lines += "\n";
    }
    lines
}

fn header_path() -> PathBuf {
    crate_root().join("../include/brimful.h")
}

#[test]
fn the_checked_in_header_is_the_generated_one() {
    let generated = generated();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(header_path(), &generated).expect("the header can be written");
    }
    let checked_in = read(header_path());
    if generated != checked_in {
        let line = generated
            .lines()
            .zip(checked_in.lines())
            .position(|(new, old)| new != old);
        panic!(
            "include/brimful.h is not what the source says (first difference in line {}); \
             run: BLESS=1 cargo test -p brimful-ffi --test header",
            line.map_or_else(|| "at its end".into(), |line| (line + 1).to_string())
        );
    }
}

/// Whether each byte of the header lies in a comment.
fn comments(header: &str) -> Vec<bool> {
    let (mut inside, mut marks) = (false, Vec::with_capacity(header.len()));
    let bytes = header.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !inside && bytes[at..].starts_with(b"/*") {
            inside = true;
        }
        marks.push(inside);
        if inside && at > 0 && bytes[at - 1..].starts_with(b"*/") {
            inside = false;
        }
        at += 1;
    }
    marks
}

#[test]
fn at_least_three_fifths_of_the_header_are_comment() {
    let header = read(header_path());
    let marks = comments(&header);
    let visible = header
        .bytes()
        .zip(marks)
        .filter(|(byte, _)| !byte.is_ascii_whitespace());
    let (mut all, mut comment) = (0_u32, 0_u32);
    for (_, marked) in visible {
        all += 1;
        comment += u32::from(marked);
    }
    assert!(comment * 5 >= all * 3, "{comment} of {all} visible characters");
}

#[test]
fn every_function_type_field_and_macro_has_a_comment_before_it() {
    let header = read(header_path());
    let lines: Vec<&str> = header.lines().collect();
    let declares = |line: &str| {
        let name = |line: &str| line.contains("brimful_") && !line.starts_with(' ');
        let internal = line.starts_with("#define BRIMFUL_H") || line.starts_with("extern \"C\"");
        (line.starts_with("#define BRIMFUL_") && !internal)
            || (name(line)
                && (line.ends_with(';') || line.ends_with('(') || line.ends_with(',') || line.ends_with('{')))
                && !line.starts_with('}')
                && !line.starts_with(" *")
    };
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| declares(line)) {
        assert!(
            number > 0 && lines[number - 1].trim_end().ends_with("*/"),
            "no comment before line {}: {line}",
            number + 1
        );
    }
}

/// The functions of the header, each with its comment.
fn functions(header: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = &header[header.find("extern \"C\" {").expect("declarations")..];
    while let Some(at) = rest.find("/**") {
        let (comment, after) = rest[at..].split_once("*/").expect("its end");
        let (declaration, after) = after.split_once(';').expect("its end");
        found.push((declaration.trim(), comment));
        rest = after;
    }
    found
}

/// Whether the comment's list of outcomes has the status.
fn lists(comment: &str, status: &str) -> bool {
    comment
        .lines()
        .filter_map(|line| line.strip_prefix(" * - BRIMFUL_"))
        .filter_map(|line| line.split_once(':'))
        .any(|(statuses, _)| {
            statuses
                .split(", ")
                .any(|name| name.trim_start_matches("BRIMFUL_") == status)
        })
}

#[test]
fn each_function_lists_what_it_answers_and_says_on_which_threads() {
    let header = read(header_path());
    let functions = functions(&header);
    let exported = read(crate_root().join("exports.txt"));
    assert_eq!(functions.len(), exported.lines().count());
    for (declaration, comment) in functions {
        assert!(comment.contains("\n * Threads: "), "{declaration}");
        if declaration.starts_with("brimful_status ") {
            for status in ["OK", "ERR_INVALID", "ERR_PANIC"] {
                assert!(lists(comment, status), "{status} of {declaration}");
            }
        }
        if declaration.contains("brimful_read_fn") {
            assert!(
                lists(comment, "PENDING") && lists(comment, "ERR_LIMIT"),
                "{declaration}"
            );
        }
    }
}

#[test]
fn every_field_has_a_comment_before_it() {
    let header = read(header_path());
    let mut fields = 0;
    for structure in header.split("typedef struct ").skip(1).filter_map(|rest| {
        let (head, body) = rest.split_once('{')?;
        (!head.contains(';')).then(|| body.split_once("\n}").expect("its end").0)
    }) {
        let mut documented = false;
        for line in structure.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.ends_with(';') && !line.starts_with('*') {
                assert!(documented, "no comment before the field {line}");
                fields += 1;
            }
            documented = line.ends_with("*/");
        }
    }
    assert!(fields > 60, "{fields}");
}

#[test]
fn each_type_ends_its_comment_with_its_thread_rule_and_its_lifetime_rule() {
    let header = read(header_path());
    let types: Vec<usize> = header.match_indices("\ntypedef ").map(|(at, _)| at).collect();
    assert!(types.len() >= 12, "{}", types.len());
    for at in types {
        let name = header[at + 1..].lines().next().unwrap_or_default();
        if name.contains("int32_t") {
            continue; // a number
        }
        let comment = &header[..at];
        let comment = &comment[comment.rfind("/*").expect("a comment")..];
        let (threads, lifetime) = (comment.find("Threads:"), comment.find("Lifetime:"));
        assert!(threads.is_some() && threads < lifetime, "{name}");
    }
}
