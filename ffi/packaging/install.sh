#!/bin/sh
# Lays the C library out, or takes away exactly what that laid:
#
#     sh install.sh install|uninstall
#
# Everything comes from the environment, where make puts it: DESTDIR, PREFIX, LIBDIR, INCLUDEDIR, PKGCONFIGDIR, CMAKEDIR,
# DOCDIR, VERSION, and BUILT, the folder with the libraries and with what the compiler said a static link needs.
set -eu

source=$(dirname "$0")
headers=$source/../../include
major=${VERSION%%.*}

# Slashes too many would hide from pkg-config that a folder is the system's own, whose flags it leaves out.
tidy() { printf '%s' "$1" | sed 's|//*|/|g; s|/$||'; }
PREFIX=$(tidy "$PREFIX") LIBDIR=$(tidy "$LIBDIR") INCLUDEDIR=$(tidy "$INCLUDEDIR") DOCDIR=$(tidy "$DOCDIR")
PKGCONFIGDIR=$(tidy "$PKGCONFIGDIR") CMAKEDIR=$(tidy "$CMAKEDIR")
for folder in "$PREFIX/" "$LIBDIR" "$INCLUDEDIR" "$DOCDIR" "$PKGCONFIGDIR" "$CMAKEDIR"; do
  case $folder in
    /*) ;;
    *) echo "install: '$folder' has to begin with a slash: files that are laid name it" >&2; exit 2 ;;
  esac
done

# A folder as the files that name it write it: from the prefix on where it lies below it, so that a tree can be moved.
from_prefix() { # folder, how the prefix is written
  case $1 in
    "$PREFIX"/*) printf '%s/%s' "$2" "${1#"$PREFIX"/}" ;;
    *) printf '%s' "$1" ;;
  esac
}

# From the folder of the CMake package up to the prefix; the prefix itself where the package does not lie below it.
to_prefix() {
  case $CMAKEDIR in
    "$PREFIX"/*) printf '%s' '${_brimful_folder}/'; printf '%s\n' "${CMAKEDIR#"$PREFIX"/}" | sed 's|[^/][^/]*|..|g' ;;
    *) printf '%s' "$PREFIX" ;;
  esac
}

# Every @NAME@ of a template; a value may have anything in it but a line end.
escaped() { printf '%s' "$1" | sed 's/[&|\\]/\\&/g'; }
fill() { # template, file
  sed -e "s|@PREFIX@|$(escaped "$PREFIX")|g" \
    -e "s|@PC_LIBDIR@|$(escaped "$(from_prefix "$LIBDIR" '${prefix}')")|g" \
    -e "s|@PC_INCLUDEDIR@|$(escaped "$(from_prefix "$INCLUDEDIR" '${prefix}')")|g" \
    -e "s|@CMAKE_PREFIX@|$(escaped "$(to_prefix)")|g" \
    -e "s|@CMAKE_LIBDIR@|$(escaped "$(from_prefix "$LIBDIR" '${_brimful_prefix}')")|g" \
    -e "s|@CMAKE_INCLUDEDIR@|$(escaped "$(from_prefix "$INCLUDEDIR" '${_brimful_prefix}')")|g" \
    -e "s|@VERSION@|$VERSION|g" \
    -e "s|@MAJOR@|$major|g" \
    -e "s|@POINTER_SIZE@|$pointer_size|g" \
    -e "s|@NATIVE_STATIC_LIBS@|$static_libs|g" \
    -e "s|@CMAKE_STATIC_LIBS@|$(printf '%s' "$static_libs" | tr ' ' ';')|g" \
    "$source/$1" >"$2"
  chmod 644 "$2"
}

lay() {
  static_libs=$(cat "$BUILT/native-static-libs.txt")
  # ELF says it in its fifth byte: 1 for 32 bits, 2 for 64.
  pointer_size=$((4 * $(od -An -tu1 -j4 -N1 "$BUILT/libbrimful.so")))
  install -d "$DESTDIR$LIBDIR" "$DESTDIR$INCLUDEDIR" "$DESTDIR$PKGCONFIGDIR" "$DESTDIR$CMAKEDIR" "$DESTDIR$DOCDIR"
  install -m 755 "$BUILT/libbrimful.so" "$DESTDIR$LIBDIR/libbrimful.so.$VERSION"
  ln -sf "libbrimful.so.$VERSION" "$DESTDIR$LIBDIR/libbrimful.so.$major"
  ln -sf "libbrimful.so.$major" "$DESTDIR$LIBDIR/libbrimful.so"
  install -m 644 "$BUILT/packaged/libbrimful.a" "$DESTDIR$LIBDIR/libbrimful.a"
  install -m 644 "$source/../../LICENSE-MIT" "$source/../../LICENSE-APACHE" "$source/THIRD-PARTY" "$DESTDIR$DOCDIR"
  for header in "$headers"/brimful.h*; do
    install -m 644 "$header" "$DESTDIR$INCLUDEDIR/${header##*/}"
  done
  fill brimful.pc.in "$DESTDIR$PKGCONFIGDIR/brimful.pc"
  fill brimful-config.cmake.in "$DESTDIR$CMAKEDIR/brimful-config.cmake"
  fill brimful-config-version.cmake.in "$DESTDIR$CMAKEDIR/brimful-config-version.cmake"
}

take_away() {
  for name in "libbrimful.so.$VERSION" "libbrimful.so.$major" libbrimful.so libbrimful.a; do
    rm -f "$DESTDIR$LIBDIR/$name"
  done
  for header in "$headers"/brimful.h*; do
    rm -f "$DESTDIR$INCLUDEDIR/${header##*/}"
  done
  rm -f "$DESTDIR$PKGCONFIGDIR/brimful.pc" \
    "$DESTDIR$CMAKEDIR/brimful-config.cmake" "$DESTDIR$CMAKEDIR/brimful-config-version.cmake"
  rm -f "$DESTDIR$DOCDIR/LICENSE-MIT" "$DESTDIR$DOCDIR/LICENSE-APACHE" "$DESTDIR$DOCDIR/THIRD-PARTY"
  # The only folders that are nobody else's.
  for folder in "$CMAKEDIR" "$DOCDIR"; do
    if [ -d "$DESTDIR$folder" ]; then rmdir "$DESTDIR$folder" 2>/dev/null || :; fi
  done
}

case ${1-} in
  install) lay ;;
  uninstall) take_away ;;
  *) echo "usage: install.sh install|uninstall" >&2; exit 2 ;;
esac
