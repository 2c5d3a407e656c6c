#!/bin/sh
# SPDX-License-Identifier: MIT
# What our libraries answer to the probes, where the documentation is explicit (probe/expect), on a device of compute capability 9.0.
#   tests/abi/test_probe.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
bad=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for p in driver runtime nvml cublas; do
	[ -x "$B/test/probe/$p" ] || { echo "no $B/test/probe/$p: make test-bins first"; exit 77; }
done
# shellcheck disable=SC2016
"$B/bin/vgpu" run --private --cc 9.0 -- sh -c 'for p in driver runtime nvml cublas; do
	LD_LIBRARY_PATH=$1/lib "$1/test/probe/$p" -j 2 -p 20 -t 100 >"$2/$p" 2>"$2/$p.err" || echo "$p: exit $?"
done' sh "$B" "$tmp"
for p in driver runtime nvml cublas; do
	tests/abi/probe/compare.py -x "$tmp/$p" tests/abi/probe/expect/"$p"*.txt >"$tmp/said" || { bad=1; tail -n 3 "$tmp/$p.err"; }
	sed "s/^/$p: /" "$tmp/said"
done
exit $bad
