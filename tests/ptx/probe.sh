#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The probes (probe/*.ptx) on the interpreter, on the JIT and on strips: the same words of all. Not asked of: what the text leaves open, and the
# engine with it.
#   probe.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit
run=$1/test/ptx/plain/ptxrun
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# the turn of a branch's sides, by strips; a clock's lowest bits; which lane's store stays
open='converge\.ptx sides |registers\.ptx all o_all\[32\]|winner\.ptx stores '
words() { # ISA MODE
	VGPU_CPU_ISA=$1 "$run" -m "$2" -t 3 tests/ptx/probe/*.ptx 2>&1 | grep -Ev "$open"
}
words avx512 interp >"$work/interp"
grep -c . "$work/interp" | sed 's/$/ lines of findings/'
st=0
for e in "avx512 jit" "avx2 jit"; do
	# shellcheck disable=SC2086
	words $e >"$work/now"
	cmp -s "$work/interp" "$work/now" && continue
	echo "FAIL ${e% *}: other findings than the interpreter's"
	diff "$work/interp" "$work/now" | head -n 10
	st=1
done
[ "$(wc -l <"$work/interp")" -gt 1000 ] || { echo "FAIL few findings"; st=1; }
exit $st
