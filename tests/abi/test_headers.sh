#!/bin/sh
# SPDX-License-Identifier: MIT
# Our public headers: each compiles alone, in C11 and in C++14, with gcc and clang, for both majors and
# both kinds of default stream, without a warning; the published layouts hold; a .cu file passes clang.
#   tests/abi/test_headers.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
inc=libcuda-lite/include
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
n=0
warn="-Wall -Wextra -Wshadow -pedantic -Werror"

try() { # what, command...
	what=$1
	shift
	n=$((n + 1))
	"$@" >"$tmp/out" 2>&1 || { echo "FAILED: $what"; head -n 20 "$tmp/out"; bad=1; }
}

# a header that a program may include
public="cuda.h cuda_runtime_api.h vector_types.h vector_functions.h cuda_runtime.h driver_types.h cuComplex.h cuda_profiler_api.h device_launch_parameters.h cuda_fp16.h cuda_bf16.h cuda_fp8.h library_types.h"
compilers=
command -v gcc >/dev/null && compilers="gcc"
command -v clang >/dev/null && compilers="$compilers clang"
[ -n "$compilers" ] || { echo "no compiler"; exit 77; }
for cc in $compilers; do
	for h in $public; do
		for v in 12080 13000 13010; do
			for mode in "" "-DCUDA_API_PER_THREAD_DEFAULT_STREAM" "-DCUDA_LITE_API_VERSION=12000"; do
				echo "#include \"$h\"" >"$tmp/t.c"
				try "$cc C11 $h $v $mode" "$cc" -std=c11 $warn -Wstrict-prototypes \
					-DCUDART_VERSION=$v $mode -I$inc -fsyntax-only -x c "$tmp/t.c"
				try "$cc C++ $h $v $mode" "$cc" -std=c++14 $warn -DCUDART_VERSION=$v $mode \
					-I$inc -fsyntax-only -x c++ "$tmp/t.c"
			done
		done
	done
	for v in 12080 13000 13010; do
		try "$cc layout $v" "$cc" -std=c11 $warn -DCUDART_VERSION=$v -I$inc -fsyntax-only -x c tests/abi/layout.c
		try "$cc layout C++ $v" "$cc" -std=c++14 $warn -DCUDART_VERSION=$v -I$inc -fsyntax-only \
			-x c++ tests/abi/layout.c
	done
done

if command -v clang >/dev/null; then
	cu="-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib -Xclang -target-sdk-version=10.2 -O1 $warn -I$inc"
	for v in 12080 13000 13010; do
		try ".cu device $v" clang $cu -DCUDART_VERSION=$v --cuda-device-only --cuda-gpu-arch=sm_61 -S \
			-o "$tmp/k.ptx" tests/abi/language.cu
		try ".cu host $v" clang $cu -DCUDART_VERSION=$v --cuda-host-only -Xclang -fcuda-include-gpubinary \
			-Xclang "$tmp/k.ptx" -c -o "$tmp/k.o" tests/abi/language.cu
	done
	# each feature became the instruction it stands for
	for op in shfl.sync.down.b32 shfl.sync.bfly.b32 vote.sync.ballot.b32 bar.sync 'atom.*add.f32' 'atom\..*add.u32' \
		atom.add.f64 fma.rn.f32 sqrt.rn.f32 ex2.approx popc.b32 bar.red.popc bar.red.and bar.red.or ntid.x ctaid.y; do
		n=$((n + 1))
		grep -q "$op" "$tmp/k.ptx" || { echo "FAILED: no $op in the PTX of language.cu"; bad=1; }
	done
else
	echo "(no clang: .cu not tried)"
fi
[ $bad = 0 ] && echo "$n checks"
exit $bad
