#!/bin/sh
# SPDX-License-Identifier: MIT
# libcpuid for vgpu-agent, built for musl: agent/libcpuid.sh OUTDIR
#
# Leaves OUTDIR/libcpuid.a and OUTDIR/include/libcpuid/*.h. Does nothing when they are there.
# 1. Debian's source package of trixie, through the machine's own mirror, checked against a pinned sha256.
# 2. LIBCPUID_FROM=installed, of a package's build: what the installed libcpuid-dev has, as in 3. Nothing is fetched.
# 3. If that cannot be had: bookworm's libcpuid-dev, whose objects were compiled for glibc with
#    fortification; four wrappers make them link under musl.
# LIBCPUID_FROM=source|package|installed forces one way. Needs: musl-gcc, apt, xz. Not root.
set -eu

VERSION=0.7.1
SHA256=0b4777fd4db6499505a5b1bc4d9e91d03296fdb8bb2fd11931a394e03f497280
CC=${MUSL_CC:-musl-gcc}
from=${LIBCPUID_FROM:-any}

[ $# -eq 1 ] || { echo "usage: $0 OUTDIR" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
[ -f "$out/libcpuid.a" ] && [ -f "$out/include/libcpuid/libcpuid.h" ] && exit 0

work=$out/work
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$out/include/libcpuid"
cd "$work"

# The mirror of this machine's own apt sources: the first that ends with /debian.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
	awk '/^URIs:/ { for (i = 2; i <= NF; i++) print $i }
	     /^deb / { for (i = 2; i <= NF; i++) if ($i ~ /^[a-z+]+:\/\//) print $i }' |
	sed 's#/*$##' | grep '/debian$' | head -n 1) || true
[ -n "$mirror" ] || [ "$from" = installed ] || { echo "libcpuid.sh: no Debian mirror in this machine's apt sources (an entry that ends with /debian)" >&2; exit 1; }
key=/usr/share/keyrings/debian-archive-keyring.gpg

apt_with() {            # apt_with LINE COMMAND...: apt-get with a private list of one line
	echo "$1" >private.list
	shift
	apt-get -o Dir::Etc::sourcelist="$work/private.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -qq "$@"
}

from_source() {
	line="deb-src [signed-by=$key] $mirror trixie main"
	apt_with "$line" update && apt_with "$line" source --tar-only --download-only libcpuid || return 1
	tar=$(ls libcpuid_*.orig.tar.* 2>/dev/null | head -n 1)
	[ -n "$tar" ] || return 1
	if ! echo "$SHA256  $tar" | sha256sum -c --quiet; then
		echo "libcpuid.sh: $tar is not the pinned version (sha256 differs)" >&2
		return 1
	fi
	tar xf "$tar"
	cd libcpuid-$VERSION/libcpuid
	objs=
	for f in cpuid_main recog_amd recog_arm recog_centaur recog_intel rdtsc asm-bits libcpuid_util rdcpuid rdmsr; do
		$CC -O2 -w -fPIE -ffunction-sections -fdata-sections -D_GNU_SOURCE -DVERSION="\"$VERSION\"" -c $f.c -o "$work/$f.o" || return 1
		objs="$objs $work/$f.o"
	done
	ar rcs "$work/libcpuid.a" $objs
	cp libcpuid.h libcpuid_constants.h libcpuid_types.h "$out/include/libcpuid/"
	cd "$work"
	echo "libcpuid.sh: libcpuid $VERSION from Debian's source package (sha256 checked), built for musl"
}

from_package() {
	line="deb [signed-by=$key] $mirror bookworm main"
	apt_with "$line" update && apt_with "$line" download libcpuid-dev || return 1
	deb=$(ls libcpuid-dev_*.deb 2>/dev/null | head -n 1)
	[ -n "$deb" ] && dpkg-deb -x "$deb" pkg && for_glibc "$deb" "$work/pkg/usr"
}

# for_glibc NAME PREFIX: objects that were compiled for glibc with fortification
for_glibc() {
	cp "$(find "$2/lib" -name libcpuid.a 2>/dev/null | head -n 1)" "$work/libcpuid.a" || return 1
	cp "$2"/include/libcpuid/*.h "$out/include/libcpuid/"
	cat >fortify.c <<'EOF'
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
int __fprintf_chk(FILE *f, int flag, const char *fmt, ...)
{ va_list ap; (void)flag; va_start(ap, fmt); int r = vfprintf(f, fmt, ap); va_end(ap); return r; }
int __snprintf_chk(char *s, size_t n, int flag, size_t size, const char *fmt, ...)
{ va_list ap; (void)flag; va_start(ap, fmt); int r = vsnprintf(s, n < size ? n : size, fmt, ap); va_end(ap); return r; }
int __vsnprintf_chk(char *s, size_t n, int flag, size_t size, const char *fmt, va_list ap)
{ (void)flag; return vsnprintf(s, n < size ? n : size, fmt, ap); }
char *__strcpy_chk(char *d, const char *s, size_t size)
{ if (strlen(s) >= size) __builtin_trap(); return strcpy(d, s); }
EOF
	$CC -O2 -w -fPIE -ffunction-sections -c fortify.c -o fortify.o && ar rs libcpuid.a fortify.o 2>/dev/null || return 1
	echo "libcpuid.sh: $1 with fortify wrappers for musl"
}

ok=
if [ "$from" = installed ]; then
	for_glibc "the installed libcpuid-dev" /usr || { echo "libcpuid.sh: install libcpuid-dev" >&2; exit 1; }
	ok=1
fi
[ -n "$ok" ] || [ "$from" = package ] || { from_source && ok=1 || echo "libcpuid.sh: Debian's source package could not be used" >&2; }
cd "$work"
[ -n "$ok" ] || [ "$from" = source ] || { from_package && ok=1; }
if [ -z "$ok" ]; then
	echo "libcpuid.sh: libcpuid could not be fetched; is the Debian mirror reachable?" >&2
	exit 1
fi
mv "$work/libcpuid.a" "$out/libcpuid.a"
rm -rf "$work"
