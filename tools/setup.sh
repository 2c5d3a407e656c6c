#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what the build and the tests need and this machine lacks (Debian 12). Called by make demo
# and make test; does nothing, and needs no root, when all is there. "setup.sh kernel": also what building a guest kernel needs; "setup.sh packages": Debian's packages of vgpu.
set -eu

missing=
need() { # need PACKAGE TEST...
	pkg=$1; shift
	"$@" >/dev/null 2>&1 || missing="$missing $pkg"
}
has_header() { for d in /usr/include /usr/include/x86_64-linux-gnu; do [ -e "$d/$1" ] && return 0; done; return 1; }

need gcc command -v gcc
need g++ command -v g++
need libc6-dev has_header stdio.h
need binutils command -v ld
need clang command -v clang
need libclang-rt-14-dev sh -c 'ls /usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.asan-x86_64.a'
need musl-tools command -v musl-gcc
need linux-libc-dev has_header linux/vfio.h
need liblz4-dev has_header lz4.h
need libzstd-dev has_header zstd.h
need libopenblas-pthread-dev has_header openblas-pthread/cblas.h
need python3 command -v python3
need strace command -v strace
need file command -v file
need xz-utils command -v xz
need ca-certificates test -d /etc/ssl/certs
need git command -v git
need procps command -v ps
need pkg-config command -v pkg-config
need mandoc command -v mandoc
if [ "${1:-}" = kernel ]; then
	need flex command -v flex
	need bison command -v bison
	need bc command -v bc
	need libelf-dev has_header gelf.h
fi
if [ "${1:-}" = packages ]; then
	need dpkg-dev command -v dpkg-buildpackage
	need build-essential dpkg -s build-essential
	need debhelper command -v dh
	need lintian command -v lintian
	need libcpuid-dev has_header libcpuid/libcpuid.h
	need fakeroot command -v fakeroot
fi

# only for what runs on llama.cpp (npm), is compiled by NVIDIA's nvcc (pip), is built by CMake (Ollama's llama-server) or offloads by gcc, which skips
# with the reason where these cannot be had
wanted=
command -v npm >/dev/null 2>&1 || wanted=npm
python3 -m pip --version >/dev/null 2>&1 || wanted="$wanted python3-pip"
command -v cmake >/dev/null 2>&1 || wanted="$wanted cmake"
# the engine on a processor without AVX-512 (tests/ptx/noavx512.sh)
command -v qemu-x86_64 >/dev/null 2>&1 || wanted="$wanted qemu-user"
command -v ninja >/dev/null 2>&1 || wanted="$wanted ninja-build"
# random programs (tests/csmith)
[ -e /usr/include/csmith/safe_math.h ] && command -v csmith >/dev/null 2>&1 || wanted="$wanted csmith libcsmith-dev"
# OpenMP and OpenACC that gcc offloads (tests/offload)
[ -e /usr/lib/gcc/x86_64-linux-gnu/12/accel/nvptx-none/mkoffload ] || wanted="$wanted gcc-offload-nvptx"
[ -e "$(gcc -print-file-name=libgomp-plugin-nvptx.so.1 2>/dev/null)" ] || wanted="$wanted libgomp-plugin-nvptx1"

[ -n "$missing$wanted" ] || exit 0
if [ -z "$missing" ] && { ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; }; then
	echo "setup: no $wanted, so nothing on llama.cpp, of nvcc's or of Ollama will be shown" >&2
	exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: this needs the packages$missing; apt-get is not here, so install them your way" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "setup: missing packages. As root: apt-get install$missing $wanted" >&2
	exit 1
fi
echo "setup: installing$missing $wanted"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || true      # an old list still serves
# shellcheck disable=SC2086
[ -z "$missing" ] || apt-get install -y -qq --no-install-recommends $missing >/dev/null
# shellcheck disable=SC2086
[ -z "$wanted" ] || apt-get install -y -qq --no-install-recommends $wanted >/dev/null 2>&1 ||
	echo "setup: $wanted cannot be installed, so nothing on llama.cpp, of nvcc's or of Ollama will be shown" >&2
