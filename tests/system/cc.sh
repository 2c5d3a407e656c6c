#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu cc: CUDA C++ by clang, without a file of NVIDIA's: a program of two files in each way of building it, the mathematics of devices
# against glibc's long double, and what is refused.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT VGPU_ENGINE VGPU_CLANG
export XDG_RUNTIME_DIR=$dir TMPDIR=$dir
cd "$(dirname "$0")/../.." || exit
if ! command -v clang++ >/dev/null; then
	out=$("$V/vgpu" cc tests/system/cc_sample.cu 2>&1); st=$?
	[ $st = 127 ] && [[ $out == *"apt install clang"* ]] && ok "without clang it says what to install" || fail "without clang: $st, $out"
	skip "vgpu cc: no clang++"
	exit 0
fi
cc() { timeout 200 "$V/vgpu" cc "$@" >"$dir/out" 2>&1; }
# PROGRAM NAME: it runs and is right
right() {
	if timeout 100 "$V/vgpu" run -- "$1" >"$dir/out" 2>&1 && grep -q '^result: cudaSuccess, 1000 threads, right$' "$dir/out" &&
	   grep -q '^device: 1000 of 1000, ' "$dir/out"; then ok "$2"; else fail "$2: $(tail -n 8 "$dir/out")"; fi
}
S='tests/system/cc_sample.cu tests/system/cc_other.cpp'
# shellcheck disable=SC2086
cc -std=c++17 -Wall -Wextra -Werror -o "$dir/whole" $S; right "$dir/whole" "two files, compiled and linked, without a warning"
# shellcheck disable=SC2086
cc -cudart static -o "$dir/static" $S; right "$dir/static" "-cudart static"
! readelf -d "$dir/static" | grep -q 'libcuda' && ok "which needs no library of ours" || fail "-cudart static needs $(readelf -d "$dir/static" | grep libcuda)"
# the programs with <<<>>> of tests/e2e
for p in rt_vecadd rt_reduce rt_scan rt_graph rt_symbols rt_streams rt_query rt_ptds; do
	f=tests/e2e/$p.cu
	[ $p = rt_ptds ] && stream="--default-stream per-thread" || stream=
	# shellcheck disable=SC2086
	cc -w $stream -DE2E_CUDART_MAJOR=13 -o "$dir/$p" "$f" && timeout 100 "$V/vgpu" run -- "$dir/$p" >"$dir/out" 2>&1 && grep -q "^$p: ok" "$dir/out" && ok "tests/e2e/$p.cu" || fail "tests/e2e/$p.cu: $(tail -n 3 "$dir/out")"
	rm -f "$dir/$p"
done
# cuRAND's device side: the numbers that NVIDIA's headers make of the same seeds
cc -std=c++17 -Wall -Wextra -Werror -o "$dir/random" tests/system/cc_random.cu && timeout 100 "$V/vgpu" run --private -- "$dir/random" >"$dir/have" 2>&1
out=$(python3 tests/system/cc_random.py tests/system/cc_random.txt "$dir/have" 2>&1) && ok "random numbers: XORWOW, Philox4x32-10, MRG32k3a, ten seeds each, as cuRAND has them" ||
	fail "random numbers: $out $(head -n 5 "$dir/out")"
sed 's/^\(xorwow 3 n [0-9a-f]*\)[0-9a-f] /\1x /' tests/system/cc_random.txt >"$dir/other"
python3 tests/system/cc_random.py "$dir/other" "$dir/have" >/dev/null 2>&1 && fail "cc_random.py takes any number"
cc -std=c++17 -Wall -Wextra -Werror -o "$dir/product" tests/system/cc_product.cu && timeout 100 "$V/vgpu" run --private -- "$dir/product" >"$dir/out" 2>&1 &&
	ok "functions of products: $(tail -n 1 "$dir/out")" || fail "functions of products: $(tail -n 5 "$dir/out")"
cc -std=c++17 -Wall -Wextra -Werror -o "$dir/clang" tests/system/cc_clang.cu && timeout 100 "$V/vgpu" run --private -- "$dir/clang" >"$dir/out" 2>&1 &&
	ok "what clang gets wrong: $(tail -n 1 "$dir/out")" || fail "what clang gets wrong: $(tail -n 5 "$dir/out")"
cc -std=c++17 -Wall -Wextra -Werror -o "$dir/templates" tests/system/cc_templates.cu && timeout 100 "$V/vgpu" run --private -- "$dir/templates" >"$dir/out" 2>&1 &&
	ok "the runtime's C++ routines: $(tail -n 1 "$dir/out")" || fail "the runtime's C++ routines: $(tail -n 5 "$dir/out")"
