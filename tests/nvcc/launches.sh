#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Kernels that launch kernels (CUDA dynamic parallelism), as nvcc -rdc=true makes them: on every engine, by the rules of CUDA 12 and by
# the older ones, and without end: bounded in memory, ended by --kernel-timeout, beside a neighbour that goes on.
#   launches.sh BUILD
. "$(dirname "$0")/../system/lib.sh"
cd "$(dirname "$0")/../.." || exit
. tests/nvcc/lib.sh
nvcc_get "$B"
out=$B/nvcc-out/launches
src=tests/nvcc/rdc

make_one() { # NAME FILE FLAG...
	local name=$1 file=$2
	shift 2
	nvcc_make "$out/$name" "$src/$file.cu" -rdc=true -w "$@" "$src/$file.cu" || { fail "$name does not compile"; exit 1; }
}
run_one() { # NAME PROGRAM [VARIABLE=VALUE]
	local name=$1 program=$2
	shift 2
	env "$@" timeout 200 "$B/bin/vgpu" run --private --cc 8.0 -- "$out/$program" >"$out/$name.said" 2>&1 ||
		fail "$name ended with status $?: $(grep -v agent "$out/$name.said" | tail -1)"
	sed -En "s/^(ok|FAIL) /\1 $name\//p" "$out/$name.said"
}
make_one shared launches -cudart shared -gencode arch=compute_75,code=compute_75
make_one static launches -arch=sm_80
make_one waits waits -arch=sm_75 -DCUDA_FORCE_CDP1_IF_SUPPORTED
make_one endless endless -arch=sm_75
run_one jit shared
run_one avx2 shared VGPU_CPU_ISA=avx2
run_one interp static VGPU_ENGINE=interp
run_one memcheck static VGPU_ENGINE=memcheck
run_one verify static VGPU_ENGINE=verify
for said in jit interp; do
	grep -q 'illegal address: .* in kernel fault(int\*), block' "$out/$said.said" && ok "$said/fault names the child" || fail "$said: $(tail -n 3 "$out/$said.said")"
	[ "$(grep -c '^child [012]$' "$out/$said.said")" = 3 ] && ok "$said/children print" || fail "$said: children's lines"
done
run_one old-jit waits
run_one old-avx2 waits VGPU_CPU_ISA=avx2
run_one old-interp waits VGPU_ENGINE=interp
run_one endless endless

start_stub --kernel-timeout 3 --cc 8.0 --memory 1G
start_agent
kib() { for p in $(pgrep -P "$stub"); do sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$p/status"; done 2>/dev/null | sort -n | tail -n 1; }
timeout 100 "$B/bin/vgpu" run -- "$out/endless" for-ever >"$dir/out" 2>"$dir/err" & run=$!
most=0
while kill -0 $run 2>/dev/null; do
	now=$(kib)
	[ "${now:-0}" -gt $most ] && most=$now
	timeout 100 "$B/e2e/driver/vecadd" >"$dir/beside" 2>&1 || fail "for-ever: a neighbour: $(cat "$dir/beside")"
done
wait $run
grep -q 'the launch timed out' "$dir/out" && ok "for-ever/timeout" || fail "for-ever: $(cat "$dir/out" "$dir/err")"
grep -q 'takes longer than 3 s' "$dir/err" && ok "for-ever/told" || fail "for-ever: $(cat "$dir/err")"
[ $most -gt 1000 ] && [ $most -lt 400000 ] && ok "for-ever/memory" $most KiB || fail "for-ever: $most KiB"
