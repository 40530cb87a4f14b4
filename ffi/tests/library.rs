//! What the linker sees: the exported names are those of `exports.txt`, the soname is the major version's, and the
//! libraries that a static link needs are those of `packaging/native-static-libs.txt`, which the installed brimful.pc has.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

struct Built {
    library: PathBuf,
    /// What the compiler says a static link needs.
    native_static_libs: String,
}

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// cargo does not build a cdylib for its integration tests, so it is built here, in a folder of its own.
fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library");
        let output = Command::new(env!("CARGO"))
            .args(["rustc", "--package", "brimful-ffi", "--lib", "--target-dir"])
            .arg(&target)
            .args(["--", "--print", "native-static-libs"])
            .current_dir(crate_root())
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let line = said.lines().find_map(|line| line.split_once("native-static-libs: "));
        Built {
            library: target.join("debug/libbrimful.so"),
            native_static_libs: line.expect("the compiler says it").1.trim().into(),
        }
    })
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .arg(&built().library)
        .output()
        .expect(program);
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(crate_root().join(name)).expect(name)
}

#[test]
fn the_exported_names_are_those_of_the_list_and_of_the_header() {
    let symbols = run("nm", &["--dynamic", "--defined-only", "--format=posix"]);
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    exported.sort_unstable();
    let list = read("exports.txt");
    assert_eq!(exported, list.lines().collect::<Vec<_>>());
    let header = read("../include/brimful.h");
    for name in exported {
        assert!(name.starts_with("brimful_"), "{name}");
        assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
    }
}

#[test]
fn the_soname_has_the_major_version() {
    let dynamic = run("readelf", &["--dynamic", "--wide"]);
    let soname = format!("Library soname: [libbrimful.so.{}]", env!("CARGO_PKG_VERSION_MAJOR"));
    assert!(dynamic.contains(&soname), "{dynamic}");
}

#[test]
fn a_static_link_needs_the_listed_libraries() {
    assert_eq!(
        built().native_static_libs,
        read("packaging/native-static-libs.txt").trim_end()
    );
}