cc -Wall -Wextra -Werror -arch=sm_75 -o "$dir/more" tests/system/cc_more.cu && timeout 100 "$V/vgpu" run --private --cc 7.5 -- "$dir/more" >"$dir/out" 2>&1 &&
	ok "overloads, numbers of 128 bits: $(tail -n 1 "$dir/out")" || fail "cc_more.cu: $(tail -n 5 "$dir/out")"
# its PTX stands where other tools look for a program's GPU code, and says which device it wants
"$V/vgpu" check "$dir/templates" >"$dir/out" 2>&1 && grep -q '3 of 3 kernels run' "$dir/out" && ok "vgpu check finds what vgpu cc made" || fail "vgpu check: $(tail -n 3 "$dir/out")"
cc -std=c++17 -arch=sm_75 -o "$dir/templates" tests/system/cc_templates.cu && timeout 100 "$V/vgpu" run --private -- "$dir/templates" >"$dir/out" 2>&1 &&
	grep -q 'capability 7.5, by the PTX in' "$dir/out" && ok "vgpu run chooses the device that it is for" || fail "-arch=sm_75: $(tail -n 3 "$dir/out")"
# cooperative groups: the program that nvcc's headers compile too (tests/nvcc)
for a in 61 75; do
	cc -std=c++17 -Wall -Wextra -Werror -arch=sm_$a -o "$dir/groups" tests/nvcc/programs/groups.cu || { fail "cooperative groups, sm_$a: $(head -n 5 "$dir/out")"; continue; }
	for e in jit interp; do
		VGPU_ENGINE=$e timeout 100 "$V/vgpu" run --private --cc ${a%?}.${a#?} -- "$dir/groups" >"$dir/out" 2>&1 && [ "$(grep -c '^ok' "$dir/out")" = 6 ] &&
			ok "cooperative groups, sm_$a, $e" || fail "cooperative groups, sm_$a, $e: $(grep -v ^ok "$dir/out" | head -n 3)"
	done
done
cc -O3 -c -o "$dir/a.o" tests/system/cc_sample.cu && cc -c -o "$dir/b.o" tests/system/cc_other.cpp && cc -o "$dir/parts" "$dir/a.o" "$dir/b.o"
right "$dir/parts" "file by file, with -c"
cc -ptx -arch=compute_75 -o "$dir/k.ptx" tests/system/cc_sample.cu && grep -q '^\.target sm_75' "$dir/k.ptx" &&
	"$V/vgpu" check --cc 7.5 "$dir/k.ptx" >"$dir/out" 2>&1 && ok "-ptx, -arch=compute_75" || fail "-ptx: $(tail -n 5 "$dir/out")"
# a Makefile's words for nvcc: PTX for the lowest of all, flushed, without fused operations
echo '__global__ void k(float *p, float a, float b) { *p = *p * a + b; }' >"$dir/fused.cu"
cc --ptx -o "$dir/k.ptx" "$dir/fused.cu"; grep -q 'fma\.rn\.f32' "$dir/k.ptx" || fail "fused by itself: $(cat "$dir/k.ptx" "$dir/out")"
cc --ptx -gencode arch=compute_75,code=sm_75 --generate-code=arch=compute_61,code=[sm_61,compute_61] -gencode=arch=compute_80,code=compute_80 -use_fast_math --fmad false -Xptxas -v,-O3 -maxrregcount=32 \
	-t 4 --expt-relaxed-constexpr --extended-lambda -Xcudafe --diag_suppress=20012 -prec-div=false -m64 -O3 -o "$dir/k.ptx" "$dir/fused.cu"
grep -q '^\.target sm_61' "$dir/k.ptx" && grep -q 'mul\.rn\.ftz\.f32' "$dir/k.ptx" && grep -q 'add\.rn\.ftz\.f32' "$dir/k.ptx" && ! grep -q fma "$dir/k.ptx" && ok "nvcc's words of Makefiles" ||
	fail "nvcc's words: $(tail -n 5 "$dir/out"), $(cat "$dir/k.ptx")"
# a .cu file by another name, C++17 where none is named; quotients of 128 bits stand where they are called, and nowhere else
printf '%s\n' 'template <class T> __global__ void k(T *p, __int128 *q) { if constexpr (sizeof(T) == 4) *p = 17; else *q = *q % *p; }' \
	'int main() { int *p, v = 0; cudaMalloc(&p, 4); k<<<1, 1>>>(p, nullptr); cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost); return v != 17 || __cplusplus != 201703L; }' >"$dir/named.h"
cc -Wall -Wextra -Werror -x cu -o "$dir/named" "$dir/named.h" && timeout 60 "$V/vgpu" run -- "$dir/named" >"$dir/out" 2>&1 && cc -std c++20 -x=cu -ptx -o "$dir/k.ptx" "$dir/named.h" &&
	! grep -q 'ti3' "$dir/k.ptx" && ok "-x cu; C++17" || fail "-x cu: $(tail -n 4 "$dir/out")"
echo 'template __global__ void k(long long *p, __int128 *q);' >>"$dir/named.h"
cc -x cu -ptx -o "$dir/k.ptx" "$dir/named.h" && [ "$(grep -c '^\.func.* __modti3' "$dir/k.ptx")" = 2 ] && ! grep -q 'udivti3' "$dir/k.ptx" && ok "the one quotient that is called" || fail "128 bits: $(grep ti3 "$dir/k.ptx" "$dir/out")"
# a register's name behind one %, as nvcc takes it; elsewhere nothing is doubled, and what is wrong is told by the file's lines
cat >"$dir/percent.cu" <<'CU'
#define LANE "%laneid"
__global__ void k(unsigned *o)
{
	unsigned r, s;
	asm volatile("{ .reg .u32 t; mov.u32 t, %lanemask_lt;" /* %tid */
		     " add.u32 %0, t, %2; mov.u32 %1, " LANE "; }" : "=r"(r), "=r"(s) : "r"(1u));
	/* a statement without operands, where % stands for itself, and a name of one letter */
	asm volatile("{ .reg .pred %top, %t;");
	asm volatile("setp.ne.u32 %top, %0, 32; mov.pred %t, %top; @!%t add.u32 %0, %0, 7; }" : "+r"(s));
	const char *q = R"x(asm("%laneid"))x", *p = "\"%smid";
	o[threadIdx.x] = q[5] == '%' && q[6] == 'l' && p[2] == 's' ? r + s : 0;
}
int main()
{
	unsigned o[32], *d;
	cudaMalloc(&d, 128);
	k<<<1, 32>>>(d);
	cudaMemcpy(o, d, 128, cudaMemcpyDeviceToHost);
	return o[0] != 1 || o[31] != 0x8000001f || __LINE__ != 19;
}
CU
cc -Wall -Wextra -Werror -arch=sm_75 -o "$dir/percent" "$dir/percent.cu" && timeout 60 "$V/vgpu" run --private --cc 7.5 -- "$dir/percent" >"$dir/out" 2>&1 && ok "%laneid in a statement of assembly" ||
	fail "%laneid: $(tail -n 4 "$dir/out")"
sed -i 's/o\[0\] != 1/o[0] != one/' "$dir/percent.cu"
cc -arch=sm_75 -c -o "$dir/bad.o" "$dir/percent.cu" && fail "percent.cu without 'one'" || { grep -q "percent.cu:19:.*'one'" "$dir/out" && ! grep -q 'escape' "$dir/out" && ok "whose errors are those that are left"; } ||
	fail "errors of percent.cu: $(head -n 4 "$dir/out")"
# what a Makefile's $(CFLAGS) hands on; and what NVIDIA's curand.h, cufft.h ask of cuda_runtime.h, in C too
echo '#ifndef __CUDA_ARCH__
static_assert(FOUR == 4 && __PIC__, "words");
#endif
int main() {}' >"$dir/words.cu"
cc -std=c++17 --compiler-options "-fPIC  -DFOUR=4,-O1" -o "$dir/words" "$dir/words.cu" && ok "--compiler-options with words and commas" || fail "--compiler-options: $(tail -n 4 "$dir/out")"
printf '#include <cuda_runtime.h>\nint main(void) { libraryPropertyType part = PATCH_LEVEL; cudaDataType type = CUDA_C_64F; return part + type - 7; }\n' >"$dir/types.c"
gcc -I"$B/include/vgpu" -o "$dir/types" "$dir/types.c" >"$dir/out" 2>&1 && "$dir/types" && cp "$dir/types.c" "$dir/types.cu" && cc -c -o "$dir/types.o" "$dir/types.cu" && ok "library_types.h comes with cuda_runtime.h" ||
	fail "library_types.h: $(tail -n 4 "$dir/out")"
# nor do programs ask for what nvcc's headers bring, and helper_cuda.h asks whether driver_types.h is there
cat >"$dir/bare.cu" <<'CU'
#ifndef __DRIVER_TYPES_H__
#error checkCudaErrors() needs it
#endif
__global__ void root(float *p) { p[threadIdx.x] = max(sqrtf(fabs(p[threadIdx.x])), 1e-3) + min(threadIdx.x, 7); }
int main()
{
	float *p = (float *)malloc(64);
	memset(p, 0, 64);
	cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), u = cudaCreateChannelDesc<uchar4>();
	if (p[3] != 0 || sqrt(4.0) != 2 || clock() == (clock_t)-1 || max(1.5f, 2.5f) != 2.5f || min(7, 5) != 5 || max(3u, 4) != 4 || max(1.0, 2.5f) != 2.5)
		exit(EXIT_FAILURE);
	if (f.x != 32 || f.y || f.f != cudaChannelFormatKindFloat || u.x != 8 || u.w != 8 || u.f != cudaChannelFormatKindUnsigned)
		exit(EXIT_FAILURE);
	free(p);
	return EXIT_SUCCESS;
}
CU
cc -Wall -Wextra -Werror -o "$dir/bare" "$dir/bare.cu" && "$dir/bare" && ok "a program without an #include" || fail "without an #include: $(tail -n 4 "$dir/out")"
# shellcheck disable=SC2086
cc -lineinfo -o "$dir/lines" $S && timeout 200 "$V/vgpu" sanitizer --leak-check full "$dir/lines" >"$dir/out" 2>&1
grep -q 'LEAK SUMMARY: 8000 bytes leaked in 2 allocations' "$dir/out" && grep -q 'Host Frame: main+0x' "$dir/out" && ok "vgpu sanitizer reads what it built" ||
	fail "sanitizer: $(tail -n 8 "$dir/out")"
