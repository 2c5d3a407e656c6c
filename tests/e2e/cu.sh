#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles a <<<>>> program with clang alone: no CUDA SDK, no NVIDIA tool.
#   cu.sh MAJOR PACKING LIBDIR MKFATBIN SRC.cu OUT [EXTRA_CFLAGS...]
#     MAJOR    12 or 13: which libcudart OUT needs
#     PACKING  none, lz4 or zstd: how its fat binary is packed
#     LIBDIR   holds libcudart.so.12, libcudart.so.13 and libcuda.so.1; or an archive's name: nothing else is linked
# Device side to PTX, PTX into a container, host side with the container inside, link.
# CU_LINK: more for the link, with an archive. Run from the repository's root.
set -eu
major=$1 packing=$2 libdir=$3 mkfatbin=$4 src=$5 out=$6
shift 6
clang=${CLANG:-clang}
tmp=$out.tmp
mkdir -p "$tmp"
trap 'rm -rf "$tmp"' EXIT
# -target-sdk-version: clang then emits the launch that CUDA 9.2 and later have (cudaLaunchKernel).
common="-x cuda --cuda-path=/dev/null -Xclang -target-sdk-version=11.5 -nocudainc -nocudalib
	-O2 -Wall -Wextra -Wno-unused-function -Wno-unused-const-variable
	-Ilibcuda-lite/include -DCUDART_VERSION=${major}000 -DE2E_CUDART_MAJOR=$major"
"$clang" $common --cuda-device-only --cuda-gpu-arch=sm_61 -Xclang -target-feature -Xclang +ptx63 \
	"$@" -S -o "$tmp/dev.ptx" "$src"
"$mkfatbin" -o "$tmp/dev.fatbin" -c "$packing" "61:$tmp/dev.ptx"
"$clang" $common --cuda-host-only -Xclang -fcuda-include-gpubinary -Xclang "$tmp/dev.fatbin" \
	"$@" -c -o "$tmp/host.o" "$src"
# C linker driver: the programs use no C++ library.
case $libdir in
*.a)
	# shellcheck disable=SC2086
	"$clang" -o "$out" "$tmp/host.o" "$libdir" ${CU_LINK:-} -lpthread -lm
	exit ;;
esac
"$clang" -o "$out" "$tmp/host.o" "$libdir/libcudart.so.$major" -Wl,--as-needed -L"$libdir" \
	-Wl,-rpath-link,"$libdir" -lcuda -lpthread -lm
