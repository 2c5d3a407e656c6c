#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests of the PTX engine on a GPU: random kernels, cases, the oracle's forms and programs, probes, vectors and forms are run by NVIDIA's
# driver, and whoever differs is told with what the hardware gave. For a machine with a driver and the built tree (make test-bins); no root.
# Not part of make test, which has a short run of it on our own driver (tests/cuda/nested.sh).
#
#   ptx.sh [-j JOBS] [-t SECONDS] [-p PARTS] [-s] BUILD [LIBCUDA]
#          LIBCUDA: the driver's libcuda.so.1, where ldconfig does not know it; -t: for everything (130); what comes too late is left out
#          and said; -p: of probe random cases oracle programs calls golden forms, in this order and quoted; -s: a sample
#
# Logs in BUILD/gpu ($PTX_LOGS), each written as it goes: probe.log and, of the same text here, probe-interp.log and probe-jit.log,
# probe.diff; random.log with its kernels in random/; cases.log; oracle.log, oracle.txt; programs.log; calls.log; golden.log, golden/*.txt
# (what approximate and undefined operations give there, as tests/ptx/golden), golden-jit.log; forms.log.
set -u
jobs=$(nproc) sample='' all=130 parts='probe random cases oracle programs calls golden forms'
while getopts j:t:p:s o; do
	case $o in j) jobs=$OPTARG ;; t) all=$OPTARG ;; p) parts=$OPTARG ;; s) sample=1 all=900 ;; *) exit 2 ;; esac
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
mkdir -p "$logs/golden" "$logs/random"
work=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-ptx-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$here/../.." || exit 2

# part NAME SECONDS COMMAND...: into its log; the last line of it is the result
part() {
	local name=$1 seconds=$2 begin=$SECONDS st
	shift 2
	[ -z "$sample" ] || seconds=$((seconds * 8))
	[ $seconds -le $((all - SECONDS)) ] || seconds=$((all - SECONDS))
	[ $seconds -ge 2 ] || { echo "skip gpu/ptx/$name no time is left"; return; }
	timeout -k 2 "$seconds" "$@" >"$logs/$name.log" 2>&1 </dev/null
	st=$?
	[ $st = 0 ] || [ $st = 77 ] || bad=1
	echo "$([ $st = 0 ] && echo ok || { [ $st = 77 ] && echo skip || echo FAIL; }) gpu/ptx/$name $((SECONDS - begin)) s, exit $st: $(grep -v '^libcuda' "$logs/$name.log" | tail -n 1 | cut -c 1-200)"
}
wanted() { [[ " $parts " == *" $1 "* ]]; }

# The oracle's files are written meanwhile, on what processors the rest leaves.
forms='int video float cvt approx memory wgmma wgmmasp tmap sparse' programs='talk step' each=6
[ -z "$sample" ] || { forms='int float tmap' programs='' each=150; }
written=''
write() {       # FOLDER EACH PART...
	local to=$work/$1 n=$2
	shift 2
	for p; do
		PYTHONDONTWRITEBYTECODE=1 nice timeout 150 python3 tests/ptx/oracle/oracle.py "$to" -e "$n" -p "$p" >"$work/$p.out" 2>&1 &
		written="$written $!"
	done
}
if command -v python3 >/dev/null; then
	# shellcheck disable=SC2086
	! wanted oracle || write oracle $each $forms
	# shellcheck disable=SC2086
	! wanted programs || write programs 4 $programs
	[ -n "$sample" ] || ! wanted calls || write calls 10 calls
fi
# ptxrun prints what each process has, in any order
sorted() { grep '^[a-z0-9_]*\.ptx ' "$1" | sort -s -k 1,2; }
if wanted probe; then
	probes=tests/ptx/probe
	[ -z "$sample" ] || probes=$(ls $probes/*.ptx | awk 'NR % 4 == 1')
	# shellcheck disable=SC2086
	part probe 15 "$X/ptxrun" -m cuda -t 3 -j "$jobs" $probes
	for m in interp jit; do
		# shellcheck disable=SC2086
		timeout -k 1 20 "$X/ptxrun" -m $m -t 3 $probes >"$logs/probe-$m.log" 2>&1
		sorted "$logs/probe-$m.log" >"$work/probe-$m"
	done
	sorted "$logs/probe.log" >"$work/probe-cuda"
	diff -U 0 "$work/probe-interp" "$work/probe-cuda" >"$logs/probe.diff"
	diff -U 0 "$work/probe-interp" "$work/probe-jit" >"$logs/probe-jit.diff"
	echo "... gpu/ptx/probe $(grep -c '^+[a-z]' "$logs/probe.diff") of $(wc -l <"$work/probe-cuda") lines are others than the interpreter's, of the JIT $(grep -c '^+[a-z]' "$logs/probe-jit.diff")"
fi
if wanted random; then
	part random 48 "$X/jitdiff" -m cuda -j "$jobs" -n $([ -n "$sample" ] && echo 40 || echo 9000) -T $([ -n "$sample" ] && echo 200 || echo 36) -o "$logs/random"
fi
if wanted cases; then
	cases=tests/ptx/cases
	[ -z "$sample" ] || cases=$(ls $cases/*.ptx | awk 'NR % 20 == 3')' '$cases/init_nested.ptx
	# shellcheck disable=SC2086
	part cases 45 "$X/ptxrun" -m cuda -j "$jobs" $cases
fi
# shellcheck disable=SC2086
wait $written
if [ -d "$work/oracle" ]; then
	part oracle 30 "$X/ptxrun" -m cuda -j "$jobs" "$work/oracle"
	timeout 10 python3 -B tests/ptx/oracle/explain.py <"$logs/oracle.log" 2>&1 >"$logs/oracle.txt" | head -n 3
fi
[ ! -d "$work/programs" ] || part programs 20 "$X/ptxrun" -m cuda -j "$jobs" "$work/programs"
# programs of functions want a large stack for every thread that there could be: few at a time
[ ! -d "$work/calls" ] || part calls 10 "$X/ptxrun" -m cuda -j 4 "$work/calls"
if wanted golden; then
	part golden 20 "$X/golden" -m cuda -j "$jobs" ${sample:+-n 32} -w "$logs/golden"
	part golden-jit 5 "$X/golden" -m jit -v ${sample:+-n 32} "$logs/golden"
fi
if wanted forms; then
	some=''
	[ -z "$sample" ] || some=$(grep -v '^#\|@\|%\|^$' tests/ptx/forms.txt | awk 'NR % 150 == 7')
	# shellcheck disable=SC2086
	part forms 25 "$X/optest" -m cuda -j "$jobs" $some
fi
command -v python3 >/dev/null || echo "skip gpu/ptx/oracle no python3 here"
exit $bad
