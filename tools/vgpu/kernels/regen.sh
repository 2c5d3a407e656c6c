#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes bench.ptx from bench.cu, with the fast-math forms that ggml's build asks nvcc for.
#   regen.sh [-o DIR]
# The PTX is committed, so a build needs no clang; tests/e2e/ptx_fresh.sh compares the two.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here
[ "${1:-}" = -o ] && out=$2
"${CLANG:-clang}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_61 --cuda-path=/dev/null \
	-Xclang -target-feature -Xclang +ptx63 -nocudainc -nocudalib \
	-O3 -ffast-math -fcuda-flush-denormals-to-zero -Wall -Wextra -S -o "$out/bench.ptx" "$here/bench.cu"
