#!/bin/bash
# SPDX-License-Identifier: MIT
# gpt4all 2.8.2 of PyPI, whose ggml-cuda was built by CUDA 11 and brings neither libcudart.so.11.0 nor libcublas.so.11: text of a tiny model on
# the device against the text of its CPU, which rounds otherwise: not too long a text. CuPy 13.6 for CUDA 11, by NVRTC 11.8 and its own CUB and
# Thrust, whose PTX is for 9.0: against numpy.
#   tests/strangers/eleven.sh BUILD [7.5...]       default: 6.1, 7.5 and 8.0
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip eleven: 300 MB: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/eleven.sh BUILD 8.0"; exit 0; }
out=$B/strangers/eleven want="gpt4all==2.8.2 cupy-cuda11x==13.6.0 nvidia-cuda-nvrtc-cu11==11.8.89"
if [ "$(cat "$out/have" 2>/dev/null)" != "$want" ]; then
	rm -rf "$out"
	mkdir -p "$out"
	# shellcheck disable=SC2086
	if ! why=$(python3 -m venv "$out/venv" 2>&1) || ! why=$(timeout 600 "$out/venv/bin/pip" -q --disable-pip-version-check install $want 2>&1); then
		echo "skip eleven: $want cannot be had: $(tail -n 1 <<<"$why")"
		exit 0
	fi
	echo "$want" >"$out/have"
fi
cat >"$out/text.py" <<'P'
import os
import sys

from gpt4all import GPT4All

model = GPT4All("licences.gguf", model_path=os.getcwd() + "/tests/llm/model", allow_download=False, device=sys.argv[1], n_ctx=512, ngl=99)
if sys.argv[1] == "cuda":
    assert model.backend == "cuda" and "VGPU" in model.device, (model.backend, model.device)
print([model.generate(p, max_tokens=20, temp=0) for p in ("Permission is hereby granted", "This program is free software", "THE SOFTWARE IS PROVIDED")])
P
cat >"$out/arrays.py" <<'P'
import cupy
import numpy

assert cupy.cuda.runtime.runtimeGetVersion() // 1000 == 11 and cupy.cuda.nvrtc.getVersion() == (11, 8)
random = numpy.random.default_rng(1)
a = random.random((200, 300), dtype=numpy.float32)
x = cupy.asarray(a)
few = random.integers(0, 100, 10000)
c = (a + 1j * a).astype("complex64")
bad = 0


def check(name, got, want, near=1e-5):
    global bad
    if not numpy.allclose(cupy.asnumpy(got), want, rtol=near, atol=near):
        print(name, "is wrong")
        bad += 1


check("ufunc", cupy.sin(x) * 2 + 1, numpy.sin(a) * 2 + 1)
check("sum", x.sum(), a.sum(), 1e-4)
check("sum by column", x.sum(0), a.sum(0), 1e-4)
check("max", x.max(1), a.max(1))
check("argmax", x.argmax(1), a.argmax(1))
check("cumsum", cupy.cumsum(x.ravel().astype("d")), numpy.cumsum(a.ravel().astype("d")))
check("product", x @ x.T, a @ a.T, 1e-4)
check("sort", cupy.sort(x, axis=1), numpy.sort(a, axis=1))
check("argsort", cupy.argsort(x.ravel()), numpy.argsort(a.ravel(), kind="stable"))
check("unique", cupy.unique(cupy.asarray(few)), numpy.unique(few))
check("bincount", cupy.bincount(cupy.asarray(few)), numpy.bincount(few))
check("where", cupy.where(x > 0.5)[0], numpy.where(a > 0.5)[0])
check("median", cupy.median(x, axis=1), numpy.median(a, axis=1))
check("complex", cupy.exp(cupy.asarray(c)), numpy.exp(c))
check("half", (cupy.asarray(a.astype("e")) * 2).sum(1), (a.astype("e") * 2).sum(1), 2e-2)
kernel = cupy.RawKernel(r'extern "C" __global__ void triple(float *p) { p[threadIdx.x + blockIdx.x * blockDim.x] *= 3; }', "triple")
y = x.copy()
kernel((240,), (250,), (y,))
check("RawKernel", y, a * 3)
print("right" if not bad else "wrong")
P
bad=0
cpu=$(timeout 300 "$out/venv/bin/python" "$out/text.py" cpu 2>"$out/err") && [ ${#cpu} -gt 100 ] || { echo "FAIL eleven: the CPU's text: $(tail -n 1 "$out/err")"; exit 1; }
one() { # NAME CC [VARIABLE=VALUE]
	local name=$1 cc=$2 said
	shift 2
	said=$(env "$@" timeout 900 "$B/bin/vgpu" run --private --cc "$cc" -- "$out/venv/bin/python" "$out/text.py" cuda 2>"$out/err")
	[ "$said" = "$cpu" ] && echo "ok eleven/gpt4all-$name" && return
	echo "FAIL eleven/gpt4all-$name: ${said:-$(tail -n 1 "$out/err")}"
	bad=1
}
# shellcheck disable=SC2086
for cc in ${*:-6.1 7.5 8.0}; do
	one "$cc" "$cc"
done
said=$(timeout 900 "$B/bin/vgpu" run --private -- "$out/venv/bin/python" "$out/arrays.py" 2>"$out/err")
[ "$said" = right ] && echo "ok eleven/cupy" || { echo "FAIL eleven/cupy: ${said:-$(tail -n 1 "$out/err")}"; bad=1; }
one avx2 6.1 VGPU_CPU_ISA=avx2
one interp 6.1 VGPU_ENGINE=interp
exit $bad
