#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# For run.sh and ptx.sh, which have B, the built tree.

# find_driver TEST LIBCUDA HINT: lib is the driver's libcuda.so.1, by that name, $CUDA_LIBRARY, ldconfig or the places where drivers lie;
# without one the test is a skip that gives the hint
find_driver() {
	local p
	lib=${2:-${CUDA_LIBRARY:-}}
	[ -n "$lib" ] || lib=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | awk -v b="$B/" '/libcuda\.so\.1 .*x86-64/ && index($NF, b) != 1 { print $NF; exit }')
	for p in /usr/local/nvidia/lib64 /usr/lib/wsl/lib /usr/lib64 /usr/lib/x86_64-linux-gnu; do
		[ -n "$lib" ] || { [ -e "$p/libcuda.so.1" ] && lib=$p/libcuda.so.1; }
	done
	[ -n "$lib" ] || { echo "skip $1 no NVIDIA driver here: ldconfig knows no libcuda.so.1 (name it: $3)"; exit 77; }
	lib=$(cd "$(dirname "$lib")" && pwd)/$(basename "$lib")
	[ "${lib#"$B/lib/"}" = "$lib" ] || [ -n "${VGPU_HOST_AGENT:-}" ] || { echo "FAIL $1 $lib is our own driver, not NVIDIA's" >&2; exit 2; }
}
