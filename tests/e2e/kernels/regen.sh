#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes kernels/NAME.ptx from kernels/NAME.cu (all of them, or those named). clang needs no SDK.
#   regen.sh [-o DIR] [NAME...]
# The PTX is committed, so a build needs no clang; tests/e2e/ptx_fresh.sh compares the two.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here
[ "${1:-}" = -o ] && { out=$2; shift 2; }
clang=${CLANG:-clang}
[ $# -gt 0 ] || set -- $(cd "$here" && ls *.cu | sed 's/\.cu$//')
for name; do
	# PTX ISA 6.3 has shfl.sync and vote.sync; sm_61 is the device's default compute capability.
	"$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_61 --cuda-path=/dev/null \
		-Xclang -target-feature -Xclang +ptx63 -nocudainc -nocudalib \
		-O2 -Wall -Wextra -S -o "$out/$name.ptx" "$here/$name.cu"
done
