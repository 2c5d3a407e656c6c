#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian's OpenMPI, each rank a client of the device (mpi_ranks.c): sums by MPI of what kernels made, by NCCL with its id over MPI, and MPI on device
# pointers, which UCX moves (libucx-cu12 of PyPI). Unpacked into the build, not installed.
#   tests/strangers/mpi.sh BUILD [NAME...]      default: host nccl device
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip mpi: 80 MB of packages: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/mpi.sh BUILD NAME"; exit 0; }
P=$B/test/mpi dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-test-XXXXXX")
trap 'rm -rf "$dir"' EXIT
bad=0
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; bad=1; }
[ $# -gt 0 ] || set -- host nccl device
M=$P/root/usr L=$P/root/usr/lib/x86_64-linux-gnu U=$P/ucx/libucx/lib
if [ ! -e "$P/done" ]; then
	rm -rf "$P"; mkdir -p "$P/debs/partial"
	(timeout 300 apt-get install -y --download-only --no-install-recommends -o Dir::Cache::Archives="$P/debs" openmpi-bin libopenmpi-dev && for d in "$P"/debs/*.deb; do dpkg -x "$d" "$P/root" || exit 1; done &&
		rm -r "$P/debs" && [ -x "$M/bin/orterun" ] && : >"$P/done") >"$P/log" 2>&1 || { echo "skip mpi: no packages, or they are installed: $(tail -n 1 "$P/log")"; exit 0; }
fi
"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Ilibcuda-lite/include -isystem "$L/openmpi/include" -o "$dir/ranks" tests/strangers/mpi_ranks.c "$B/lib/libcuda.so.1" "$B/lib/libnccl.so.2" "$L/libmpi.so.40" \
	-Wl,--allow-shlib-undefined >"$dir/out" 2>&1 || { fail "does not build: $(head -n 3 "$dir/out")"; exit 1; }
export OPAL_PREFIX=$M PMIX_INSTALL_PREFIX=$M OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent=/bin/true NCCL_SOCKET_IFNAME=lo
export LD_LIBRARY_PATH=$U:$B/lib:$L:$L/openmpi/lib
# ranks NAME N ARGUMENTS...: N ranks, all of which say that their sums are right
ranks() {
	local name=$1 n=$2
	shift 2
	timeout 300 "$B/bin/vgpu" run --private -- "$M/bin/orterun" --oversubscribe -n "$n" "$@" >"$dir/out" 2>&1 && [ "$(grep -c "^rank [0-9]* of $n: ok" "$dir/out")" = "$n" ] && ok "$name, $n ranks" ||
		fail "$name, $n ranks: $(grep -v '^-*$' "$dir/out" | tail -n 3 | tr '\n' ' ')"
}
host() { ranks "MPI_Allreduce of what kernels made" 3 "$dir/ranks" host; }
nccl() { ranks "NCCL, its id over MPI" 3 "$dir/ranks" nccl; }
device() {
	[ -d "$U" ] || (mkdir -p "$P/ucx" && timeout 200 python3 -m pip install -q --disable-pip-version-check --no-deps --target "$P/ucx" libucx-cu12==1.22.0) >"$P/log" 2>&1 ||
		{ echo "skip MPI on device pointers: no libucx-cu12: $(tail -n 1 "$P/log")"; return; }
	export UCX_MODULE_DIR=$U/ucx
	ranks "MPI on device pointers, by TCP" 3 --mca pml ucx --mca osc ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any -x UCX_TLS=self,tcp,cuda_copy "$dir/ranks" device
	ranks "MPI on device pointers, by shared memory and CUDA's IPC" 3 --mca pml ucx --mca osc ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any -x UCX_TLS=self,sm,cma,cuda_copy,cuda_ipc "$dir/ranks" device
}
for n in "$@"; do
	case $n in host | nccl | device) "$n" ;; *) fail "no such test: $n" ;; esac
done
exit $bad
