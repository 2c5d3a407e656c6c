#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetches NVIDIA's nvcc from PyPI into FOLDER (build/nvcc), once: about 110 MB of wheels, 480 MB unpacked, nothing installed.
#   fetch.sh FOLDER     exit 0 there, 77 cannot be had (the last line says why)
#
#   FOLDER/bin/nvcc     with what it calls (cudafe++, cicc, ptxas, fatbinary, nvlink), the headers of CUDA, CUB and Thrust,
#                       and libcudart, static and shared: nvcc finds them all by its own place
# Several tests may call this at once: one fetches, the others wait.
set -eu
# The versions are exact: what the tests expect of the compiler's output was looked at with these.
wheels='nvidia-cuda-nvcc==13.1.115 nvidia-nvvm==13.1.115 nvidia-cuda-crt==13.1.115 nvidia-cuda-cccl==13.1.115 nvidia-cuda-runtime==13.1.80'
mark=done-13.1.115-1

[ $# = 1 ] || { echo "usage: fetch.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
exec 9>lock
flock 9
[ -e $mark ] && exit 0
[ "$(uname -m)" = x86_64 ] || { echo "nvcc is fetched for x86-64 only"; exit 77; }
python3 -m pip --version >/dev/null 2>&1 || { echo "pip is not installed"; exit 77; }

rm -rf wheels new done-*
st=0
# shellcheck disable=SC2086
timeout 400 python3 -m pip download -q --disable-pip-version-check --retries 1 --timeout 30 --no-deps --only-binary :all: \
	-d wheels $wheels >pip.log 2>&1 || st=$?
if [ $st != 0 ]; then
	[ $st = 124 ] && echo "pip cannot fetch nvcc: no end in 400 s" || echo "pip cannot fetch nvcc: $(grep -v '^WARNING' pip.log | tail -n 1)"
	exit 77
fi
for w in wheels/*.whl; do
	python3 -m zipfile -e "$w" new
done
rm -rf wheels bin nvvm include lib lib64 src
mv new/nvidia/cu13/{bin,nvvm,include,lib} .
rm -rf new
chmod +x bin/* nvvm/bin/*
ln -s lib lib64
ln -s libcudart.so.13 lib/libcudart.so
touch $mark
