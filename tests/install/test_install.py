"""What `make install` lays is found and used from an empty folder, as a new user or a distribution would."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
MAJOR = VERSION.split(".")[0]
MULTIARCH = "lib/" + subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True).stdout.strip()

BODY = bytes(index % 251 for index in range(300_000))  # more than a first block
EXPECTED = f"{VERSION} limit 0: {len(BODY)} bytes, sum {sum(BODY)}\n"

# How a user's program is compiled and linked: the compilers for C and C++, and their options.
TOOLS = {
    "gcc": (("gcc", "g++"), []),
    "gcc-lto": (("gcc", "g++"), ["-flto"]),
    "clang-lld": (("clang", "clang++"), ["-fuse-ld=lld"]),
    "clang-lld-lto": (("clang", "clang++"), ["-fuse-ld=lld", "-flto"]),
}


def run(command: list, **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def make(target: str, **variables: object) -> None:
    # Of a make around this one, and of the user, nothing is to be left.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    given = [f"{name}={value}" for name, value in variables.items()]
    run(["make", "--no-print-directory", "-C", ROOT, target, *given], env=environment)


def need(tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"the installed tree by {tool} ({tool} is not installed)")


def laid(tree: Path) -> list[str]:
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir())


def expected_files(libdir: str) -> list[str]:
    headers = [f"include/{header.name}" for header in (ROOT / "include").glob("brimful.h*")]
    libraries = ["libbrimful.a", "libbrimful.so", f"libbrimful.so.{MAJOR}", f"libbrimful.so.{VERSION}"]
    packages = ["pkgconfig/brimful.pc", "cmake/brimful/brimful-config.cmake", "cmake/brimful/brimful-config-version.cmake"]
    licences = [f"share/doc/brimful/{name}" for name in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY"]]
    return sorted(headers + licences + [f"{libdir}/{name}" for name in libraries + packages])


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    prefix = tmp_path_factory.mktemp("installed") / "prefix"
    make("install", PREFIX=prefix, DESTDIR="")
    return prefix


@pytest.fixture
def folder(tmp_path) -> Path:
    """An empty folder but for a new user's program."""
    shutil.copytree(HERE / "program", tmp_path / "user")
    return tmp_path / "user"


def pkg_config(tree: Path, *arguments: str, libdir: str = "lib", **variables: str) -> list[str]:
    need("pkg-config")
    environment = os.environ | {"PKG_CONFIG_LIBDIR": str(tree / libdir / "pkgconfig")} | variables
    return run(["pkg-config", *arguments, "brimful"], env=environment).split()


def linked(program: Path) -> bool:
    """Whether the program loads the shared library, by its soname."""
    return f"Shared library: [libbrimful.so.{MAJOR}]" in run(["readelf", "--dynamic", "--wide", program])


def says_what_it_should(program: Path, libraries: Path | None = None) -> None:
    environment = os.environ | ({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})
    done = subprocess.run([program], input=BODY, capture_output=True, env=environment)
    assert (done.stdout.decode(), done.stderr.decode()) == (EXPECTED, "")


def static(flags: list[str]) -> list[str]:
    """The archive by its file name, since a linker prefers the shared library."""
    return [flag.replace("-lbrimful", "-l:libbrimful.a") for flag in flags]


@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("kind", ["shared", "static"])
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_pkg_config_finds_it(tree, folder, language, kind, tools):
    compilers, options = TOOLS[tools]
    compiler = compilers[language == "cpp"]
    need(compiler)
    if "-fuse-ld=lld" in options:
        need("ld.lld")
    flags = pkg_config(tree, *(["--static"] if kind == "static" else []), "--cflags", "--libs")
    if kind == "static":
        flags = static(flags)
    standard = "-std=c++17" if language == "cpp" else "-std=c99"
    run([compiler, standard, "-O2", *options, f"program.{language}", *flags, "-o", "program"], cwd=folder)
    assert linked(folder / "program") == (kind == "shared")
    says_what_it_should(folder / "program", tree / "lib" if kind == "shared" else None)


