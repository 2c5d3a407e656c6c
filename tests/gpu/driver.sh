#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# For the scripts beside it, which have B, the built tree.

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

# What a script starts ends with it: pids, the last one first; dir
pids=''
cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null; done
	for p in $pids; do wait "$p" 2>/dev/null; done
	rm -rf "$dir"
}
# until_true SECONDS COMMAND...: or until what was started last is gone
until_true() {
	local until=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		kill -0 "${pids%% *}" 2>/dev/null || return 1
		sleep 0.05
	done
}
# start_gpu SECONDS: a device on the driver lib and an agent at $dir/agent, logs in $logs; number: which GPU; blas: a cuBLAS of the host's, or nothing.
# Otherwise failed says what did not start.
start_gpu() {
	chmod 711 "$dir"        # contexts are users of their own
	: >"$logs/stub.log" >"$logs/agent.log"
	"$B/bin/vgpu-stub" --socket "$dir/stub" --engine cuda --cuda-library "$lib" --cuda-device "$number" ${blas:+--cublas-library "$blas"} --verbose 2>>"$logs/stub.log" &
	pids="$! $pids"
	until_true "$1" test -S "$dir/stub" || { failed=device; return 1; }
	"$B/bin/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/agent" --mode 666 --pidfile "$dir/pid" 2>>"$logs/agent.log" &
	pids="$! $pids"
	until_true "$1" env VGPU_AGENT="$dir/agent" "$B/bin/vgpu" smi -j || { failed=agent; return 1; }
}

# found NAME PLACE...: the real file of a library of the host's, in these places, by ldconfig, in toolkits or python3's wheels; none of the built tree
found() {
	local name=$1 p
	shift
	for p in "$@" "$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | awk -v n="$name" -v b="$B/" '$1 == n && index($NF, b) != 1 { print $NF; exit }')" \
		/usr/local/cuda*/lib64/"$name" /usr/local/cuda*/targets/x86_64-linux/lib/"$name"; do
		[ -n "$p" ] && [ -e "$p" ] && { readlink -f "$p"; return; }
	done
	python3 - "$name" <<-'P' 2>/dev/null
		import glob, sys
		print(next(f for d in sys.path if d for f in glob.glob(glob.escape(d) + "/nvidia/**/" + sys.argv[1], recursive=True)))
	P
}