timeout 100 "$V/vgpu" trace --perfetto "$dir/trace.json" -o "$dir/calls" -- "$dir/whole" >"$dir/out" 2>&1
python3 - "$dir/trace.json" >>"$dir/out" 2>&1 <<'PY' && ok "vgpu trace --perfetto has the kernel's C++ name" || fail "trace: $(tail -n 3 "$dir/out")"
import json, sys
names = {e["name"]: e["args"]["kernel"] for e in json.load(open(sys.argv[1]))["traceEvents"] if "kernel" in e.get("args", {})}
want = "void apply<Wave<float, 3> >(Wave<float, 3>, float const*, float*, int)"
assert names.get("cudaLaunchKernel") == want and names.get("cuLaunchKernel") == want, names
PY
# with all of it inside the program, as C++ links it
# shellcheck disable=SC2086
cc -cudart static -static -o "$dir/allin" $S && timeout 200 "$V/vgpu" sanitizer --leak-check full "$dir/allin" >"$dir/out" 2>&1
grep -q 'LEAK SUMMARY: 8000 bytes leaked in 2 allocations' "$dir/out" && grep -A2 '^========= Leaked' "$dir/out" | grep -q 'Host Frame: main+0x' &&
	! grep -q 'Host Frame: \(cu\|vg_\)' "$dir/out" && ok "leaks of a static program, from its own frame on" || fail "static: $(tail -n 8 "$dir/out")"
