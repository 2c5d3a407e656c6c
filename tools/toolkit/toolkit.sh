#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu toolkit: a CUDA toolkit's folder: NVIDIA's compiler and headers from PyPI (fetch.sh), our libraries and archives in the
# places of theirs.
#   toolkit.sh DIR [NVCC]    exit 0: DIR is whole; 77: the compiler cannot be had (the last line says why)
#
# It is called by the name under lib/vgpu/toolkit (installed) or build/lib/toolkit: our libraries are one folder up, our headers in
# include/vgpu beside lib. NVCC is where the compiler is fetched to, or was: ~/.cache/vgpu/nvcc.
set -eu
[ $# = 1 ] || [ $# = 2 ] || { echo "usage: toolkit.sh DIR [NVCC]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
L=${here%/*}
I=${L%/vgpu}
I=${I%/lib}/include/vgpu
[ -e "$L/cuda-13/libcudart_static.a" ] && [ -e "$I/cublas_v2.h" ] || { echo "our archives or headers are not at $L and $I" >&2; exit 1; }
if [ -e "$1" ] && [ ! -e "$1/.vgpu-toolkit" ] && [ -n "$(ls -A "$1")" ]; then
	echo "$1 is not empty, and no toolkit of ours" >&2
	exit 1
fi
N=${2:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/vgpu/nvcc}
"$here/fetch.sh" "$N"
N=$(cd "$N" && pwd)
mkdir -p "$1"
D=$(cd "$1" && pwd)
: >"$D/.vgpu-toolkit"
rm -rf "$D"/{bin,nvvm,include,lib,lib64}
for f in bin nvvm include; do
	cp -al "$N/$f" "$D/" 2>/dev/null || { rm -rf "${D:?}/$f"; cp -a "$N/$f" "$D/"; }
done
# what is built for a machine (-arch=sm_XX, as nvcc does where nothing is said) is PTX all the same, which the device runs
for f in "$L/bin/ptxas" "$L/vgpu/bin/ptxas"; do
	[ ! -e "$f" ] || ln -sf "$f" "$D/bin/ptxas"
done
mkdir -p "$D/lib/stubs"
ln -s lib "$D/lib64"
[ ! -e "$N/lib/cmake" ] || cp -a "$N/lib/cmake" "$D/lib/"
# headers that PyPI's wheels for the compiler do not bring
cp "$I"/{cublas.h,cublas_legacy.h,cublas_v2.h,cublas_api.h,cublas_levels.h,cublasXt.h,nvml.h,cudaProfiler.h,cuda_profiler_api.h,nvrtc.h,nccl.h} "$D/include/"

for f in libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libnvrtc.so.13 libnccl.so.2; do
	cp "$L/$f" "$D/lib/"
	ln -s "$f" "$D/lib/${f%.*}"
done
for f in cudart_static cublas_static cublasLt_static nccl_static vgpu-dl culibos cudadevrt; do
	cp "$L/cuda-13/lib$f.a" "$D/lib/"
done
# What belongs to the driver is not beside the rest, as in NVIDIA's: CMake would take a libcuda.a found there for shared builds
# too. The stub is a script of the linker, which then looks for an archive or a shared library as it does for all others. It names
# the folder: who links by the stub's path gives no -L.
for f in cuda.so.1 nvidia-ml.so.1; do
	cp "$L/lib$f" "$D/lib/"
	name=${f%%.*}
	ln -s "lib$f" "$D/lib/libvgpu-$name.so"
	cp "$L/cuda-13/lib$name.a" "$D/lib/libvgpu-$name.a"
	echo "SEARCH_DIR ( \"$D/lib\" ) INPUT ( -lvgpu-$name )" >"$D/lib/stubs/lib$name.so"
done
echo "cmake -DCMAKE_CUDA_COMPILER=$D/bin/nvcc -DCUDAToolkit_ROOT=$D ..."
