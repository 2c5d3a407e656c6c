#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CUTLASS 3 for compute capability 9.0, by nvcc with the headers that nvidia-cutlass on PyPI carries: products by tensor maps, warps of their own for
# copies, and wgmma, with plain sums beside them. Some minutes to compile, once; on request.
#   VGPU_TEST_CUTLASS=1 cutlass.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit
B=$1
[ "${VGPU_TEST_CUTLASS:-}" = 1 ] || { echo "skip cutlass: some minutes of nvcc: VGPU_TEST_CUTLASS=1 asks for them"; exit 0; }
. tests/nvcc/lib.sh
nvcc_get "$B"
out=$B/nvcc-out/cutlass want=nvidia-cutlass==4.2.0.0 bad=0
mkdir -p "$out"
if [ ! -d "$out/package/cutlass_library/source/include/cutlass" ]; then
	# a wheel is a zip archive
	if ! why=$(pip -q --disable-pip-version-check download --no-deps -d "$out" "$want" 2>&1) ||
	   ! why=$(python3 -m zipfile -e "$out"/nvidia_cutlass-*.whl "$out/package" 2>&1); then
		echo "skip cutlass: $want: $(tail -n 1 <<<"$why")"
		exit 0
	fi
fi
nvcc_make "$out/gemm90" tests/nvcc/cutlass/gemm90.cu -std=c++17 -cudart shared --expt-relaxed-constexpr -gencode arch=compute_90a,code=compute_90a \
	-I "$out/package/cutlass_library/source/include" tests/nvcc/cutlass/gemm90.cu -L "$B/lib" -lcuda || { echo "FAIL gemm90 does not compile"; exit 1; }
# run WHAT OPTION...
run() {
	local what=$1 st=0
	shift
	timeout 200 "$@" >"$out/log" 2>&1 || st=$?
	sed -nE "s/^(ok|FAIL) /\1 gemm90\/$what: /p" "$out/log"
	[ $st = 0 ] && [ "$(grep -c '^ok ' "$out/log")" = 5 ] && return
	echo "FAIL gemm90/$what ended with status $st"
	bad=1
}
run jit "$B/bin/vgpu" run --private --cc 9.0 -- "$out/gemm90"
run avx2 env VGPU_CPU_ISA=avx2 "$B/bin/vgpu" run --private --cc 9.0 -- "$out/gemm90"
run interp env VGPU_ENGINE=interp "$B/bin/vgpu" run --private --cc 9.0 -- "$out/gemm90"
run memcheck "$B/bin/vgpu" run --memcheck --error-exitcode 3 --cc 9.0 -- "$out/gemm90"
run verify "$B/bin/vgpu" run --verify --cc 9.0 -- "$out/gemm90"
exit $bad
