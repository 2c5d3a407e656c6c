#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes reduce.ptx from reduce.cu.
#   regen.sh [-o DIR]
# The PTX is committed, so a build needs no clang; tests/e2e/ptx_fresh.sh compares the two.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here
[ "${1:-}" = -o ] && out=$2
"${CLANG:-clang}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_61 --cuda-path=/dev/null \
	-Xclang -target-feature -Xclang +ptx63 -nocudainc -nocudalib -ffp-contract=off \
	-Os -fno-unroll-loops -Wall -Wextra -S -o "$out/reduce.ptx" "$here/reduce.cu"
