#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The plain CUDA 13 package of llama.cpp. On a device of compute capability 6.1 it has no PTX: it must be refused by name, compute
# nothing, and vgpu doctor must say which package to take. On one of 7.5 or 8.0 its kernels are those for tensor cores, and it
# must compute what its own CPU backend computes. Fetches 140 MB more than run.sh.
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
GGML_NO_BACKTRACE=1 timeout 120 "$B/bin/vgpu" run --private --cc 6.1 -- "$L/llm" "$D" logits -p 8 -n 2 "$model" >"$D/out" 2>"$D/err"; st=$?
if [ $st != 0 ] && [ $st != 124 ] && ! grep -q nmse "$D/out"; then
	echo "ok cuda13_computes_nothing exit $st"
else
	echo "FAIL cuda13_computes_nothing: exit $st: $(tail -n 3 "$D/out" "$D/err" | tr '\n' ' ')"
fi
grep -q 'no PTX for compute capability 6.1 or below; the image has PTX: 75 80 90' "$D/err" && grep -q 'no kernel image is available' "$D/err" &&
	echo "ok cuda13_refused_by_name" || echo "FAIL cuda13_refused_by_name: $(tail -n 5 "$D/err" | tr '\n' ' ')"
"$B/bin/vgpu" run --private --cc 6.1 -- "$B/bin/vgpu" doctor -- "$L/llm" "$D/libggml-cuda.so" "$model" >"$D/out" 2>&1
if grep -A1 '^fail  GPU code of libggml-cuda.so: no PTX for this device, compute capability 6.1;' "$D/out" | grep -q 'fix: .*CUDA 12.*linux-x64-cuda-ext.*--cc 7.5'; then
	echo "ok cuda13_doctor_names_the_package"
else
	echo "FAIL cuda13_doctor_names_the_package: $(grep -A1 'GPU code' "$D/out" | tr '\n' ' ')"
fi
timeout 120 "$B/bin/vgpu" run --private -- "$L/llm" "$D" logits -p 8 -n 2 "$model" >"$D/out" 2>"$D/err"; st=$?
if [ $st = 0 ] && grep -q 'device of compute capability 7.5, by the PTX in .*libggml-cuda.so' "$D/err" && grep -q '^ok' "$D/out"; then
	echo "ok cuda13_device_is_chosen"
else
	echo "FAIL cuda13_device_is_chosen: exit $st: $(tail -n 3 "$D/out" "$D/err" | tr '\n' ' ')"
fi
# head size 64, F16 and Q8_0 weights: flash attention, mul_mat_f and mul_mat_q, all with mma and ldmatrix
for t in f16 q8_0; do
	"$L/mkgguf" -o "$D/$t.gguf" -t $t -e 256 -l 2 -f 512 -v 512 -H 4 -k 2 || { echo "FAIL cuda13: mkgguf"; exit 1; }
	for cc in 7.5 8.0; do
		timeout 200 "$B/bin/vgpu" run --private --cc $cc -- "$L/llm" "$D" logits -p 1,8,9,33,64 -n 4 "$D/$t.gguf" >"$D/out" 2>"$D/err"; st=$?
		sed -n "s#^\(ok\|FAIL\) #\1 cuda13 at $cc, $t: #p" "$D/out"
		[ $st = 0 ] || grep -q ^FAIL "$D/out" || echo "FAIL cuda13 at $cc, $t: exit $st: $(tail -n 3 "$D/err" | tr '\n' ' ')"
	done
	# decoding goes through graphs: the same tokens, and few launches by themselves
	if [ $t = q8_0 ]; then
		timeout 200 "$B/bin/vgpu" run --private --cc 8.0 -- "$B/bin/vgpu" trace -c -- "$L/llm" "$D" logits -p 1 -n 16 "$D/$t.gguf" >"$D/out" 2>"$D/err"
		n=$(awk '$NF == "cudaGraphLaunch" {print $1}' "$D/err" "$D/out")
		if [ "${n:-0}" -ge 10 ] && grep -q '^ok prompt 1' "$D/out"; then
			echo "ok cuda13_decodes_through_graphs"
		else
			echo "FAIL cuda13_decodes_through_graphs: ${n:-no} launches of a graph; $(tail -n 3 "$D/out" "$D/err" | tr '\n' ' ')"
		fi
	fi
	rm -f "$D/$t.gguf"
done
# the kernels for tensor cores subtract 8 from Q4_0's codes before the product: the error is near the CPU backend's own, unlike that of
# sm_61's (README.md)
m="-t q4_0 -e 256 -l 2 -f 512 -v 512 -H 4 -k 2"
# shellcheck disable=SC2086
"$L/mkgguf" -o "$D/q4_0.gguf" $m && "$L/mkgguf" -o "$D/ref.gguf" -D $m || { echo "FAIL cuda13: mkgguf"; exit 1; }
timeout 200 "$B/bin/vgpu" run --private --cc 7.5 -- "$L/llm" "$D" logits -p 33,64,128 -n 0 -k 1.5 -r "$D/ref.gguf" "$D/q4_0.gguf" >"$D/out" 2>"$D/err"; st=$?
sed -n "s#^\(ok\|FAIL\) #\1 cuda13 at 7.5, q4_0: #p" "$D/out"
[ $st = 0 ] || grep -q ^FAIL "$D/out" || echo "FAIL cuda13 at 7.5, q4_0: exit $st: $(tail -n 3 "$D/err" | tr '\n' ' ')"
rm -f "$D/q4_0.gguf" "$D/ref.gguf"
