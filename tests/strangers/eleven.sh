#!/bin/bash
# SPDX-License-Identifier: MIT
# gpt4all 2.8.2 of PyPI, whose ggml-cuda was built by CUDA 11 and brings neither libcudart.so.11.0 nor libcublas.so.11: text of a tiny model on
# the device against the text of its CPU, which rounds otherwise: not too long a text.
#   tests/strangers/eleven.sh BUILD [7.5...]       default: 6.1, 7.5 and 8.0
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip eleven: 120 MB: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/eleven.sh BUILD 8.0"; exit 0; }
out=$B/strangers/eleven want=gpt4all==2.8.2
if [ "$(cat "$out/have" 2>/dev/null)" != $want ]; then
	rm -rf "$out"
	mkdir -p "$out"
	if ! why=$(python3 -m venv "$out/venv" 2>&1) || ! why=$(timeout 600 "$out/venv/bin/pip" -q --disable-pip-version-check install $want 2>&1); then
		echo "skip eleven: $want cannot be had: $(tail -n 1 <<<"$why")"
		exit 0
	fi
	echo $want >"$out/have"
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
one avx2 6.1 VGPU_CPU_ISA=avx2
one interp 6.1 VGPU_ENGINE=interp
exit $bad
