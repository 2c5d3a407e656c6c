#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# node-llama-cpp itself, where Node is 20 or newer; and the plain CUDA 13 package, whose PTX begins at compute capability 7.5, on a
# device of 6.1: it must be turned away by name, not compute wrongly. Fetches 200 MB more than run.sh.
#   node.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
L=$B/llm
why=$("$here/build.sh" "$B" 2>&1 && "$here/fetch.sh" "$L" node 2>&1); st=$?
[ $st = 77 ] && { echo "skip node: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL node: $why"; exit 1; }
bad=0

# the same libllama with the CUDA 13 backend in place of the CUDA 12 one
rm -rf "$L/lib13"
cp -al "$L/lib" "$L/lib13" && ln -f "$L/cuda13/libggml-cuda.so" "$L/lib13/libggml-cuda.so"
out=$(LD_LIBRARY_PATH=$L/lib13 timeout 120 "$B/bin/vgpu" run --cc 6.1 -- "$L/llm" "$L/lib13" logits -p 2 "$here/model/licences.gguf" 2>&1); st=$?
if [ $st != 0 ] && ! grep -q '^ok' <<<"$out" && grep -q 'no PTX for compute capability 6.1.*75 80 90' <<<"$out" &&
	grep -q 'no kernel image is available' <<<"$out"; then
	echo "ok CUDA 13 package on 6.1: refused: $(grep -o -m 1 'no PTX for compute capability.*' <<<"$out")"
else
	bad=1
	echo "FAIL CUDA 13 package on 6.1 (exit $st): $(tail -n 3 <<<"$out" | tr '\n' ' ')"
fi
rm -rf "$L/lib13"

have=$(node --version 2>/dev/null)
major=${have#v}
if [ "${major%%.*}" -ge 20 ] 2>/dev/null; then
	cd "$L/node" || exit 1
	out=$(timeout 200 "$B/bin/vgpu" run --private -- node "$here/node.mjs" "$here/model/licences.gguf" "You may copy and distribute" 2>"$L/node.log")
	grep -E '^(ok|FAIL) ' <<<"$out" || echo "FAIL node: ${out:-$(tail -n 3 "$L/node.log" | tr '\n' ' ')}"
	grep -q '^ok ' <<<"$out" || bad=1
else
	echo "skip node-llama-cpp: it wants Node 20, here is ${have:-none}"
fi
exit $bad
