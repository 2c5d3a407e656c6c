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
for p in driver runtime nvml cublas nvrtc; do
	[ -x "$B/test/probe/$p" ] || { echo "no $B/test/probe/$p: make test-bins first"; exit 77; }
done
# shellcheck disable=SC2016
"$B/bin/vgpu" run --private --cc 9.0 -- sh -c 'for p in driver runtime nvml cublas; do
	LD_LIBRARY_PATH=$1/lib "$1/test/probe/$p" -j 2 -p 20 -t 100 >"$2/$p" 2>"$2/$p.err" || echo "$p: exit $?"
done
for g in link_options link_inputs; do LD_LIBRARY_PATH=$1/lib "$1/test/probe/nvrtc" -p 20 $g; done >"$2/nvrtc_link" 2>"$2/nvrtc_link.err"
! command -v clang >/dev/null || VGPU_NVRTC=clang LD_LIBRARY_PATH=$1/lib "$1/test/probe/nvrtc" -p 20 rtc_life >"$2/nvrtc_life" 2>"$2/nvrtc_life.err"' sh "$B" "$tmp"
for p in driver runtime nvml cublas nvrtc_link nvrtc_life; do
	[ -e "$tmp/$p" ] || continue
	tests/abi/probe/compare.py -x "$tmp/$p" tests/abi/probe/expect/"$p"*.txt >"$tmp/said" || { bad=1; tail -n 3 "$tmp/$p.err"; }
	sed "s/^/$p: /" "$tmp/said"
done
exit $bad
