#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An unmodified llama.cpp (npm's node-llama-cpp, CUDA 12) on VGPU-STUB: logits against its own CPU backend.
# One line per model: ok, FAIL or skip.
#   run.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
L=$B/llm
why=$("$here/fetch.sh" "$L" 2>&1); st=$?
[ $st = 77 ] && { echo "skip llm: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL llm: $why"; exit 1; }
gcc -O2 -o "$L/mkgguf" "$here/mkgguf.c" -lm || { echo "FAIL llm: mkgguf does not build"; exit 1; }
# versioned file names: libllama.vX.so; llama's own libraries want a newer C++ runtime than the build does
gcc -O2 -std=gnu11 -I"$L/include" -o "$L/llm" "$here/llm.c" "$L"/lib/libllama.v*.so "$L"/lib/libggml.v*.so "$L/lib/libggml-base.so" \
	-Wl,--allow-shlib-undefined -lm || { echo "FAIL llm: the harness does not build"; exit 1; }
export LD_LIBRARY_PATH=$L/lib${LLM_EXTRA:+:$LLM_EXTRA}
bad=0
# NAME MAX_NMSE "model arguments" "llm arguments"
one() {
	local out st
	"$L/mkgguf" -o "$L/$1.gguf" $3 || { echo "FAIL $1: mkgguf"; bad=1; return; }
	out=$(timeout 240 "$B/bin/vgpu" run --private -- "$L/llm" -m "$2" $4 "$L/lib" "$L/$1.gguf" 2>"$L/$1.log"); st=$?
	if [ $st = 0 ]; then
		echo "ok $1 ${out#llm: }"
	else
		bad=1
		echo "FAIL $1 (exit $st) ${out:-$(tail -n 3 "$L/$1.log" | tr '\n' ' ')}"
	fi
	rm -f "$L/$1.gguf"
}
# the two back ends quantise activations differently, and that grows with depth: Q4 has the wider bound
one q8_0    5e-4 "-t q8_0 -e 256 -l 2 -H 4 -k 2 -f 512 -v 512" "-p 24 -n 8"
one q4_0    4e-3 "-t q4_0 -e 576 -l 4 -H 9 -k 3 -f 1536 -v 2048" "-p 16 -n 6"
one q8_0_1  5e-4 "-t q8_0 -e 256 -l 2 -H 4 -k 2 -f 512 -v 512 -s 7" "-p 1 -n 8"
[ -e "$B/lib/libcublas.so.12" ] && one f16 5e-4 "-t f16 -e 512 -l 2 -H 4 -k 2 -f 1024 -v 1000" "-p 33 -n 6"
exit $bad
