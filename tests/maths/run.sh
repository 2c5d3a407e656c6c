#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CUDA's device library, as nvcc compiles it, against references (README.md).
#   run.sh BUILD [-v] [PATTERN]
set -u
cd "$(dirname "$0")/../.." || exit
B=$1
shift
. tests/nvcc/lib.sh
nvcc_get "$B"
out=$B/nvcc-out/maths
sources=$(echo tests/maths/kernels.cu tests/maths/*.def)

make_ptx() { # NAME ARCHITECTURE FLAG...
	local name=$1 arch=$2
	shift 2
	# 177, 550: not every kernel uses all its inputs
	nvcc_make "$out/$name.$arch.ptx" "$sources" -ptx -arch="compute_$arch" -diag-suppress 177,550 "$@" tests/maths/kernels.cu ||
		echo "FAIL $name.$arch does not compile"
}
while read -r name arch flags; do
	while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
	# shellcheck disable=SC2086
	make_ptx "$name" "$arch" $flags &
done <<'END'
real64 75 -DGROUP_real -DREAL=double
real32 75 -DGROUP_real -DREAL=float
float 75 -DGROUP_float
float 90 -DGROUP_float
int 75 -DGROUP_int
int 90 -DGROUP_int
simd 75 -DGROUP_simd
simd 90 -DGROUP_simd
half 75 -DGROUP_half
half 90 -DGROUP_half
bf16 75 -DGROUP_bf16 -DBELOW_80
bf16 80 -DGROUP_bf16
bf16 90 -DGROUP_bf16
fp8 75 -DGROUP_fp8
fp8 90 -DGROUP_fp8
END
wait
exec "$B/test/maths/maths" "$out" "$@"
