#!/bin/sh
# Makes the static library that is installed from the one that the compiler made:
#
#     sh archive.sh RUST_ARCHIVE EXPORTS ARCHIVE
#
# Rust's own archive shows its standard library's names to the linker, so that two Rust static libraries do not fit into
# one program ("multiple definition of `rust_eh_personality'"). Here what the exported functions need is linked into one
# object, in which every other name is made local. What they do not need is left out: a third of the size.
set -eu
input=$1 exports=$2 output=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck disable=SC2046 # a name has no spaces
# Groups are dissolved: one whose name has become local would still be thrown away for another library's of that name.
"${LD:-ld}" -r --force-group-allocation -o "$work/brimful.o" $(sed 's/^/-u /' "$exports") "$input"
# Bitcode that came along from Rust's own library would let a linker with a plugin of another LLVM overlook the object.
"${OBJCOPY:-objcopy}" --remove-section=.llvmbc --remove-section=.llvmcmd --keep-global-symbols="$exports" "$work/brimful.o"
rm -f "$output"
"${AR:-ar}" rcsD "$output" "$work/brimful.o"
