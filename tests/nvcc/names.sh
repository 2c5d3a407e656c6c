#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every name of NVIDIA's newest headers and of its libcudart is in ours, and cuGetProcAddress's table has the versions of
# cudaTypedefs.h. These are newer than the nvcc of the other tests: a program is linked against all that its own has.
#   names.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit
B=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
new=$B/nvcc-newest
if [ ! -e "$new/done-13.5.37" ]; then
	rm -rf "$new"
	timeout 300 python3 -m pip download -q --disable-pip-version-check --retries 1 --timeout 30 --no-deps --only-binary :all: -d "$new" \
		nvidia-cuda-runtime==13.5.37 >"$tmp/pip" 2>&1 && python3 -m zipfile -e "$new"/*.whl "$new" && rm -f "$new"/*.whl && touch "$new/done-13.5.37" ||
		{ echo "skip names: pip cannot fetch NVIDIA's headers: $(grep -v '^WARNING' "$tmp/pip" | tail -n 1)"; exit 0; }
fi
inc=$new/nvidia/cu13/include
bad=0
judge() { # NAME FILE: nothing may be in it
	if [ -s "$2" ]; then
		echo "FAIL $1: $(head -n 5 "$2" | tr '\n' ' ')"
		bad=1
	else
		echo "ok $1"
	fi
}
exported() { nm -D --defined-only "$1" | awk '{sub(/@.*/, "", $3); print $3}' | LC_ALL=C sort -u; }

exported "$B/lib/libcuda.so.1" >"$tmp/libcuda"
exported "$B/lib/libcudart.so.13" >"$tmp/libcudart"
# what is declared; comments and the macros that name twins are left out
g++ -fpreprocessed -dD -E -P "$inc/cuda.h" 2>/dev/null | grep -v '^#' | grep -oE '\bcu[A-Z][A-Za-z0-9_]*\(' | tr -d '(' | LC_ALL=C sort -u >"$tmp/names"
LC_ALL=C comm -23 "$tmp/names" "$tmp/libcuda" >"$tmp/missing"
judge "names of cuda.h" "$tmp/missing"
exported "$new/nvidia/cu13/lib/libcudart.so.13" | grep '^_*cuda' >"$tmp/names"
LC_ALL=C comm -23 "$tmp/names" "$tmp/libcudart" >"$tmp/missing"
judge "names of libcudart.so.13" "$tmp/missing"

# PFN_NAME_vVERSION[_ptsz]: the versions from which a request gets another signature
cat "$inc"/cuda*Typedefs.h | sed -nE 's/.*CUDAAPI \*PFN_(cu[A-Za-z0-9]+)_v([0-9]+)(_pt[sd][sz])?\).*/\1 \2 \3/p' | grep -v '^cuWGL' |
	awk '{ print $1, $2, $3 == "" ? 0 : 1 }' | LC_ALL=C sort -u >"$tmp/theirs"
sed -nE 's/^VG_(YES|NO)\([A-Za-z0-9_]+, ([A-Za-z0-9]+), ([0-9]+), ([01])\)/\2 \3 \4/p' libcuda-lite/driver/exports.def | grep -v '^vgpu' | LC_ALL=C sort -u >"$tmp/ours"
LC_ALL=C comm -3 "$tmp/theirs" "$tmp/ours" >"$tmp/differ"
judge "versions of entry points" "$tmp/differ"
exit $bad
