#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every kernel of the unmodified CUDA 12 libggml-cuda.so is parsed, checked and compiled, by each way there is to
# run it. One line each: ok, FAIL or skip.
#   whole.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
why=$("$here/fetch.sh" "$B/llm" 2>&1); st=$?
[ $st = 77 ] && { echo "skip all: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL all: $why"; exit 1; }
bad=0
for mode in interp jit; do
	out=$(VGPU_ENGINE=$mode timeout 250 "$B/bin/vgpu" check "$B/llm/lib/libggml-cuda.so" 2>&1); st=$?
	n=$(sed -n 's/.*: \([0-9]*\) of [0-9]* kernels run.*/\1/p' <<<"$out")
	# fewer would mean that the containers were not found
	if [ $st = 0 ] && [ "${n:-0}" -ge 6000 ]; then
		echo "ok $mode $(sed -n '1s/.*: //p; 2s/^ */, /p' <<<"$out" | tr -d '\n')"
	else
		bad=1
		echo "FAIL $mode (exit $st)"
		printf '%s\n' "$out"
	fi
done
exit $bad
