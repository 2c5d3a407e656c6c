#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu-stub --kernel-timeout and vgpu ctl set kernel-time: a kernel without end is ended with CUDA_ERROR_LAUNCH_TIMEOUT; its neighbour and a
# second context live on. vgpu ctl list says which kernel runs, and for how long.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
cat >"$dir/spin.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry _Z5spinsPi(.param .u64 p){ .reg .b32 %r<3>;"
	" .reg .b64 %d<2>; .reg .pred %p; ld.param.u64 %d1,[p]; L: ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %p,%r1,0; @%p bra L; ret; }";
int main(int argc, char **argv)
{
	unsigned n = (unsigned)atoi(argv[1]);
	CUdevice d; CUcontext c; CUmodule m; CUfunction f; CUdeviceptr p; CUresult r;
	void *a[] = { &p };
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d) || cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&f, m, "_Z5spinsPi") ||
	    cuMemAlloc(&p, 64) || cuMemsetD8(p, 0, 64) || cuCtxSynchronize())
		return 1;
	if (cuLaunchKernel(f, n, 1, 1, argc > 2 ? 64 : 1, 1, 1, 0, NULL, a, NULL))
		return 2;
	r = cuCtxSynchronize();
	printf("%d", r);
	r = cuMemAlloc(&p, 64);
	printf(" %d", r);
	/* another context of the same process */
	r = (cuCtxCreate)(&c, NULL, 0, d);
	printf(" %d %d\n", r, cuMemAlloc(&p, 64));
	return 0;
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/spin" "$dir/spin.c" "$B/lib/libcuda.so.1" || { fail "does not build"; exit 1; }
"$V/vgpu-stub" --socket "$dir/no" --kernel-timeout 0 2>/dev/null && fail "0 seconds were taken" || ok "0 seconds are refused"
start_stub --kernel-timeout 2
start_agent
for shape in 1 "64 wide"; do
	# shellcheck disable=SC2086
	timeout 100 "$dir/spin" $shape >"$dir/out" 2>"$dir/err" & spin=$!
	timeout 100 "$B/e2e/driver/vecadd" >"$dir/beside" 2>&1 || fail "a neighbour of a kernel without end: $(cat "$dir/beside")"
	wait $spin
	[ "$(cat "$dir/out")" = "702 702 0 0" ] && ok "grid $shape: LAUNCH_TIMEOUT, which stays; another context is well" || fail "grid $shape: '$(cat "$dir/out")' $(head -n 2 "$dir/err")"
	grep -q 'takes longer than 2 s' "$dir/err" && ok "grid $shape: its user is told why" || fail "grid $shape: $(cat "$dir/err")"
done
"$B/e2e/driver/reduce" >"$dir/out" 2>&1 && ok "the device goes on" || fail "afterwards: $(cat "$dir/out")"
until_true sh -c "'$V/vgpu' smi -j | grep -q '\"faults\":2'" && ok "both are counted as faults" || fail "faults: $("$V/vgpu" smi -j)"

# while all run: another limit, of everybody, of the user, and one that is longer than the device's own
limited() { # limited SECONDS WHOSE WHO TIME
	"$V/vgpu" ctl set "$3" kernel-time "$4" || fail "set $3 kernel-time $4"
	timeout 100 "$dir/spin" 1 >"$dir/out" 2>"$dir/err"
	[ "$(cat "$dir/out")" = "702 702 0 0" ] && grep -qF "takes longer than $1 s ($2)" "$dir/err" && ok "$3 kernel-time $4: after $1 s, $2" ||
		fail "$3 kernel-time $4: '$(cat "$dir/out")' $(head -n 2 "$dir/err")"
	"$V/vgpu" ctl set "$3" kernel-time default
}
limited 0.3 "vgpu ctl set kernel-time" everybody 300ms
limited 0.5 "vgpu ctl set kernel-time" "$(id -u)" 500ms
limited 2 "vgpu-stub --kernel-timeout" "$(id -u)" 1h
kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null
start_stub
start_agent
# one whose user may have a fiftieth of the device, and six times as long as it took him with all of it: what it waits is not its kernel's
sed -e 's/_Z5spinsPi/_Z5countPi/; s/L: ld.volatile.global.u32 %r1,\[%d1\]; setp.eq.u32 %p,%r1,0; @%p bra L;/mov.u32 %r1,0; L: ld.volatile.global.u32 %r2,[%d1]; add.u32 %r1,%r1,1; setp.lt.u32 %p,%r1,64000000; @%p bra L;/' "$dir/spin.c" >"$dir/count.c"
grep -q 64000000 "$dir/count.c" && $CC -w -Ilibcuda-lite/include -o "$dir/count" "$dir/count.c" "$B/lib/libcuda.so.1" || fail "one that counts does not build"
t0=$(date +%s%N)
"$dir/count" 1 >"$dir/out" 2>&1
took=$((($(date +%s%N) - t0) / 1000000))
"$V/vgpu" ctl set "$(id -u)" compute 2% && "$V/vgpu" ctl set "$(id -u)" kernel-time $((6 * took))ms || fail "ctl set"
timeout 100 "$dir/count" 1 >"$dir/out" 2>"$dir/err"
"$V/vgpu" ctl set "$(id -u)" compute default; "$V/vgpu" ctl set "$(id -u)" kernel-time default
[ "$(cat "$dir/out")" = "0 0 0 0" ] && ok "a kernel that waits for its share" || fail "$took ms, 2%: '$(cat "$dir/out")' $(head -n 2 "$dir/err")"
# one that runs already
"$dir/spin" 1 >"$dir/out" 2>"$dir/err" & spin=$!
trap 'kill $spin 2>/dev/null; cleanup' EXIT
now() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
print(*[(c["kernel"], c["kernel_s"] > 0.2) for c in json.load(sys.stdin)["contexts"]])'; }
spins() { [ "$(now)" = "('_Z5spinsPi', True)" ]; }
until_true spins && ok "ctl list -j: which kernel runs, since when" || fail "ctl list: $(now)"
"$V/vgpu" ctl list | grep -qE ' [0-9.]+ m?s spins\(int\*\)$' && ok "ctl list, for people" || fail "ctl list: $("$V/vgpu" ctl list)"
"$V/vgpu" ctl set everybody kernel-time 300ms
wait $spin
[ "$(cat "$dir/out")" = "702 702 0 0" ] && grep -qF 'takes longer than 0.3 s (vgpu ctl set kernel-time)' "$dir/err" && ok "a kernel that ran before it was set" ||
	fail "set while it runs: '$(cat "$dir/out")' $(head -n 2 "$dir/err")"
