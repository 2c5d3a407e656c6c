#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A CUDA toolkit's folder: NVIDIA's compiler and headers from PyPI (fetch.sh), our libraries and archives in the places of theirs.
#   toolkit.sh BUILD DIR    exit 0: DIR is whole; 77: the compiler cannot be had (the last line says why)
#
#   cmake -DCMAKE_CUDA_COMPILER=DIR/bin/nvcc -DCUDAToolkit_ROOT=DIR ...     shared and static; DIR/bin/nvcc alone, too
set -eu
[ $# = 2 ] || { echo "usage: toolkit.sh BUILD DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")/../.." && pwd)
B=$(cd "$1" && pwd)
[ -e "$B/lib/cuda-13/libcudart_static.a" ] || { echo "$B/lib/cuda-13 is not built: make" >&2; exit 1; }
if [ -e "$2" ] && [ ! -e "$2/.vgpu-toolkit" ] && [ -n "$(ls -A "$2")" ]; then
	echo "$2 is not empty, and no toolkit of ours" >&2
	exit 1
fi
"$here/tools/toolkit/fetch.sh" "$B/nvcc"
mkdir -p "$2"
D=$(cd "$2" && pwd)
: >"$D/.vgpu-toolkit"
rm -rf "$D"/{bin,nvvm,include,lib,lib64}
for f in bin nvvm include; do
	cp -al "$B/nvcc/$f" "$D/" 2>/dev/null || { rm -rf "${D:?}/$f"; cp -a "$B/nvcc/$f" "$D/"; }
done
mkdir -p "$D/lib/stubs"
ln -s lib "$D/lib64"
[ ! -e "$B/nvcc/lib/cmake" ] || cp -a "$B/nvcc/lib/cmake" "$D/lib/"
# headers that PyPI's wheels for the compiler do not bring
cp "$here"/libcuda-lite/include/{cublas_v2.h,cublas_api.h,nvml.h} "$D/include/"

for f in libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libnccl.so.2; do
	cp "$B/lib/$f" "$D/lib/"
	ln -s "$f" "$D/lib/${f%.*}"
done
for f in cudart_static cublas_static cublasLt_static nccl_static culibos cudadevrt; do
	cp "$B/lib/cuda-13/lib$f.a" "$D/lib/"
done
# What belongs to the driver is not beside the rest, as in NVIDIA's: CMake would take a libcuda.a found there for shared builds
# too. The stub is a script of the linker, which then looks for an archive or a shared library as it does for all others.
for f in cuda.so.1 nvidia-ml.so.1; do
	cp "$B/lib/lib$f" "$D/lib/"
	name=${f%%.*}
	ln -s "lib$f" "$D/lib/libvgpu-$name.so"
	cp "$B/lib/cuda-13/lib$name.a" "$D/lib/libvgpu-$name.a"
	echo "INPUT ( -lvgpu-$name )" >"$D/lib/stubs/lib$name.so"
done