[ -z "$(find "$dir" -maxdepth 1 -name 'vgpu-cc-*')" ] && ok "nothing is left in TMPDIR" || fail "left: $(ls "$dir")"

while IFS='|' read -r args word; do
	# shellcheck disable=SC2086
	cc $args tests/system/cc_sample.cu -o "$dir/no" && fail "$args was taken"
	grep -q -e "$word" "$dir/out" && ok "$args is refused: $word" || fail "$args: $(cat "$dir/out")"
done <<-'END2'
	-rdc=true|has no linker for device code
	-arch=sm_many|it is sm_61
	-gencode arch=sm_many,code=sm_61|it is arch=compute_61
	-gencode code=sm_61|it is arch=compute_61
	--default-stream per-process|no such value
	-fmad=perhaps|no such value
	-cudart none|shared or static
	-x fortran|cu, c++ or c
END2
echo '__global__ void k() { undeclared(); }' >"$dir/bad.cu"
cc -c -o "$dir/bad.o" "$dir/bad.cu"; st=$?
[ $st != 0 ] && grep -q "bad.cu:1:.*undeclared" "$dir/out" && [ ! -e "$dir/bad.o" ] && ok "clang's errors are told, and its status" || fail "an error: $st, $(cat "$dir/out")"
VGPU_CLANG=$dir/none cc "$dir/bad.cu"; st=$?
[ $st = 127 ] && grep -q 'VGPU_CLANG' "$dir/out" && ok "a compiler that is not there" || fail "no compiler: $st, $(cat "$dir/out")"

