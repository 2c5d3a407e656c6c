#!/bin/sh
# SPDX-License-Identifier: MIT
# What our shared libraries ask of the process they are loaded into: no glibc symbol newer than 2.17 and
# no library but the C library (and, above libcuda, our own libcuda.so.1).
#   tests/abi/test_libraries.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
bad=0
seen=0
fail() { echo "$*"; bad=1; }

for so in "$B"/lib/*.so.* "$B"/lib/vgpu/xla/*.so.* "$B/lib/libvgpu-turn.so"; do
	[ -e "$so" ] || continue
	seen=$((seen + 1))
	name=$(basename "$so")
	newer=$(objdump -T "$so" | grep -o 'GLIBC_[0-9.]*' | sort -u | sed 's/GLIBC_//' |
		awk -F. '$1 > 2 || ($1 == 2 && $2 > 17)')
	[ -z "$newer" ] || fail "$name needs glibc $newer:" "$(objdump -T "$so" | grep -E "GLIBC_($(echo $newer | tr ' ' '|'))")"
	# other versioned needs would be other libraries' symbols
	other=$(objdump -T "$so" | awk '/\*UND\*/ {print $(NF-1)}' | grep -E '^\(?[A-Z]+_[0-9]' | grep -v GLIBC_ | sort -u)
	[ -z "$other" ] || fail "$name needs $other"
	for need in $(readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		case $name:$need in
		libvgpu-turn.so:*) fail "$name needs $need: it has a namespace to itself, where that would be another libc" ;;
		*:libc.so.6 | *:ld-linux-x86-64.so.2) ;;
		libcuda.so.1:*) fail "$name needs $need" ;;
		*:libcuda.so.1) ;;
		libcublas.so.*:libcublasLt.so.*) ;;
		libcudart.so.11.0:libcudart.so.12 | libcublas.so.11:libcublas.so.12 | libcublasLt.so.11:libcublasLt.so.12) ;;
		libnvrtc.so.*:libdl.so.2 | libnvJitLink.so.*:libdl.so.2) ;;     # dlopen, before glibc 2.34
		libnccl.so.2:libdl.so.2 | libnccl.so.2:libpthread.so.0) ;;      # and threads
		*) fail "$name needs $need" ;;
		esac
	done
	# loadable alone: every symbol is found through its own NEEDED list
	missing=$(env -u LD_PRELOAD LD_LIBRARY_PATH="$B/lib" ldd -r "$so" 2>&1 | grep -E 'undefined symbol|not found')
	[ -z "$missing" ] || fail "$name alone: $missing"
	# no text relocations, no executable stack
	readelf -d "$so" | grep -q TEXTREL && fail "$name has text relocations"
	readelf -lW "$so" | grep -E 'GNU_STACK.*E' >/dev/null && fail "$name wants an executable stack"
done
# PyFR opens libcublasLt.so, hashcat libnvrtc.so: the newest there is, whichever was built last
for name in libcuda.so:1 libcudart.so:13 libcublas.so:13 libcublasLt.so:13 libnvrtc.so:13 libnvJitLink.so:13 libnvidia-ml.so:1 libnccl.so:2; do
	so=$B/lib/${name%:*}
	[ "$(readlink "$so")" = "$(basename "$so").${name#*:}" ] && [ -e "$so" ] || fail "$(basename "$so") is $(readlink "$so" || echo not there)"
done
[ $seen -gt 0 ] || { echo "no libraries in $B/lib: build first"; exit 77; }
[ $bad = 0 ] && echo "$seen libraries"
exit $bad