def test_it_needs_no_library_but_that_of_c_and_the_compiler_s(tree):
    """What the bindings use beside (simdutf, which is C++) stays out of it."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run(["readelf", "--dynamic", "--wide", tree / "lib/libbrimful.so"]))
    assert "libc.so.6" in needed
    assert {name.split(".")[0] for name in needed} <= {"libc", "libgcc_s", "libpthread", "libdl", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}


def test_a_program_without_any_shared_library_is_possible(tree, folder):
    """As docs/packaging.md says."""
    flags = [f"-I{tree / 'include'}", f"-L{tree / 'lib'}", "-l:libbrimful.a", "-lgcc_eh"]
    run(["gcc", "-static", "program.c", *flags, "-o", "program"], cwd=folder)
    assert "NEEDED" not in run(["readelf", "--dynamic", folder / "program"])
    says_what_it_should(folder / "program")


def test_the_commands_of_the_readme_build_a_program(tree, folder):
    need("pkg-config")
    commands = re.findall(r"^    (cc program\.c .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(commands) == 2
    environment = os.environ | {"PKG_CONFIG_PATH": str(tree / "lib/pkgconfig")}
    for command, shared in zip(commands, [True, False]):
        run(["sh", "-c", command], cwd=folder, env=environment)
        assert linked(folder / "a.out") == shared
        says_what_it_should(folder / "a.out", tree / "lib" if shared else None)


def programs_by_cmake_work(folder: Path, prefix: Path, *options: str, languages: list[str]) -> None:
    need("cmake")
    need("g++")
    build = folder / "build"
    # The prefix and nothing else of this machine.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CMAKE", "brimful"))}
    settings = [f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release", "-Dbrimful_ROOT="]
    run(["cmake", "-S", folder, "-B", build, *settings, *options], env=environment)
    programs = {f"{language}_{kind}": kind for language in languages for kind in ["shared", "static"]}
    run(["cmake", "--build", build, "--target", *programs], env=environment)
    for program, kind in programs.items():
        assert linked(build / program) == (kind == "shared")
        says_what_it_should(build / program)


@pytest.mark.parametrize("lto", ["OFF", "ON"])
def test_cmake_finds_it(tree, folder, lto):
    programs_by_cmake_work(folder, tree, f"-DCMAKE_INTERPROCEDURAL_OPTIMIZATION={lto}", languages=["c", "cpp"])


def test_a_tree_that_was_moved_is_found_where_it_lies_now(tree, folder, tmp_path):
    moved = tmp_path / "elsewhere" / "a b"  # with a space, which CMake takes and a shell's word does not
    shutil.copytree(tree, moved, symlinks=True)
    gone = tree.with_name("gone")
    tree.rename(gone)
    try:
        programs_by_cmake_work(folder, moved, languages=["c"])
        plain = moved.rename(tmp_path / "elsewhere" / "moved")
        environment = os.environ | {"PKG_CONFIG_LIBDIR": str(plain / "lib" / "pkgconfig")}
        need("pkg-config")
        flags = run(["pkg-config", f"--define-variable=prefix={plain}", "--cflags", "--libs", "brimful"], env=environment)
        run(["gcc", "program.c", *flags.split(), "-o", "program"], cwd=folder)
        says_what_it_should(folder / "program", plain / "lib")
    finally:
        gone.rename(tree)


@pytest.mark.parametrize("libdir", ["lib", "lib64", MULTIARCH])
def test_a_staged_tree_speaks_of_where_it_will_lie(folder, tmp_path, libdir):
    stage = tmp_path / "stage"
    where = {"PREFIX": "/usr", "LIBDIR": f"/usr/{libdir}", "DESTDIR": stage}
    make("install", **where)
    assert laid(stage / "usr") == expected_files(libdir)
    assert [path.name for path in stage.iterdir()] == ["usr"]
    for path in (stage / "usr").rglob("*"):
        if path.suffix in (".pc", ".cmake"):
            assert str(tmp_path) not in path.read_text(), path
        if not path.is_symlink() and path.is_file():
            assert path.stat().st_mode & 0o777 == (0o755 if ".so" in path.name else 0o644), path

    sysroot = {"PKG_CONFIG_SYSROOT_DIR": str(stage), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
    flags = pkg_config(stage / "usr", "--cflags", "--libs", libdir=libdir, **sysroot)
    assert flags == [f"-I{stage}/usr/include", f"-L{stage}/usr/{libdir}", "-lbrimful"]
    run(["gcc", "program.c", *flags, "-o", "program"], cwd=folder)
    says_what_it_should(folder / "program", stage / "usr" / libdir)

    make("uninstall", **where)
    assert laid(stage) == []
    left = {path.name for path in stage.rglob("*")}
    assert "brimful" not in left, "a folder of its own is left"


def test_the_pc_file_has_the_prefix_written_into_it_so_that_folders_of_the_system_need_no_flags(tmp_path):
    """As distributions want it: with a prefix that is made from where the file lies (${pcfiledir}/../..) some pkg-configs do not
    know /usr/include for what it is, and name it to a compiler that then finds its own headers in another order."""
    make("install", PREFIX="//usr/", DESTDIR=tmp_path)
    assert pkg_config(tmp_path / "usr", "--cflags", "--libs") == ["-lbrimful"]
    assert pkg_config(tmp_path / "usr", "--variable=prefix") == ["/usr"]
    needed = (ROOT / "ffi/packaging/native-static-libs.txt").read_text().split()
    assert pkg_config(tmp_path / "usr", "--libs", "--static") == ["-lbrimful", *needed]


def test_a_prefix_may_have_spaces(folder, tmp_path):
    need("pkg-config")
    prefix = tmp_path / "a place" / "of my own"
    make("install", PREFIX=prefix)
    assert laid(prefix) == expected_files("lib")
    environment = os.environ | {"PKG_CONFIG_LIBDIR": str(prefix / "lib/pkgconfig")}
    # What pkg-config says is for a shell to read, as make has it read in a recipe.
    run(["sh", "-c", 'eval gcc program.c "$(pkg-config --cflags --libs brimful)" -o program'], cwd=folder, env=environment)
    says_what_it_should(folder / "program", prefix / "lib")
    programs_by_cmake_work(folder, prefix, languages=["c"])
    make("uninstall", PREFIX=prefix)
    assert laid(prefix) == []


def test_a_prefix_that_depends_on_where_one_stands_is_refused():
    done = subprocess.run(["make", "-C", ROOT, "uninstall", "PREFIX=here"], capture_output=True, text=True)
    assert done.returncode != 0 and "has to begin with a slash" in done.stderr


def test_cmake_finds_it_in_a_folder_of_the_architecture(folder, tmp_path):
    make("install", PREFIX=tmp_path / "p", LIBDIR=tmp_path / "p" / MULTIARCH, INCLUDEDIR=tmp_path / "p" / "include" / "brimful-0")
    programs_by_cmake_work(folder, tmp_path / "p", languages=["c"])


def configures(folder: Path, tree: Path, find: str) -> str:
    """What CMake says to that; '' where it is content."""
    need("cmake")
    shutil.rmtree(folder / "build", ignore_errors=True)
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.19)\nproject(p NONE)\n{find}\n")
    command = ["cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={tree}"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def test_cmake_is_given_releases_with_the_same_soname_that_are_not_older(tree, folder):
    asked = {find: bool(configures(folder, tree, f"find_package(brimful {find} REQUIRED)")) for find in
             ["", "0.1", f"{VERSION} EXACT", "0.0.9", "0.1...<1", "0.2", "1", "0.2...0.9", "0.1.1 EXACT"]}
    assert [find for find, refused in asked.items() if refused] == ["0.2", "1", "0.2...0.9", "0.1.1 EXACT"]


def test_cmake_says_which_kind_is_not_installed(tree, folder, tmp_path):
    partly = shutil.copytree(tree, tmp_path / "partly", symlinks=True)
    (partly / "lib" / "libbrimful.a").unlink()
    assert configures(folder, partly, "find_package(brimful REQUIRED COMPONENTS shared)") == ""
    said = configures(folder, partly, "find_package(brimful REQUIRED COMPONENTS static)")
    assert "brimful::static is not installed below" in " ".join(said.split())


def test_the_pc_file_says_what_the_compiler_says_a_static_link_needs(tree):
    """Another test knows that the list is what the compiler says."""
    needed = (ROOT / "ffi/packaging/native-static-libs.txt").read_text().strip()
    pc = (tree / "lib/pkgconfig/brimful.pc").read_text()
    assert re.search(r"^Libs.private: (.*)$", pc, re.MULTILINE)[1] == needed
    assert re.search(r"^Version: (.*)$", pc, re.MULTILINE)[1] == VERSION
    assert f'INTERFACE_LINK_LIBRARIES "{needed.replace(" ", ";")}"' in (tree / "lib/cmake/brimful/brimful-config.cmake").read_text()


@pytest.mark.parametrize("library", ["libbrimful.so", "libbrimful.a"])
def test_both_libraries_show_the_listed_names_and_no_other(tree, library):
    table = ["--dynamic"] if library.endswith(".so") else ["--extern-only"]
    symbols = run(["nm", *table, "--defined-only", "--format=posix", tree / "lib" / library])
    names = sorted(line.split(" ")[0] for line in symbols.splitlines() if " " in line)
    assert names == (ROOT / "ffi/exports.txt").read_text().split()


def test_two_rust_libraries_fit_into_one_program(tree, tmp_path):
    shutil.copytree(HERE / "other", tmp_path / "other", ignore=shutil.ignore_patterns("target"))
    run(["cargo", "build", "--release", "--quiet", "--target-dir", tmp_path / "target"], cwd=tmp_path / "other")
    mine, others = tree / "lib/libbrimful.a", tmp_path / "target/release/libother.a"
    needed = (ROOT / "ffi/packaging/native-static-libs.txt").read_text().split()
    for archives in [[mine, others], [others, mine]]:
        run(["gcc", HERE / "other/main.c", f"-I{tree / 'include'}", *archives, *needed, "-o", tmp_path / "program"])
        done = subprocess.run([tmp_path / "program"], capture_output=True, text=True)
        assert done.stdout == "0 0, 45 -1\n"


def test_uninstall_leaves_what_is_not_its_own(tmp_path):
    make("install", PREFIX=tmp_path / "p")
    (tmp_path / "p/lib/libother.so").write_text("")
    (tmp_path / "p/include/other.h").write_text("")
    make("uninstall", PREFIX=tmp_path / "p")
    assert laid(tmp_path / "p") == ["include/other.h", "lib/libother.so"]