cat >"$dir/poke.cu" <<'CU'
template <class T> __global__ void poke(T *p) { *p = 1; }
int main() { poke<<<1, 1>>>((double *)64); return cudaDeviceSynchronize() == cudaErrorIllegalAddress; }
CU
cc -lineinfo -o "$dir/poke" "$dir/poke.cu" && timeout 60 "$V/vgpu" run -- "$dir/poke" >"$dir/out" 2>&1; st=$?
[ $st = 1 ] && grep -q 'global write of 8 bytes at 0x40 in kernel void poke<double>(double\*), .*poke.cu:1' "$dir/out" && ok "a fault, by the names and lines of the program" ||
	fail "a fault: $st, $(cat "$dir/out")"

# halves: device and host the same bits, and the host's against Python's own rounding
cc -Wall -Wextra -Werror -o "$dir/half" tests/system/cc_half.cu && timeout 100 "$V/vgpu" run -- "$dir/half" >"$dir/halves" 2>&1
tail -n 1 "$dir/halves" 2>/dev/null | grep -q '^result: 0 wrong' && ok "cuda_fp16.h: host and device have the same bits" || fail "cuda_fp16.h: $(cat "$dir/out"; grep -v '^[0-9]' "$dir/halves" | tail -n 8)"
python3 tests/system/cc_half.py "$dir/halves" >"$dir/out" 2>&1 && ok "cuda_fp16.h: $(tail -n 1 "$dir/out")" || fail "cuda_fp16.h against Python: $(tail -n 6 "$dir/out")"
for a in 75 80; do      # the hash is what nvcc's headers make at 8.0
	cc -Wall -Wextra -Werror -arch=sm_$a -o "$dir/brain" tests/system/cc_brain.cu && timeout 100 "$V/vgpu" run --private --cc ${a%?}.${a#?} -- "$dir/brain" >"$dir/out" 2>&1 &&
		grep -q '^hash: fc2404cffe3aac5b$' "$dir/out" && ok "cuda_bf16.h, sm_$a: host, device and nvcc's program have the same bits" || fail "cuda_bf16.h, sm_$a: $(tail -n 8 "$dir/out")"
done
cc -Wall -Wextra -Werror -arch=sm_75 -o "$dir/eight" tests/system/cc_eight.cu && timeout 100 "$V/vgpu" run --private --cc 7.5 -- "$dir/eight" >"$dir/out" 2>&1 &&
	grep -q '^hash: d41896dbd1237d39$' "$dir/out" && ok "cuda_fp8.h: the formats' values, nvcc's bits" || fail "cuda_fp8.h: $(tail -n 8 "$dir/out")"
cc -std=c++14 -Wall -Wextra -Werror -o "$dir/intrinsics" tests/system/cc_intrinsics.cu && timeout 100 "$V/vgpu" run -- "$dir/intrinsics" >"$dir/out" 2>&1
grep -q '^result: 0 wrong' "$dir/out" && ok "intrinsics, special functions, textures: $(grep -c ' ulp$' "$dir/out") of them within their bounds" || fail "intrinsics: $(tail -n 12 "$dir/out")"
cc -std=c++17 -Wall -Wextra -Werror -o "$dir/old" tests/system/cc_old.cu
for e in jit interp; do
	VGPU_ENGINE=$e timeout 100 "$V/vgpu" run --private -- "$dir/old" >>"$dir/out" 2>&1 && grep -q '^result: 0 wrong' "$dir/out" && ok "votes and shuffles of before CUDA 9, <memory>, $e" || fail "cc_old.cu, $e: $(tail -n 6 "$dir/out")"
done
cc -arch=sm_75 -c -o "$dir/old.o" tests/system/cc_old.cu && fail "__shfl at 7.5" || grep -q "undeclared identifier '__shfl'" "$dir/out" && ok "which are not there from 7.0 on" || fail "at 7.5: $(tail -n 3 "$dir/out")"
cat >"$dir/groups.cu" <<'CU'
#include <cstdio>
__global__ void k(unsigned *o, int *all) { o[threadIdx.x] = __match_any_sync(0xffffffff, threadIdx.x % 5); int a; __match_all_sync(0xffffffff, 7.5, &a); *all = a; atomicMax((unsigned long long *)(o + 32), (unsigned long long)threadIdx.x << 33); atomicAdd_block((int *)o + 34, 2); atomicOr_system(o + 35, 1u << threadIdx.x); atomicCAS((unsigned short *)(o + 36), (unsigned short)0, (unsigned short)9); }
int main() { unsigned *o; int *a; cudaMallocManaged(&o, 160); cudaMallocManaged(&a, 4); cudaMemset(o, 0, 160); k<<<1, 32>>>(o, a); cudaError_t e = cudaDeviceSynchronize(); int bad = 0; for (int i = 0; i < 32; i++) { unsigned w = 0; for (int j = i % 5; j < 32; j += 5) w |= 1u << j; bad += o[i] != w; } bad += !*a; bad += o[33] != 62; bad += o[34] != 64; bad += o[35] != 0xffffffff; bad += o[36] != 9; printf("%s %d wrong\n", cudaGetErrorString(e), bad); return bad; }
CU
cc -arch=sm_70 -o "$dir/groups" "$dir/groups.cu" && timeout 100 "$V/vgpu" run --private --cc 7.0 -- "$dir/groups" >"$dir/out" 2>&1
grep -q '^no error 0 wrong' "$dir/out" && ok "matches of lanes, atomics of 16 and 64 bits and of a scope" || fail "groups: $(tail -n 5 "$dir/out")"

cat >"$dir/pi.cu" <<'CU'
#include <cmath>
#include <cstdio>
__global__ void k(const double *x, double *o, float *f)
{
	int i = threadIdx.x;
	sincospi(x[i], o + 2 * i, o + 2 * i + 1);
	sincospif((float)x[i], f + 2 * i, f + 2 * i + 1);
}
int main()
{
	double *x, *o;
	float *f;
	int bad = 0;
	if (cudaMallocManaged(&x, 64 * 8) || cudaMallocManaged(&o, 128 * 8) || cudaMallocManaged(&f, 128 * 4)) return 2;
	for (int i = 0; i < 64; i++) x[i] = (i - 32) / 8.0;
	k<<<1, 64>>>(x, o, f);
	if (cudaDeviceSynchronize()) return 2;
	for (int i = 0; i < 64; i++) {
		long double a = x[i] * 3.14159265358979323846264338327950288L, e[2] = { sinl(a), cosl(a) };
		for (int k = 0; k < 2; k++) bad += fabsl(o[2 * i + k] - e[k]) > 1e-15L || fabsl(f[2 * i + k] - e[k]) > 1e-7L;
	}
	return bad != 0;
}
CU
cc -o "$dir/pi" "$dir/pi.cu" && timeout 60 "$V/vgpu" run -- "$dir/pi" >"$dir/out" 2>&1; st=$?
[ $st = 0 ] && ok "sincospi, sincospif" || fail "sincospi: $st, $(cat "$dir/out")"

# for a higher device than there is: each launch has the documented error, and one line says why
cat >"$dir/high.cu" <<'CU'
#include <cuda_runtime.h>
__global__ void k(int *p) { *p = 1; }
int main()
{
	int *p, right = 0;

	cudaMalloc(&p, 4);
	for (int i = 0; i < 50; i++) {
		k<<<1, 1>>>(p);
		right += cudaGetLastError() == cudaErrorNoKernelImageForDevice;
	}
	return right != 50;
}
CU
cc -arch=sm_75 -o "$dir/high" "$dir/high.cu" && timeout 60 "$V/vgpu" run --private --cc 6.1 -- "$dir/high" >"$dir/out" 2>&1; st=$?
[ $st = 0 ] && [ "$(grep -c 'library not loaded: .*vgpu run --cc 7.5' "$dir/out")" = 1 ] && ok "50 launches of PTX for a higher device: one line" || fail "PTX for a higher device: $st, $(head -n 3 "$dir/out")"

# the mathematics: 39 functions, double and float, random arguments and edges
if cc -o "$dir/maths" tests/maths/clang.cu; then
	timeout 200 "$V/vgpu" run -- "$dir/maths" >"$dir/out" 2>&1; st=$?
	cat "$dir/out"
	[ $st -le 1 ] && [ "$(grep -c '^ok\|^FAIL' "$dir/out")" = 39 ] || fail "mathematics: $st, $(tail -n 3 "$dir/out")"
else
	fail "mathematics: $(tail -n 5 "$dir/out")"
fi
