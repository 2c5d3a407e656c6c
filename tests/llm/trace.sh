#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu trace on an unmodified llama.cpp: memory, copies and launches are there, and no call answers with an error beyond
# errors.txt. Runs behind run.sh, which fetches and builds.
#   trace.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
L=$B/llm
for p in "$L/llm" "$L/mkgguf" "$L/lib/libggml-cuda.so"; do
	[ -e "$p" ] || { echo "skip trace: no $p (tests/llm/run.sh makes it)"; exit 0; }
done
export LD_LIBRARY_PATH=$L/lib
: >"$L/trace.seen"
bad=0
# NAME "model arguments" "llm arguments" "functions that must have been called" [ENVIRONMENT]
one() {
	"$L/mkgguf" -o "$L/$1.gguf" $2 || { echo "FAIL $1: mkgguf"; bad=1; return; }
	env ${5:-} timeout 240 "$B/bin/vgpu" trace -j --private -- "$L/llm" "$L/lib" $3 "$L/$1.gguf" >"$L/$1.out" 2>"$L/$1.log" ||
		{ echo "FAIL $1: $(tail -n 3 "$L/$1.out" "$L/$1.log" | tr '\n' ' ')"; bad=1; rm -f "$L/$1.gguf"; return; }
	rm -f "$L/$1.gguf"
	grep '^{' "$L/$1.out" | python3 "$here/trace.py" "$here/errors.txt" "$L/trace.seen" "$1" $4 || bad=1
}
one trace_q8_0 "-t q8_0 -e 256 -l 2 -H 4 -k 2 -f 512 -v 512" "logits -p 24 -n 4" "cudaMalloc cudaMemcpyAsync cudaLaunchKernel cuMemCreate"
one trace_no_vmm "-t q8_0 -e 256 -l 2 -H 4 -k 2 -f 512 -v 512" "logits -p 24 -n 2" "cudaMalloc cudaMemcpyAsync cudaLaunchKernel" GGML_CUDA_NO_VMM=1
one trace_f16 "-t f16 -e 512 -l 2 -H 4 -k 2 -f 1024 -v 1000" "logits -p 33 -n 2" "cudaMalloc cudaMemcpyAsync cudaLaunchKernel cublasSgemm_v2"
# a reason that is no longer needed
while read -r f r why; do
	case $f in '' | '#'*) continue ;; esac
	grep -qx "$f $r" "$L/trace.seen" || { echo "FAIL errors.txt: $f = $r does not occur ($why)"; bad=1; }
done <"$here/errors.txt"
exit $bad
