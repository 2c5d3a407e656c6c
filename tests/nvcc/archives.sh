#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The archives of build/lib/cuda-12 and cuda-13: their global names, and programs that link them in the places of NVIDIA's,
# by gcc and musl-gcc (C), clang (<<<>>>) and nvcc (C++, <<<>>>, cuBLAS), -static, -static-pie and as nvcc links by default.
#   archives.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd) || exit
if [ -z "${VGPU_ARCHIVES_INSIDE:-}" ]; then
	VGPU_ARCHIVES_INSIDE=1 exec "$B/bin/vgpu" run --private -- "${BASH:-bash}" tests/nvcc/archives.sh "$B"
fi
# nothing of ours but what is linked in
unset LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT
CC=${CC:-gcc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0 device=
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; bad=1; }

# --- names: those of the shared library of the same major, and, of the driver, what the other archives call. CUDA 11's, which the
# audit library finds in libcudart.so.12, are no program's to link.
globals() { nm -g --defined-only "$1" 2>/dev/null | awk 'NF == 3 && $2 != "A" {print $3}' | grep -vE '^__wrap_dl(open|sym|close|error)$' | sort -u; }
exported() { nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | grep -vE '^(vgpuTraceShared$|__cuda11_)' | sort -u; }
names() { # MAJOR ARCHIVE SHARED...
	local v=$1 a=$2 differ
	shift 2
	differ=$(diff <(globals "$B/lib/cuda-$v/$a.a") <(for s; do exported "$B/lib/$s"; done | sort -u) | grep '^[<>]')
	if [ -z "$differ" ]; then ok "names $a $v"; else fail "names $a $v: $(head -n 8 <<<"$differ" | tr '\n' ' ')"; fi
}
for v in 12 13; do
	names $v libcuda libcuda.so.1
	names $v libcudart_static libcudart.so.$v libcuda.so.1
	names $v libcublas_static libcublas.so.$v libcuda.so.1
	names $v libcublasLt_static libcublasLt.so.$v libcuda.so.1
	names $v libnvidia-ml libnvidia-ml.so.1
	names $v libnccl_static libnccl.so.2 libcuda.so.1
	names $v libcuda-lite libcudart.so.$v libcublas.so.$v libcublasLt.so.$v libnvidia-ml.so.1 libnccl.so.2 libcuda.so.1
	names $v libvgpu-dl libnvidia-ml.so.1 libcuda.so.1
	names $v libculibos
	names $v libcudadevrt
	strange=$(for a in "$B/lib/cuda-$v"/*.a; do globals "$a"; done | sort -u |
		grep -vE '^(cu[A-Z]|cuda[A-Z]|__cuda[A-Z]|cublas[A-Z]|nvml[A-Z]|nccl[A-Z])' | grep -v '^vgpuGemm$')
	if [ -z "$strange" ]; then ok "prefixes $v"; else fail "prefixes $v: $(tr '\n' ' ' <<<"$strange")"; fi
done

# run NAME PROGRAM: on the device, or on one of its own (nvcc's smallest is 7.5); no library but libc's and C++'s in it
run() {
	local out
	if readelf -d "$2" | grep -E 'NEEDED.*(cuda|cublas|nvidia|nccl)'; then
		fail "$1 needs libraries of CUDA"
	elif out=$(timeout 150 $device "$2" 2>&1); then
		ok "$1"
	else
		fail "$1 (status $?) $(grep FAIL <<<"$out") $(tail -n 3 <<<"$out" | tr '\n' ' ')"
	fi
}
# link NAME COMMAND...: the command makes the program, called by the end of its name (NVML tells it), which is run
link() {
	local name=$1 program=$dir/${1##*/}
	shift
	if "$@" -o "$program" >"$dir/log" 2>&1; then
		run "$name" "$program"
	else
		fail "$name does not link: $(tail -n 2 "$dir/log" | tr '\n' ' ')"
	fi
	rm -f "$program"
}

