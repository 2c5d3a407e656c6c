#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The plain CUDA 13 package of llama.cpp on a device of compute capability 6.1: it has no PTX for that. It must be refused by
# name, compute nothing, and vgpu doctor must say which package to take. Runs behind run.sh, which fetches the rest.
#   cuda13.sh BUILD
set -u
B=$(cd "$1" && pwd)
L=$B/llm
D=$B/llm13
version=3.22.1
for p in "$L/llm" "$L/mkgguf" "$L/done-$version"; do
	[ -e "$p" ] || { echo "skip cuda13: no $p (tests/llm/run.sh makes it)"; exit 0; }
done
if [ ! -e "$D/done-$version" ]; then
	mkdir -p "$D" && cd "$D" || exit 1
	command -v npm >/dev/null || { echo "skip cuda13: npm is not installed"; exit 0; }
	p=@node-llama-cpp/linux-x64-cuda@$version
	[ -s node-llama-cpp-linux-x64-cuda-$version.tgz ] || timeout 240 npm pack --silent "$p" >npm.log 2>&1 ||
		{ echo "skip cuda13: npm cannot fetch $p: $(tail -n 1 npm.log)"; exit 0; }
	rm -rf lib x
	mkdir lib x && tar xzf node-llama-cpp-linux-x64-cuda-$version.tgz -C x && cp "$L"/lib/*.so lib/ &&
		mv x/package/bins/linux-x64-cuda/libggml-cuda.so lib/libggml-cuda.so || { echo "FAIL cuda13: the package is not as expected"; exit 1; }
	rm -rf x ./*.tgz
	touch done-$version
fi
export LD_LIBRARY_PATH=$D/lib
"$L/mkgguf" -o "$D/m.gguf" -t q8_0 -e 256 -l 2 -H 4 -k 2 -f 512 -v 512 || exit 1
# ggml calls a debugger when it aborts, if there is one
GGML_NO_BACKTRACE=1 timeout 120 "$B/bin/vgpu" run --private -- "$L/llm" -p 8 -n 2 "$D/lib" "$D/m.gguf" >"$D/out" 2>"$D/err"; st=$?
if [ $st != 0 ] && [ $st != 124 ] && ! grep -q nmse "$D/out"; then
	echo "ok cuda13_computes_nothing exit $st"
else
	echo "FAIL cuda13_computes_nothing: exit $st: $(tail -n 3 "$D/out" "$D/err" | tr '\n' ' ')"
fi
grep -q 'no PTX for compute capability 6.1 or below; the image has PTX: 75 80 90' "$D/err" && grep -q 'no kernel image is available' "$D/err" &&
	echo "ok cuda13_refused_by_name" || echo "FAIL cuda13_refused_by_name: $(tail -n 5 "$D/err" | tr '\n' ' ')"
"$B/bin/vgpu" run --private -- "$B/bin/vgpu" doctor -- "$L/llm" "$D/lib/libggml-cuda.so" "$D/m.gguf" >"$D/out" 2>&1
if grep -A1 '^fail  GPU code of libggml-cuda.so: no PTX for this device, compute capability 6.1;' "$D/out" | grep -q 'fix: .*CUDA 12.*linux-x64-cuda-ext.*--cc 7.5'; then
	echo "ok cuda13_doctor_names_the_package"
else
	echo "FAIL cuda13_doctor_names_the_package: $(grep -A1 'GPU code' "$D/out" | tr '\n' ' ')"
fi
rm -f "$D/m.gguf"
