#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes each .ptx from its .cu.
#   regen.sh [-o DIR]
# The PTX is committed, so a build needs no clang; tests/e2e/ptx_fresh.sh compares the two.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here
[ "${1:-}" = -o ] && out=$2
compile() {
	"${CLANG:-clang}" -x cuda --cuda-device-only "--cuda-gpu-arch=$2" --cuda-path=/dev/null \
		-Xclang -target-feature -Xclang "+$3" -nocudainc -nocudalib -ffp-contract=fast \
		-O2 -std=c++17 -Wall -Wextra -S -o "$out/$1.ptx" "$here/$1.cu"
}
for k in floats halves others; do
	compile $k sm_50 ptx60
done
for k in tensor_f16 tensor_bf16; do
	compile $k sm_80 ptx70
done
