#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make demo: device table, the end-to-end programs against their references, an unmodified llama.cpp that writes text,
# Ollama where its parts are there, launch latency. All on a device and an agent of its own; needs no root.
set -eu
cd "$(dirname "$0")/.."
B=$(cd "$1" && pwd)
if [ "${2:-}" != inside ]; then
	exec "$B/bin/vgpu" run --private -- "${BASH:-bash}" tests/demo.sh "$B" inside
fi
echo
"$B/bin/vgpu" smi
echo
echo "CUDA programs, each checked against a CPU reference:"
bad=0
while read -r name flavours demo args; do
	case $name in '' | '#'*) continue ;; esac
	[ "$demo" = yes ] || continue
	for f in ${flavours//,/ }; do
		# shellcheck disable=SC2086
		out=$(timeout 60 "$B/e2e/$f/$name" $args 2>&1 </dev/null) || { bad=1; out="FAIL: $out"; }
		printf '  %-8s %s\n' "$f" "$(tail -n 1 <<<"$out")"
	done
done <tests/e2e/programs.txt
echo
echo "An unmodified llama.cpp (npm's node-llama-cpp with its own CUDA 12 libggml-cuda.so), a model trained on Debian's licences:"
[ -e "$B/llm/llm" ] || echo "  fetching its packages from npm, 224 MB, once"
st=0; why=$(tests/llm/build.sh "$B" 2>&1) || st=$?
if [ $st = 0 ]; then
	LD_LIBRARY_PATH=$B/llm/lib:${LD_LIBRARY_PATH:-} VGPU_TRACE=$B/llm/demo.trace \
		VGPU_TRACE_FILTER='cudaLaunchKernel*,cudaMemcpyAsync,cudaMemcpy2DAsync,cublas*gemm*' \
		timeout 600 "$B/llm/llm" "$B/llm/lib" demo tests/llm/model/licences.gguf "You may copy and distribute" ||
		{ bad=1; echo "FAIL: the text"; }
	# what the runtime asked of the device for it, as vgpu trace saw the calls
	awk '/cudaLaunchKernel/ { l++ } /gemm/ { g++ } /cudaMemcpy/ { c++; if (match($0, /bytes=[0-9]+/)) b += substr($0, RSTART + 6, RLENGTH - 6) }
		END { printf "  %d kernel launches, %d matrix products of cuBLAS, %d copies of %.1f MB together\n", l, g, c, b / 1e6; exit !l }' \
		"$B/llm/demo.trace" || bad=1
	rm -f "$B/llm/demo.trace"
elif [ $st = 77 ]; then
	echo "  not shown: $(tail -n 1 <<<"$why")"
else
	bad=1
	echo "FAIL: $why"
fi
echo
echo "Ollama:"
tests/ollama/demo.sh "$B" || bad=1
echo
"$B/bin/vgpu" bench launch -q
exit $bad
