#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu trace: what the device did and when, in the Perfetto file and in --stats, of a program whose work is known; and that programs do the
# same under it.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
here=tests/system/device
unset VGPU_TRACE VGPU_TRACE_FILTER VGPU_TRACE_DEVICE
start_stub --memory 1G
start_agent
gcc -Wall -Wextra -Ilibcuda-lite/include -o "$dir/program" $here/program.c "$B/lib/libcuda.so.1" >"$dir/log" 2>&1 || { fail "the program does not build: $(cat "$dir/log")"; exit 1; }

timeout 60 "$V/vgpu" trace --perfetto "$dir/p.json" -- "$dir/program" >"$dir/printed" 2>"$dir/err" && timeout 60 "$V/vgpu" trace --stats -j -o "$dir/s.json" -- "$dir/program" >/dev/null 2>>"$dir/err" &&
	python3 $here/check.py "$dir/p.json" "$dir/s.json" "$dir/printed" 2>>"$dir/err" && ok "work, streams, waits, times and arrows" || fail "the device's work: $(cat "$dir/err" "$dir/s.json")"
# threads that share a stream: each one's marks stand around what the others give it meanwhile
timeout 120 "$V/vgpu" trace --perfetto "$dir/t.json" -o /dev/null -- "$B/e2e/driver/threads" >"$dir/out" 2>&1 && python3 $here/nest.py "$dir/t.json" 2>>"$dir/out" &&
	python3 $here/nest.py "$dir/p.json" 2>>"$dir/out" && ok "slices of a track follow each other, or lie within" || fail "slices: $(tail -n 3 "$dir/out")"
timeout 60 "$V/vgpu" trace --stats -- "$dir/program" >/dev/null 2>"$dir/out"
grep -q 'cuda_gpu_kern_sum' "$dir/out" && grep -qE '^ +[0-9.]+ +[0-9]+ +3 .* spin\(unsigned int\*\)$' "$dir/out" && grep -qE ' 1 .*\[CUDA memcpy Host-to-Device\]$' "$dir/out" &&
	ok "--stats as text" || fail "--stats: $(cat "$dir/out")"
timeout 60 "$V/vgpu" trace -o "$dir/lines" -- "$dir/program" >/dev/null 2>&1 && ! grep -q '^D ' "$dir/lines" && [ "$(grep -c ' cuLaunchKernel(' "$dir/lines")" = 7 ] &&
	ok "lines of calls have none of it" || fail "lines: $(cat "$dir/lines")"
timeout 60 "$V/vgpu" trace -c --stats -- true >/dev/null 2>&1; [ $? = 125 ] && ok "-c and --stats are one or the other" || fail "-c --stats"
timeout 60 "$V/vgpu" trace --stats -- true >"$dir/out" 2>&1; grep -q 'the device did nothing' "$dir/out" && ok "a program without work" || fail "no work: $(cat "$dir/out")"

# programs do what they do without it: order, errors, queries, captures, children, ends in the middle of a kernel
for p in streams graph graph_errors hostfn threads promises contexts forks fault endless copies; do
	timeout 120 "$V/vgpu" trace --stats -o "$dir/s" -- "$B/e2e/driver/$p" >"$dir/out" 2>&1 && [ -s "$dir/s" ] && ok "$p under it" || fail "$p: $(tail -n 5 "$dir/out")"
done
timeout 120 "$V/vgpu" trace --stats -j -o "$dir/s" -- "$B/e2e/blas12/blas" >"$dir/out" 2>&1 && grep -q '"\[matrix product\]"' "$dir/s" && ok "cuBLAS's products" || fail "blas: $(tail -n 5 "$dir/out")"
