#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The memory checker through the whole stack: sizes as the program asked for them, reports on its standard output.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT VGPU_ENGINE
export XDG_RUNTIME_DIR=$dir

run() { timeout 60 "$V/vgpu" run "$@" >"$dir/out" 2>"$dir/err"; }

run --private -- "$B/test/system/memcheck" 25; st=$?
[ $st = 0 ] && ok "without it, the rest of a page is anybody's" || fail "a store in the same page: $st, $(cat "$dir/out" "$dir/err")"
run --memcheck -- "$B/test/system/memcheck" 24; st=$?
[ $st = 0 ] && ! grep -q ===== "$dir/out" && ok "the last word of an allocation is fine" || fail "the last word: $st, $(cat "$dir/out" "$dir/err")"
run --memcheck -- "$B/test/system/memcheck" 25; st=$?
[ $st = 1 ] && grep -q 'Invalid __global__ write of size 4 bytes' "$dir/out" && grep -q 'at put, PTX line 12: st.global.u32 \[%q2\], %r0$' "$dir/out" &&
	grep -q 'by thread (0,0,0) in block (0,0,0)' "$dir/out" &&
	grep -q 'is 1 bytes after the nearest allocation at 0x[0-9a-f]* of size 100 bytes' "$dir/out" &&
	ok "one word further is told, and ends with ILLEGAL_ADDRESS" || fail "one word further: $st, $(cat "$dir/out" "$dir/err")"
run --memcheck -- "$B/test/system/memcheck" 3 freed; st=$?
[ $st = 1 ] && grep -q 'is 12 bytes inside the freed allocation at 0x[0-9a-f]* of size 100 bytes' "$dir/out" &&
	ok "use after free" || fail "use after free: $st, $(cat "$dir/out" "$dir/err")"

grep -q '^========= ERROR SUMMARY: 1 error in [0-9]* launch' "$dir/err" && ok "the end sums up" || fail "no summary: $(cat "$dir/err")"
run --memcheck --error-exitcode 42 -- "$B/test/system/memcheck" 25; st=$?
[ $st = 42 ] && ok "--error-exitcode" || fail "--error-exitcode: $st"
run --memcheck --error-exitcode 42 -- "$B/test/system/memcheck" 24; st=$?
[ $st = 0 ] && grep -q '^========= ERROR SUMMARY: 0 errors in 1 launches' "$dir/err" && ok "--error-exitcode where nothing is wrong, and a summary" ||
	fail "clean: $st, $(cat "$dir/err")"
run --memcheck --log-file "$dir/log" -- "$B/test/system/memcheck" 25
grep -q 'Invalid __global__ write' "$dir/log" && grep -q '^========= ERROR SUMMARY: 1 error' "$dir/log" && ! grep -q ===== "$dir/out" "$dir/err" && grep -q '^synchronize' "$dir/out" &&
	ok "--log-file has the report, and nobody else" || fail "--log-file: $(cat "$dir/log"); $(cat "$dir/out" "$dir/err")"
run --memcheck --log-file "$dir/log2" -- "$B/e2e/driver/printf"; st=$?
[ $st = 0 ] && grep -q '^printf: ok' "$dir/out" && ok "a kernel's own printf stays on standard output" || fail "printf beside --log-file: $st, $(tail -n 3 "$dir/out" "$dir/err")"
run --log-file "$dir/log" -- true; [ $? = 125 ] && ok "--log-file without --memcheck is refused" || fail "--log-file alone"

# nothing is said about programs that do nothing wrong
for p in vecadd reduce matmul hist scan globals managed vmm; do
	run --memcheck -- "$B/e2e/driver/$p"; st=$?
	[ $st = 0 ] && ! grep -q ===== "$dir/out" && ok "$p is clean" || fail "$p: $st, $(grep -A4 ===== "$dir/out" | head -n 5)"
done

run --memcheck -- "$V/vgpu" smi && grep -q 'engine cpu: memory checker' "$dir/out" && ok "vgpu smi names the engine" ||
	fail "vgpu smi: $(cat "$dir/out" "$dir/err")"

# a missing __syncthreads, as clang compiles it: both sides by the lines of the program
cat >"$dir/rev.cu" <<'END'
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
__device__ static inline void put(int *p, int v)
{
	*p = v;
}
extern "C" __global__ void k(int *out)
{
	__shared__ int sh[64];
	int t = __nvvm_read_ptx_sreg_tid_x();
	put(&sh[t], t);
	__syncthreads();
	put(&sh[t], t + 1);
	BARRIER;
	out[t] = sh[63 - t];
}
END
race() {
	clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_60 -nocudainc -nocudalib -O1 -gline-tables-only "-DBARRIER=$1" -S "$dir/rev.cu" -o "$dir/rev.ptx" &&
		{ cat "$dir/rev.ptx" && printf '// launch: k grid=1 block=64 args=out:u32[64]\n%s\n' "$2"; } >"$dir/race.ptx" &&
		"$B/test/ptx/plain/ptxrun" -m memcheck "$dir/race.ptx" >"$dir/out" 2>&1
}
if ! command -v clang >/dev/null; then
	skip "races by source line: no clang"
else
	race '(void)0' "$(printf '// memcheck: %s\n' 'Race reported between' "in $dir/rev.cu:16, by thread" "in $dir/rev.cu:6" 'Race reported between' 'ERROR SUMMARY: 2 errors')" &&
		ok "a missing __syncthreads is a race, with the lines of both sides" || fail "a race: $(tail -n 14 "$dir/out")"
	race '__syncthreads()' '// expect: out[0] = 64' && ! grep -q Race "$dir/out" && ok "with it, none" || fail "no race: $(tail -n 5 "$dir/out")"
fi
