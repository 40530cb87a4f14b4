"""Each public header alone, as each standard and each compiler has it, with every warning an error."""

import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"

WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wcast-qual -Werror".split()
C_WARNINGS = [*WARNINGS, "-Wstrict-prototypes", "-Wmissing-prototypes"]
CPP_WARNINGS = [*WARNINGS, "-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual"]
# What a header cannot help: that a type has padding, that a standard differs from an older one, that names are new.
EVERYTHING = "-Weverything -Wno-unknown-warning-option -Wno-padded -Wno-unused-macros -Wno-unsafe-buffer-usage".split()
CPP_EVERYTHING = [*EVERYTHING, "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic", "-Wno-c++20-compat"]
# Not yet named by their year in compilers of before it.
OLDER_NAME = {"c23": "c2x", "c++23": "c++2b"}

C = """
#include <brimful.h>
#include <brimful.h>
brimful_status use(brimful_pool *pool, brimful_buffer **buffer, brimful_collector **rest, brimful_read_fn read);
brimful_status use(brimful_pool *pool, brimful_buffer **buffer, brimful_collector **rest, brimful_read_fn read) {
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_pool_options pool_options = BRIMFUL_POOL_OPTIONS_INIT;
  options.limit = pool_options.limit;
  options.flags = BRIMFUL_TRUNCATE | BRIMFUL_SCRUB;
  return 2 * BRIMFUL_ERR_PANIC - brimful_collect(pool, &options, read, &options, buffer, rest);
}
"""

CPP = """
#include <brimful.hpp>
#include <brimful.hpp>
#include <brimful.h>
"""


def compiler(name: str) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"the headers under {name} ({name} is not installed)")
    return name


def check(folder: Path, command: list[str], name: str, text: str) -> None:
    (folder / name).write_text(text)
    done = subprocess.run([*command, f"-I{INCLUDE}", "-c", name, "-o", "out.o"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def standard(command: str, language: str, name: str) -> str:
    """The option that chooses the standard, by the older name where the compiler does not know the new one."""
    probe = [command, "-x", language, f"-std={name}", "-fsyntax-only", "/dev/null"]
    known = subprocess.run(probe, capture_output=True).returncode == 0
    return f"-std={name if known else OLDER_NAME[name]}"


@pytest.mark.parametrize("year", ["c99", "c11", "c17", "c23"])
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_the_c_header_is_clean_as_c(name, year, tmp_path):
    warnings = C_WARNINGS + (EVERYTHING + ["-Wno-declaration-after-statement"] if name == "clang" else [])
    check(tmp_path, [compiler(name), standard(name, "c", year), *warnings], "alone.c", C)


@pytest.mark.parametrize("year", ["c++11", "c++17", "c++20"])
@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_the_c_header_is_clean_as_cpp(name, year, tmp_path):
    warnings = CPP_WARNINGS + (CPP_EVERYTHING if name == "clang++" else ["-Wuseless-cast"])
    check(tmp_path, [compiler(name), standard(name, "c++", year), *warnings], "alone.cpp", C)


def test_the_c_header_is_clean_under_tcc(tmp_path):
    check(tmp_path, [compiler("tcc"), "-Wall", "-Werror"], "alone.c", C)


@pytest.mark.parametrize("year", ["c++17", "c++20", "c++23"])
@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_the_cpp_header_is_clean(name, year, tmp_path):
    check(tmp_path, [compiler(name), standard(name, "c++", year), *CPP_WARNINGS], "alone.cpp", CPP)
