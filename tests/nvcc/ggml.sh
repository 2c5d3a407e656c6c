#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Some of llama.cpp's ggml-cuda in a static program: ggml-cuda.cu, unary and binary operations, scale, copies, conversions and products by
# cuBLAS, compiled by nvcc through llama.cpp's own CMake files with the folder of vgpu toolkit, linked -static with our archives, its
# results compared with ggml's CPU backend in the same program.
#   ggml.sh BUILD
#
# The objects are kept, by versions, in VGPU_TEST_CACHE (~/.cache/vgpu-tests); each run links them with the archives of BUILD.
set -u
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd) || exit
C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/ggml-$(sed -nE 's/^version=//p' tests/llm/source.sh)-$(sed -nE 's/^mark=done-(.*)-.*/\1/p' tools/toolkit/fetch.sh)-1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; bad=1; }
no() { echo "$*"; exit 77; }
broken() { fail "$1: $(grep -E -m 5 'rror|undefined|cannot find' "$dir/log" | tr '\n' ' ')"; exit 1; }
unset CUDACXX CUDA_PATH CUDA_HOME LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT
kernels='ggml-cuda unary binbcast scale cpy convert'

command -v g++ >/dev/null || no "g++ is not installed"
mkdir -p "$C" || no "$C cannot be made"
exec 9>"$C/lock"
flock 9
if ! [ -e "$C/done" ]; then
	for p in cmake ninja; do command -v $p >/dev/null || no "$p is not installed"; done
	T=$C/toolkit
	why=$("$B/bin/vgpu" toolkit --nvcc "$B/nvcc" "$T" 2>&1) || no "$(tail -n 1 <<<"$why")"
	why=$(env -u VGPU_LLAMA_CPP tests/llm/source.sh "$C/src" 2>&1) || no "$(tail -n 1 <<<"$why")"
	rm -rf "$C/o" "$C/kept"
	cmake -S "$C/src" -B "$C/o" -G Ninja -DCUDAToolkit_ROOT="$T" -DCMAKE_CUDA_COMPILER="$T/bin/nvcc" -DCMAKE_CUDA_ARCHITECTURES=75-virtual \
		-DGGML_STATIC=ON -DBUILD_SHARED_LIBS=OFF -DGGML_CUDA=ON -DGGML_CUDA_FA=OFF -DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF \
		-DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF \
		-DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 -DNDEBUG" -DCMAKE_CXX_FLAGS="-O1 -DNDEBUG" -DCMAKE_CUDA_FLAGS="-O1 -DNDEBUG" >"$dir/log" 2>&1 ||
		broken "cmake"
	# shellcheck disable=SC2086
	objects=$(printf 'ggml/src/ggml-cuda/CMakeFiles/ggml-cuda.dir/%s.cu.o ' $kernels)
	# shellcheck disable=SC2086
	nice ninja -C "$C/o" $objects ggml/src/libggml-base.a ggml/src/libggml-cpu.a >"$dir/log" 2>&1 || broken "ggml does not build"
	mkdir "$C/kept"
	# shellcheck disable=SC2086
	(cd "$C/o" && mv $objects ggml/src/libggml-base.a ggml/src/libggml-cpu.a "$C/kept/") && cp -a "$C/src/ggml/include" "$C/kept/"
	rm -rf "$C/o" "$C/src" "$T"
	touch "$C/done"
fi
flock -u 9

K=$C/kept
A=$B/lib/cuda-13
g++ -O1 -Wall -Wextra -isystem "$K/include" -c -o "$dir/ops.o" tests/nvcc/ggml/ops.cpp >"$dir/log" 2>&1 || broken "ops.cpp"
link() { # OUT FILE...
	local out=$1
	shift
	g++ -static -o "$out" "$dir/ops.o" "$@" "$K"/*.cu.o "$K/libggml-base.a" "$K/libggml-cpu.a" -L"$A" -lcudart_static -lcublas_static -lcublasLt_static \
		-lculibos -lcuda -lgomp -lpthread -lm -ldl -lrt
}
# What the files that are not linked would define: all that is missing is to be ggml's own, in C++, and no call of CUDA
link "$dir/ops" -Wl,--no-demangle >"$dir/log" 2>&1
missing=$(sed -nE "s/.*undefined reference to .([A-Za-z0-9_]+).*/\1/p" "$dir/log" | sort -u)
strange=$(grep -v '^_Z' <<<"$missing")
if [ -n "$missing" ] && [ -z "$strange" ]; then ok "our archives lack nothing of ggml-cuda"; else fail "missing: $(tr '\n' ' ' <<<"$strange")$(grep -m 3 -vE 'undefined|in function' "$dir/log")"; exit 1; fi
for f in $missing; do
	case $f in
	*should_use*) printf '.globl %s\n%s: xor %%eax, %%eax\nret\n' "$f" "$f" ;;
	*) printf '.globl %s\n%s: lea 1f(%%rip), %%rdi\nand $-16, %%rsp\ncall absent\n1: .string "%s"\n' "$f" "$f" "$f" ;;
	esac
done >"$dir/absent.s"
echo '.section .note.GNU-stack,"",@progbits' >>"$dir/absent.s"
link "$dir/ops" "$dir/absent.s" >"$dir/log" 2>&1 || broken "ops does not link"
if readelf -lW "$dir/ops" | grep -q INTERP || readelf -dW "$dir/ops" | grep -q NEEDED; then fail "ops is dynamic"; else ok "ops is static, $(du -m "$dir/ops" | cut -f1) MB"; fi
timeout 200 "$B/bin/vgpu" run --private --cc 7.5 -- env -u LD_PRELOAD -u LD_AUDIT "$dir/ops" >"$dir/out" 2>"$dir/err" || bad=1
grep -E '^(ok|FAIL) ' "$dir/out"
grep -q 'memory: .* bytes free' "$dir/out" || fail "ended early: $(tail -n 3 "$dir/out" "$dir/err" | tr '\n' ' ')"
exit $bad
