#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu sanitizer as users of compute-sanitizer type it: tools, names, leaks, what is refused. What each tool must not say is asked as well.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT VGPU_ENGINE VGPU_MEMCHECK VGPU_TRACE VGPU_TRACE_FILTER
cd "$(dirname "$0")/../.." || exit 1
export XDG_RUNTIME_DIR=$dir
S=$B/lib/compute-sanitizer
v=$B/test/system/sanitizer

# CASE OPTIONS...: everything that is said, in $dir/out
run() { local c=$1; shift; timeout 100 "$S" "$@" "$v" "$c" >"$dir/out" 2>&1; }
says() { local t; for t; do grep -qF -e "$t" "$dir/out" || { echo "  lacks: $t"; return 1; }; done; }
clean() { says "victim: done" "ERROR SUMMARY: 0 errors" && [ "$(grep -c ==== "$dir/out")" = 1 ]; }
# NAME, and whether the command before it was right
is() { if [ "$1" = 0 ]; then ok "$2"; else fail "$2: $(tail -n 12 "$dir/out")"; fi; }

run unwritten --tool initcheck
says 'Uninitialized __global__ memory read of size 4 bytes' 'at void scan<float, 2>(float const*, float*, unsigned int), PTX line 13: ld.global.u32' \
	'is 12 bytes inside the allocation at' 'of size 256 bytes, and nobody has written it' 'ERROR SUMMARY: 1 error in 1 launches'
is $? "initcheck: a load of what nobody has written"
run atomic --tool=initcheck
says 'Uninitialized __global__ memory read of size 4 bytes' 'at add, PTX line' 'ERROR SUMMARY: 1 error'
is $? "initcheck: an atomic"
run part --tool initcheck
says 'is 40 bytes inside the allocation' 'ERROR SUMMARY: 1 error in 2 launches'
is $? "initcheck: to the byte, behind a copy"
run out --tool initcheck
says 'memory read by a copy out of it' 'is 0 bytes inside the allocation' 'ERROR SUMMARY: 1 error'
is $? "initcheck: a copy to the host"
run moved --tool initcheck
says 'is 40 bytes inside the allocation' 'ERROR SUMMARY: 1 error'
is $? "initcheck: copies within the device hand on what is not written"
run written --tool initcheck
clean; is $? "initcheck: copies, fills and kernels write"
run unwritten
clean; is $? "memcheck does not ask for it"
run race --tool racecheck
says 'Race reported between Write access and Write access to __shared__ memory' 'ERROR SUMMARY: 1 error'
is $? "racecheck: two warps write one word"
run race --tool memcheck
clean; is $? "memcheck does not ask for that"
run race --tool initcheck
clean; is $? "nor does initcheck"

run outside --demangle simple
says 'Invalid __global__ read of size 4 bytes' 'at scan, PTX line' && ! grep -q '^=.*scan<' "$dir/out"
is $? "--demangle simple"
run outside --demangle no
says 'at _Z4scanIfLi2EEvPKT_PS0_j, PTX line'
is $? "--demangle no"
run outside --error-exitcode=7 --print-limit 0; st=$?
[ $st = 7 ] && ! grep -q 'Invalid' "$dir/out" && says 'ERROR SUMMARY: 1 errors in void scan' '1 of them not shown'
is $? "--print-limit and --error-exitcode"
run outside --log-file "$dir/log.%p"
! grep -q ===== "$dir/out" && cat "$dir"/log.[0-9]* >"$dir/out" && says 'Invalid __global__ read' 'ERROR SUMMARY: 1 error'
is $? "--log-file with %p"

run leak --leak-check full --error-exitcode 9; st=$?
[ $st = 9 ] && says 'Leaked 1234 bytes at 0x' 'Saved host backtrace up to driver entry point at allocation time' \
	'LEAK SUMMARY: 1234 bytes leaked in 1 allocation' 'ERROR SUMMARY: 1 error' && grep -q "Host Frame: forgetful+0x.* in .*/sanitizer$" "$dir/out" &&
	grep -q "Host Frame: main+0x" "$dir/out" && ! grep -q 'libcuda' "$dir/out"
