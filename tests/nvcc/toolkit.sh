#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The folder that tools/toolkit/toolkit.sh lays out: a CMake project is configured with it, built and run, and llama.cpp configured.
#   toolkit.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd) || exit
for p in cmake ninja; do command -v $p >/dev/null || { echo "skip toolkit: no $p"; exit 0; }; done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; bad=1; }
T=$dir/toolkit
st=0
tools/toolkit/toolkit.sh "$B" "$T" >"$dir/log" 2>&1 || st=$?
case $st in
0)  ;;
77) echo "skip toolkit: $(tail -n 1 "$dir/log")"; exit 0 ;;
*)  fail "toolkit.sh: $(tail -n 1 "$dir/log")"; exit 1 ;;
esac
# CUDACXX and PATH name no other toolkit
unset CUDACXX CUDA_PATH CUDA_HOME LD_LIBRARY_PATH
use="-DCUDAToolkit_ROOT=$T -DCMAKE_CUDA_COMPILER=$T/bin/nvcc"

if touch "$dir/mine" && ! tools/toolkit/toolkit.sh "$B" "$dir" >/dev/null 2>&1 && [ -e "$dir/mine" ]; then
	ok "a folder with files of others is left alone"
else
	fail "a folder with files of others is left alone"
fi

# shellcheck disable=SC2086
if cmake -S tests/nvcc/toolkit -B "$dir/o" -G Ninja $use -DPROGRAM="$PWD/tests/nvcc/archives/blas.cu" >"$dir/log" 2>&1 &&
   cmake --build "$dir/o" >>"$dir/log" 2>&1; then
	ok "a CMake project"
else
	fail "a CMake project: $(grep -E -m 4 'rror|undefined|cannot find' "$dir/log" | tr '\n' ' ')"
fi
run() { # PROGRAM HOW-MANY-LIBRARIES-OF-CUDA [ENVIRONMENT...]
	local p=$dir/o/$1 n=$2 have out
	shift 2
	[ -x "$p" ] || return
	have=$(readelf -d "$p" | grep -cE 'NEEDED.*\[lib(cuda|cudart|cublas)\.so\.')
	if [ "$have" != "$n" ]; then
		fail "${p##*/}: needs $have libraries of CUDA, not $n"
	elif out=$("$B/bin/vgpu" run --private --cc 7.5 -- env "$@" "$p" 2>&1); then
		ok "${p##*/}: runs"
	else
		fail "${p##*/}: $(tail -n 1 <<<"$out")"
	fi
}
run shared 3 LD_LIBRARY_PATH="$T/lib64"
run mixed 0 -u LD_LIBRARY_PATH -u LD_PRELOAD
run static 0 -u LD_LIBRARY_PATH -u LD_PRELOAD

# --- llama.cpp: where its sources are here already (VGPU_LLAMA_CPP names their folder or the git bundle of npm's node-llama-cpp)
src=${VGPU_LLAMA_CPP:-}
if [ -f "$src" ]; then
	git clone -q "$src" "$dir/llama.cpp" 2>"$dir/log" && src=$dir/llama.cpp
fi
if [ -d "$src" ]; then
	for how in static shared; do
		[ $how = static ] && kind="-DGGML_STATIC=ON -DBUILD_SHARED_LIBS=OFF" || kind="-DGGML_STATIC=OFF -DBUILD_SHARED_LIBS=ON"
		# shellcheck disable=SC2086
		if cmake -S "$src" -B "$dir/llama-$how" -G Ninja $use $kind -DGGML_CUDA=ON -DGGML_CUDA_FA=OFF -DCMAKE_CUDA_ARCHITECTURES=75-virtual \
			-DGGML_NATIVE=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF >"$dir/log" 2>&1 &&
		   grep -q 'Including CUDA backend' "$dir/log"; then
			ok "llama.cpp: configured, $how"
		else
			fail "llama.cpp: configured, $how: $(grep -A 4 -m 1 'rror' "$dir/log" | tr '\n' ' ')"
		fi
	done
else
	echo "skip llama.cpp: VGPU_LLAMA_CPP names no folder of its sources"
fi
exit $bad
