#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu-stub --kernel-timeout: a kernel without end is ended with CUDA_ERROR_LAUNCH_TIMEOUT; its neighbour and a second context live on.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
cat >"$dir/spin.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p){ .reg .b32 %r<3>;"
	" .reg .b64 %d<2>; .reg .pred %p; ld.param.u64 %d1,[p]; L: ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %p,%r1,0; @%p bra L; ret; }";
int main(int argc, char **argv)
{
	unsigned n = (unsigned)atoi(argv[1]);
	CUdevice d; CUcontext c; CUmodule m; CUfunction f; CUdeviceptr p; CUresult r;
	void *a[] = { &p };
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d) || cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&f, m, "k") ||
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