# --- C, linked as each of NVIDIA's archives is, and with all in one
for v in 12 13; do
	A=$B/lib/cuda-$v
	flags="-std=gnu11 -O1 -w -Ilibcuda-lite/include -DCUDART_VERSION=${v}000"
	blas="$A/libcublas_static.a $A/libcublasLt_static.a $A/libculibos.a $A/libcudart_static.a"
	# the order in which ggml links them
	ggml="$A/libcudart_static.a $A/libcublas_static.a $A/libcublasLt_static.a $A/libculibos.a $A/libcuda.a"
	for how in "gcc -static" "gcc -static-pie -fPIE" "musl-gcc -static"; do
		cc=${how%% *} kind=${how#* }
		[ "$cc" = gcc ] && cc=$CC
		command -v "$cc" >/dev/null || { echo "skip c/$v $how: no $cc"; continue; }
		# shellcheck disable=SC2086
		{
			link "c/$v/$how/runtime" $cc $flags $kind tests/e2e/byhand.c $A/libcudart_static.a -lpthread -lm
			link "c/$v/$how/blas" $cc $flags $kind tests/e2e/blas.c $blas -lpthread -lm
			link "c/$v/$how/opened by name" $cc -std=gnu11 -O1 -w $kind tests/nvcc/archives/open.c \
				-Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose,--wrap=dlerror $A/libvgpu-dl.a -lpthread
			link "c/$v/$how/nvml" $cc $flags $kind tests/e2e/nvml.c $A/libnvidia-ml.a $A/libcuda.a -lpthread -lm
		}
	done
	# shellcheck disable=SC2086
	link "c/$v/another order" $CC $flags -static tests/e2e/blas.c $ggml -lpthread -lm
	# shellcheck disable=SC2086
	link "c/$v/all in one" $CC $flags -static tests/e2e/blas.c $A/libcuda-lite.a -lpthread -lm
	if command -v "${CLANG:-clang}" >/dev/null; then
		for kind in -static "-static-pie -fPIE"; do
			if CU_LINK=$kind tests/e2e/cu.sh $v none "$A/libcudart_static.a" "$B/e2e/mkfatbin" tests/e2e/rt_vecadd.cu "$dir/program" -fPIE \
				>"$dir/log" 2>&1; then
				run "clang/$v/$kind" "$dir/program"
			else
				fail "clang/$v/$kind $(tail -n 2 "$dir/log" | tr '\n' ' ')"
			fi
		done
	else
		echo "skip clang/$v: no clang"
	fi
done

# --- nvcc 13: the object is kept, each link is done anew
. tests/nvcc/lib.sh
nvcc_get "$B"
A=$B/lib/cuda-13
device="$B/bin/vgpu run --private --cc 7.5 --"
inc=${B#"$PWD/"}/nvcc-out/archives/include      # in the key of nvcc_make: the same each time
mkdir -p "$inc"
cp libcuda-lite/include/cublas_v2.h libcuda-lite/include/cublas_api.h libcuda-lite/include/cublas_levels.h "$inc"
if nvcc_make "$B/nvcc-out/archives/blas.o" "tests/nvcc/archives/blas.cu $(echo "$inc"/*.h)" -std=c++17 -Xcompiler -fPIE -gencode arch=compute_75,code=compute_75 \
	-I"$inc" -c tests/nvcc/archives/blas.cu; then
	o=$B/nvcc-out/archives/blas.o
	blas="-lcublas_static -lcublasLt_static -lculibos"
	# shellcheck disable=SC2086
	{
		link "nvcc/default" "$nvcc" -L"$A" $o $blas
		link "nvcc/-static" "$nvcc" -L"$A" $o $blas -Xcompiler -static
		link "nvcc/-static-pie" "$nvcc" -L"$A" $o $blas -Xcompiler -static-pie
		link "nvcc/g++ -static" g++ -static $o -L"$A" $blas -lcudart_static -lpthread -ldl -lrt
	}
else
	fail "nvcc: the program does not compile"
fi
exit $bad
