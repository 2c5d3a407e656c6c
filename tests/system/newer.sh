#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A library that loads its PTX only on devices newer than itself (libcudart's newer.c) is told of one; nobody else is, traced or not.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
cat >"$dir/asks.c" <<'C'
#include <cuda_runtime_api.h>
int NAME(int *v, enum cudaDeviceAttr a) { int e = cudaDeviceGetAttribute(v, a, 0); return e; }
C
cat >"$dir/main.c" <<'C'
#include <cuda_runtime_api.h>
#include <stdio.h>
int curand(int *, enum cudaDeviceAttr), other(int *, enum cudaDeviceAttr);
int main(void)
{
	static const enum cudaDeviceAttr a[] = { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor, cudaDevAttrWarpSize };
	for (int i = 0; i < 3; i++) {
		int x = -1, y = -1, z = -1, e = cudaDeviceGetAttribute(&x, a[i], 0) | curand(&y, a[i]) | other(&z, a[i]);
		printf("%d %d %d %d\n", e, x, y, z);
	}
	return curand(NULL, a[0]) != cudaErrorInvalidValue;
}
C
flags="-O1 -DCUDART_VERSION=13000 -Ilibcuda-lite/include"
for n in curand other; do
	# shellcheck disable=SC2086
	$CC $flags -fPIC -shared -DNAME=$n -o "$dir/lib$n.so.10" "$dir/asks.c" "$B/lib/libcudart.so.13" || { fail "does not build"; exit 1; }
done
# shellcheck disable=SC2086
$CC $flags -o "$dir/main" "$dir/main.c" "$dir"/lib*.so.10 "$B/lib/libcudart.so.13" -Wl,-rpath-link,"$B/lib" || { fail "does not build"; exit 1; }
want=$'0 8 99 8\n0 6 6 6\n0 32 32 32'
for how in "" "$B/bin/vgpu trace -o $dir/trace --"; do
	# shellcheck disable=SC2086
	got=$(LD_LIBRARY_PATH=$dir timeout 100 "$B/bin/vgpu" run --private --cc 8.6 -- $how "$dir/main" 2>"$dir/err") && [ "$got" = "$want" ] &&
		ok "${how:+traced: }who asks" || fail "${how:+traced}: $got; $(tail -n 2 "$dir/err")"
done
