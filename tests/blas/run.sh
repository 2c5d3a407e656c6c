#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Our cuBLAS on the device against OpenBLAS.
#   run.sh BUILD            results compared, in each instruction set
#   run.sh BUILD bench      speeds: the device's kernels beside OpenBLAS in one process on one core; then the whole way, with one
#                           core for the device and one thread for OpenBLAS, then two and two
. "$(dirname "$0")/../system/lib.sh"
P=$B/test/blas
for p in gemm levels legacy native; do
	[ -x "$P/$p" ] || { echo "skip blas: OpenBLAS was not there when the tests were built (tools/setup.sh installs it)"; exit 0; }
done
if [ "${2:-}" = bench ]; then
	"$P/native" || exit 1
	echo "--- the whole way, one core for the device, one thread for OpenBLAS"
	taskset -c 0 "$V/vgpu-stub" --socket "$dir/stub" 2>>"$dir/stub.log" &
	stub=$!
	until_true test -S "$dir/stub" || exit 1
	start_agent
	taskset -c 1 "$P/gemm" -b -t 1 || exit 1
	kill "$agent" "$stub"; wait; rm -f "$dir/stub" "$dir/agent" "$dir/pid"
	echo "--- two and two"
	start_stub
	start_agent
	"$P/gemm" -b -t 2
	exit
fi
for isa in avx512 avx2 base; do
	VGPU_CPU_ISA=$isa
	export VGPU_CPU_ISA
	start_stub
	start_agent
	out=$(timeout 120 "$P/gemm" 2>&1) && ok "$isa ${out#ok }" || fail "$isa: $(tail -n 2 <<<"$out")"
	n=1
	[ $isa = avx512 ] && n=3
	out=$(timeout 240 "$P/levels" -n $n 2>&1) && ok "$isa $(grep '^ok' <<<"$out" | sed 's/^ok //')" || fail "$isa: $(grep -v 'not supported' <<<"$out" | tail -n 4)"
	out=$(timeout 240 "$P/legacy" $n 2>&1) && ok "$isa $(grep '^ok' <<<"$out" | sed 's/^ok //')" || fail "$isa: $(tail -n 4 <<<"$out")"
	kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null; agent='' stub=''
	rm -f "$dir/stub" "$dir/agent" "$dir/pid"
done
out=$(timeout 120 "$P/native" -r 1 2>&1) && ! grep -q FAIL <<<"$out" && ok "kernels as OpenBLAS" || fail "kernels: $(grep FAIL <<<"$out")"
