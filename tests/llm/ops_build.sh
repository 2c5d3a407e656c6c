#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llama.cpp's test-backend-ops of the packaged version, with our way to choose cases (backend_ops.cc), linked with npm's own libggml.
# Compiled once (30 s of processor time) and kept by its sources in VGPU_TEST_CACHE (~/.cache/vgpu-tests).
#   ops_build.sh BUILD      exit 0: BUILD/llm/ops/backend_ops and both CUDA packages are there; 77: they cannot be had (the last line says why)
#   ops_build.sh -b BUILD   prints a folder like BUILD/llm/cuda13 whose libggml-cuda.so has the barriers of barrier.py; 77 as above
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ "$1" = -b ] && { barrier=1; shift; }
L=$(cd "$1" && pwd)/llm
. "$here/npm.sh"
no() { echo "$*"; exit 77; }

mkdir -p "$L/ops"
if [ -n "${barrier:-}" ]; then
	D=$L/ops/barrier
	[ -e "$D/libggml-cuda.so" ] && [ "$D/libggml-cuda.so" -nt "$here/barrier.py" ] && { echo "$D"; exit; }
	command -v python3 >/dev/null || no "python3 is not installed"
	rm -rf "$D"
	cp -al "$L/cuda13" "$D" && rm "$D/libggml-cuda.so"
	why=$(nice python3 "$here/barrier.py" "$L/cuda13/libggml-cuda.so" "$D/new"); st=$?
	[ $st = 0 ] || { echo "$why"; exit $st; }
	mv "$D/new" "$D/libggml-cuda.so"
	echo "$D"
	exit
fi
"$here/fetch.sh" "$L" cuda13 || exit
npm=$(sed -n 's/^version=//p' "$here/fetch.sh")
C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/backend-ops-$npm-$(sha256sum <"$here/backend_ops.cc" | cut -c1-12)
mkdir -p "$C" || no "$C cannot be made"
exec 9>"$C/lock"
flock 9
if ! [ -x "$C/backend_ops" ]; then
	for p in g++ git npm; do command -v $p >/dev/null || no "$p is not installed"; done
	cd "$C" || exit 1
	npm_pack "node-llama-cpp@$npm" main || no "npm cannot fetch node-llama-cpp: $(npm_why $?)"
	rm -rf src
	git clone -q main/llama/gitRelease.bundle src 2>/dev/null || { echo "the sources cannot be unpacked"; exit 1; }
	# the source is included as it is: its warnings are its own
	nice g++ -O1 -DNDEBUG -std=c++17 -w -isystem "$L/include" -Isrc/tests -o new "$here/backend_ops.cc" "$L"/lib/libggml.v*.so "$L/lib/libggml-base.so" \
		-Wl,--allow-shlib-undefined -lpthread || exit 1
	rm -rf main src npm.log
	mv new backend_ops
fi
cmp -s "$C/backend_ops" "$L/ops/backend_ops" || { rm -f "$L/ops/backend_ops"; cp "$C/backend_ops" "$L/ops/"; }
