#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes NAME.ptx from NAME.cu by clang: the kernels as with nvcc's -use_fast_math, array.cu as NVRTC takes it by default.
#   regen.sh [-o DIR]
# The PTX is committed, so a build needs no clang; tests/e2e/ptx_fresh.sh compares the two.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here
[ "${1:-}" = -o ] && out=$2
for f in "$here"/*.cu; do
	name=$(basename "$f" .cu) fast="-ffast-math -fcuda-flush-denormals-to-zero"
	[ "$name" = array ] && fast=
	arch=sm_61 isa=ptx63
	[ "$name" = tensor ] && arch=sm_80 isa=ptx70
	# shellcheck disable=SC2086
	"${CLANG:-clang}" -x cuda --cuda-device-only --cuda-gpu-arch="$arch" --cuda-path=/dev/null \
		-Xclang -target-feature -Xclang "+$isa" -nocudainc -nocudalib \
		-O3 $fast -Wall -Wextra -Wno-missing-braces -S -o "$out/$name.ptx" "$f"
done
