#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The programs of tests/nvcc/programs, whose reference is C++ on the host, on a GPU: what they want of our engine must be what hardware
# does. For a machine with a driver and the CUDA toolkit; no root, nothing of ours is needed.
#
#   programs.sh [-j JOBS] [-t SECONDS] LOGS [PROGRAM...]      nvcc is the one of $NVCC, $PATH or /usr/local/cuda; -t: for everything (70)
#
# All are compiled at once, then run, a few at a time; each has its log. tile.cu is for a newer architecture and compiled only.
set -u
jobs=$(nproc) all=70
while getopts j:t: o; do
	case $o in j) jobs=$OPTARG ;; t) all=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n 's/^#   \(programs.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
mkdir -p "$1" && logs=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../nvcc/programs" || exit 2
nvcc=${NVCC:-$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)}
[ -n "$nvcc" ] || { echo "skip gpu/programs no nvcc here"; exit 77; }
[ $# -gt 0 ] || set -- *.cu
set -- "${@%.cu}"
bad=0

many() { while [ "$(jobs -pr | wc -l)" -ge "$1" ]; do wait -n; done; }
for p; do
	many "$jobs"
	timeout $((all * 2 / 3)) "$nvcc" -std=c++17 -O2 -cudart shared -arch=$([ "$p" = tile ] && echo sm_100 || echo sm_90) -Xlinker -rpath -Xlinker "$(dirname "$nvcc")/../lib64" \
		-o "$logs/$p" "$p.cu" >"$logs/$p.nvcc" 2>&1 </dev/null &
done
wait
one() {
	local st=0
	timeout -k 2 $((all - SECONDS > 20 ? 20 : all - SECONDS > 2 ? all - SECONDS : 2)) "$logs/$1" >"$logs/$1.log" 2>&1 </dev/null || st=$?
	echo "$st" >"$logs/$1.status"
}
for p; do
	rm -f "$logs/$p.status"
	[ "$p" != tile ] && [ -x "$logs/$p" ] || continue
	many 4
	one "$p" &
done
wait
for p; do
	if [ ! -x "$logs/$p" ]; then
		bad=1
		echo "FAIL gpu/programs/$p is not compiled: $(grep -m1 "error" "$logs/$p.nvcc" | cut -c 1-200)"
	elif [ "$p" = tile ]; then
		echo "skip gpu/programs/$p of a newer architecture; compiled"
	else
		st=$(cat "$logs/$p.status")
		[ "$st" = 0 ] || bad=1
		echo "$([ "$st" = 0 ] && echo ok || echo FAIL) gpu/programs/$p exit $st, $(grep -c '^ok' "$logs/$p.log") ok: $(grep -v '^ok' "$logs/$p.log" | head -n 6 | tr '\n' ';' | cut -c 1-600)"
	fi
done
echo "programs: $SECONDS s"
exit $bad
