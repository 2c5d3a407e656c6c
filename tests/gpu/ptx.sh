#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests of the PTX engine on a GPU: cases, forms, matrix instructions and the oracle's forms are run by NVIDIA's driver, and whoever
# differs is told with what the hardware gave. For a machine with a driver and the built tree (make test-bins); no root. Not part of
# make test, which has a short run of it on our own driver (tests/cuda/nested.sh).
#
#   ptx.sh [-j JOBS] [-s] BUILD [LIBCUDA]      LIBCUDA: the driver's libcuda.so.1, where ldconfig does not know it; -s: a sample
#
# Logs in BUILD/gpu, each written as it goes: golden.log, golden/*.txt (what approximate and undefined operations give there, as
# tests/ptx/golden), golden-jit.log (where the cpu engine has other results), forms.log, cases.log, oracle.log, calls.log. Each part has its time.
set -u
jobs=$(nproc) sample=''
while getopts j:s o; do
	case $o in j) jobs=$OPTARG ;; s) sample=1 ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n 's/^#   \(ptx.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
# shellcheck source=tests/gpu/driver.sh
. "$here/driver.sh"
find_driver gpu/ptx "${2:-}" "ptx.sh BUILD LIBCUDA"
export CUDA_LIBRARY=$lib LD_LIBRARY_PATH="$(dirname "$lib")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
X=$B/test/ptx/plain logs=${PTX_LOGS:-$B/gpu} bad=0
mkdir -p "$logs/golden"
work=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-ptx-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$here/../.." || exit 2

# part NAME SECONDS COMMAND...: into its log; the last line of it is the result
part() {
	local name=$1 seconds=$2 begin=$SECONDS st
	shift 2
	timeout -k 2 $((seconds * (${sample:-0} * 7 + 1))) "$@" >"$logs/$name.log" 2>&1 </dev/null
	st=$?
	[ $st = 0 ] || [ $st = 77 ] || bad=1
	echo "$([ $st = 0 ] && echo ok || { [ $st = 77 ] && echo skip || echo FAIL; }) gpu/ptx/$name $((SECONDS - begin)) s, exit $st: $(grep -v '^libcuda' "$logs/$name.log" | tail -n 1 | cut -c 1-200)"
}

# The oracle's files are written meanwhile. What says most comes first; all limits together are less than two minutes (16 cores).
parts='int video float cvt approx memory wgmma wgmmasp tmap sparse calls'
each=6
[ -z "$sample" ] || parts='int float tmap' each=150
if command -v python3 >/dev/null; then
	for p in $parts; do
		PYTHONDONTWRITEBYTECODE=1 nice timeout 150 python3 tests/ptx/oracle/oracle.py "$work/oracle" -e $each -p "$p" >"$work/$p.out" 2>&1 &
	done
fi
part golden 20 "$X/golden" -m cuda -j "$jobs" ${sample:+-n 32} -w "$logs/golden"
part golden-jit 5 "$X/golden" -m jit -v ${sample:+-n 32} "$logs/golden"
forms=''
[ -z "$sample" ] || forms=$(grep -v '^#\|@\|%\|^$' tests/ptx/forms.txt | awk 'NR % 150 == 7')
# shellcheck disable=SC2086
part forms 25 "$X/optest" -m cuda -j "$jobs" $forms
cases=tests/ptx/cases
[ -z "$sample" ] || cases=$(ls $cases/*.ptx | awk 'NR % 20 == 3')' '$cases/init_nested.ptx
# shellcheck disable=SC2086
part cases 35 "$X/ptxrun" -m cuda -j "$jobs" $cases
wait
if [ -d "$work/oracle" ]; then
	# programs of functions want a large stack for every thread that there could be: few at a time
	mkdir -p "$work/calls"
	mv "$work"/oracle/calls_* "$work/calls" 2>/dev/null
	part oracle 25 "$X/ptxrun" -m cuda -j "$jobs" "$work/oracle"
	[ -n "$sample" ] || part calls 10 "$X/ptxrun" -m cuda -j 4 "$work/calls"
	cat "$logs/oracle.log" "$logs/calls.log" 2>/dev/null | head -n 2000 | timeout 10 python3 -B tests/ptx/oracle/explain.py >"$logs/oracle.txt" 2>&1 || cut -c 1-300 "$logs/oracle.txt" | head -n 30
else
	echo "skip gpu/ptx/oracle no python3 here"
fi
exit $bad
