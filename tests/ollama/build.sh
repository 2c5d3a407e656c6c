#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real Ollama, laid out as its releases are: `ollama` from the Go proxy, llama-server and llama-quantize compiled from the
# sources that npm's node-llama-cpp carries, its own libllama and its unmodified CUDA 12 libggml-cuda.so.
#   build.sh BUILD          exit 0: BUILD/ollama/release is there; 77: cannot be had (the last line says why)
#   build.sh --there BUILD  exit 0: all that takes minutes or a network is there
#
# What takes minutes (some 500 s of processor time) is kept by version in VGPU_TEST_CACHE (~/.cache/vgpu-tests) and used again.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ "$1" = --there ] && { there=1; shift; }
B=$(cd "$1" && pwd)
npm=3.22.1
. "$here/go.sh"
C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/ollama-$ollama-$npm
R=$B/ollama/release

no() { echo "$*"; exit 77; }
fail() { tail -n 20 "$C/log"; echo "$*"; exit 1; }

if [ -n "${there:-}" ]; then
	[ -x "$C/bin/ollama" ] && [ -x "$C/bin/llama-server" ] && [ -x "$C/bin/llama-quantize" ] && [ -e "$B/llm/lib/libggml-cuda.so" ]
	exit
fi
mkdir -p "$C" "$B/llm" || no "$C cannot be made"
exec 9>"$C/lock"
flock 9
why=$("$here/../llm/fetch.sh" "$B/llm" 2>&1) || no "$(tail -n 1 <<<"$why")"
: >"$C/log"

# --- ollama: one Go program
if ! [ -x "$C/bin/ollama" ]; then
	ollama_install "$C/bin" "" || case $? in
	77) no "ollama $ollama cannot be had: $(tail -n 1 "$C/log")" ;;
	*)  fail "ollama does not build" ;;
	esac
fi

# --- llama-server and llama-quantize, linked against npm's own libraries: only what these do not hold is compiled
if ! [ -x "$C/bin/llama-server" ] || ! [ -x "$C/bin/llama-quantize" ]; then
	for p in cmake ninja g++; do command -v $p >/dev/null || no "$p is not installed"; done
	S=$C/src
	mkdir -p "$C/tmp"
	why=$(env -u VGPU_LLAMA_CPP "$here/../llm/source.sh" "$S" 2>&1) || { [ $? = 77 ] && no "$(tail -n 1 <<<"$why")"; fail "the sources cannot be unpacked: $why"; }
	cmake -S "$S" -B "$S/o" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 -DNDEBUG" -DCMAKE_CXX_FLAGS="-O1 -DNDEBUG" -DBUILD_SHARED_LIBS=ON \
		-DGGML_BACKEND_DL=ON -DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
		-DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF >>"$C/log" 2>&1 || fail "cmake refuses the sources"
	objects=$(ninja -C "$S/o" -t targets all | sed -n 's/: .*//p' | grep -E '^(tools/(server|ui|quantize)/|tools/mtmd/CMakeFiles/mtmd\.dir/|vendor/).*\.o$')
	# shellcheck disable=SC2086
	nice ninja -C "$S/o" $objects >>"$C/log" 2>&1 || fail "llama-server does not build"
	link() { # NAME FOLDERS...: an executable that finds its libraries beside it
		local out=$1
		shift
		# shellcheck disable=SC2046
		(cd "$S/o" && g++ -o "$C/tmp/$out" $(printf '%s\n' $objects | grep -E "^($*)/") \
			"$B"/llm/lib/libllama-common.so "$B"/llm/lib/libllama.v*.so "$B"/llm/lib/libggml.v*.so "$B/llm/lib/libggml-base.so" \
			-Wl,--allow-shlib-undefined -Wl,-rpath,"\$ORIGIN" -lpthread -ldl) >>"$C/log" 2>&1 &&
			strip -o "$C/bin/$out" "$C/tmp/$out"
	}
	link llama-server 'tools/server|tools/mtmd|tools/ui|vendor' || fail "llama-server does not link"
	link llama-quantize 'tools/quantize' || fail "llama-quantize does not link"
	rm -rf "$S" "$C/tmp"
fi

# --- as a release lies: bin/ollama, lib/ollama/*, lib/ollama/cuda_v12/libggml-cuda.so
# Whole or not at all, and once: others run what lies there
of=$(stat -L -c '%n %s %Y' "$C"/bin/* "$B"/llm/lib/*.so "$here/build.sh") || fail "what a release is made of is not there"
[ "$(cat "$R/of" 2>/dev/null)" = "$of" ] && exit
N=$R.new
rm -rf "$N"
mkdir -p "$N/bin" "$N/lib/ollama/cuda_v12"
cp "$C/bin/ollama" "$N/bin/"
cp "$C/bin/llama-server" "$C/bin/llama-quantize" "$N/lib/ollama/"
cp -al "$B"/llm/lib/*.so "$N/lib/ollama/"
mv "$N/lib/ollama/libggml-cuda.so" "$N/lib/ollama/cuda_v12/"
for f in "$N"/lib/ollama/libggml.v*.so; do ln -sf "${f##*/}" "$N/lib/ollama/libggml.so"; done
echo "$of" >"$N/of"
[ -x "$N/bin/ollama" ] && rm -rf "$R" && mv "$N" "$R"