is $? "--leak-check full: what, how much, and where, from the program's own frame on"
run reset --leak-check full
says 'LEAK SUMMARY: 1746 bytes leaked in 3 allocations'
is $? "what a reset of the context takes away was not freed either"
run written --leak-check full
says 'LEAK SUMMARY: 0 bytes leaked in 0 allocations' 'ERROR SUMMARY: 0 errors'
is $? "no leak where all is freed"
if [ -x "$B/e2e/rt12/rt_vecadd" ]; then
	timeout 100 "$S" --leak-check full "$B/e2e/rt12/rt_vecadd" >"$dir/out" 2>&1
	says 'LEAK SUMMARY: 0 bytes leaked in 0 allocations'
	is $? "nor of the runtime's own making"
fi

# calls that fail, as compute-sanitizer tells them where nothing else is asked for
run careless
says 'Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to "invalid argument" on CUDA API call to cuMemAlloc_v2.' \
	'Saved host backtrace up to driver entry point at error' 'ERROR SUMMARY: 1 error in 0 launches' &&
	[ "$(grep -m 1 'Host Frame' "$dir/out" | grep -c 'careless+0x.* in .*/sanitizer$')" = 1 ] && grep -q 'Host Frame: main+0x' "$dir/out" && ! grep -q 'libcuda' "$dir/out"
is $? "a call that fails: which, why, and from the program's own frame on"
run careless --error-exitcode 5; [ $? = 5 ]; is $? "--error-exitcode counts it"
run careless --report-api-errors no
clean; is $? "--report-api-errors no"
run careless --tool initcheck
clean; is $? "it is memcheck's"
run polls
clean; is $? "NOT_READY is no failure"
run heedless
says '========= 900 more calls failed' 'ERROR SUMMARY: 1000 errors' && [ "$(grep -c 'Program hit' "$dir/out")" = 100 ]
is $? "a hundred are told, all are counted"
run careless --log-file "$dir/calls"
! grep -q ===== "$dir/out" && cp "$dir/calls" "$dir/out" && says 'Program hit CUDA_ERROR_INVALID_VALUE' 'ERROR SUMMARY: 1 error'
is $? "they go to --log-file"
run outside
says 'Invalid __global__ read of size 4 bytes' 'Program hit CUDA_ERROR_ILLEGAL_ADDRESS (error 700)' 'on CUDA API call to cuCtxSynchronize' 'ERROR SUMMARY: 2 errors'
is $? "behind a fault the call that hears of it"
cat >"$dir/runtime.c" <<'C'
#include <cuda_runtime_api.h>
int main(void) { void *p; return cudaMalloc(&p, (size_t)1 << 50) != cudaErrorMemoryAllocation; }
C
${CC:-cc} -w -DCUDART_VERSION=13000 -Ilibcuda-lite/include -o "$dir/runtime" "$dir/runtime.c" -L"$B/lib/dev-13" -lcudart || fail "does not build"
timeout 100 "$S" "$dir/runtime" >"$dir/out" 2>&1
says 'cudaErrorMemoryAllocation (error 2) due to "out of memory" on CUDA API call to cudaMalloc.' 'Host Frame: main+0x' && [ "$(grep -c 'Program hit' "$dir/out")" = 1 ]
is $? "a call of the runtime, and not those inside it"
timeout 100 "$S" --report-api-errors all "$dir/runtime" >"$dir/out" 2>&1
says 'on CUDA API call to cudaMalloc.' 'CUDA_ERROR_OUT_OF_MEMORY (error 2) due to "out of memory" on CUDA API call to cuMemAlloc_v2.'
is $? "--report-api-errors all: those too"
[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'vgpu-calls-*' -newer "$dir/runtime.c" 2>/dev/null)" ]
is $? "nothing is left behind"

for o in "--report-api-errors some" "--destroy-on-device-error kernel" "--tool nonsense" "--track-unused-memory yes" "--leak-check maybe" "--xml"; do
	# shellcheck disable=SC2086
	run clean $o; st=$?
	word=${o%% *}
	[ $st = 125 ] && says "$word" 'is not there'
	is $? "$o is refused by name"
done
run written --target-processes all --padding 32 --show-backtrace no
clean; is $? "what asks for what is done anyway is taken"
"$V/vgpu" sanitizer --help >"$dir/out" 2>&1 && says '--leak-check full|no'
is $? "vgpu sanitizer --help"
