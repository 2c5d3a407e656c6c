#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The plain CUDA 13 package of llama.cpp on a device of compute capability 6.1: it has no PTX for that. It must be refused by
# name, compute nothing, and vgpu doctor must say which package to take. Fetches 140 MB more than run.sh.
#   cuda13.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
L=$B/llm
D=$L/cuda13
why=$("$here/build.sh" "$B" 2>&1 && "$here/fetch.sh" "$L" cuda13 2>&1); st=$?
[ $st = 77 ] && { echo "skip cuda13: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL cuda13: $why"; exit 1; }
model=$here/model/licences.gguf
export LD_LIBRARY_PATH=$D
# ggml calls a debugger when it aborts, if there is one
GGML_NO_BACKTRACE=1 timeout 120 "$B/bin/vgpu" run --private -- "$L/llm" "$D" logits -p 8 -n 2 "$model" >"$D/out" 2>"$D/err"; st=$?
if [ $st != 0 ] && [ $st != 124 ] && ! grep -q nmse "$D/out"; then
	echo "ok cuda13_computes_nothing exit $st"
else
	echo "FAIL cuda13_computes_nothing: exit $st: $(tail -n 3 "$D/out" "$D/err" | tr '\n' ' ')"
fi
grep -q 'no PTX for compute capability 6.1 or below; the image has PTX: 75 80 90' "$D/err" && grep -q 'no kernel image is available' "$D/err" &&
	echo "ok cuda13_refused_by_name" || echo "FAIL cuda13_refused_by_name: $(tail -n 5 "$D/err" | tr '\n' ' ')"
"$B/bin/vgpu" run --private -- "$B/bin/vgpu" doctor -- "$L/llm" "$D/libggml-cuda.so" "$model" >"$D/out" 2>&1
if grep -A1 '^fail  GPU code of libggml-cuda.so: no PTX for this device, compute capability 6.1;' "$D/out" | grep -q 'fix: .*CUDA 12.*linux-x64-cuda-ext.*--cc 7.5'; then
	echo "ok cuda13_doctor_names_the_package"
else
	echo "FAIL cuda13_doctor_names_the_package: $(grep -A1 'GPU code' "$D/out" | tr '\n' ' ')"
fi
