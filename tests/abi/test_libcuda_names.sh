#!/bin/sh
# SPDX-License-Identifier: MIT
# libcuda.so.1 exports exactly the names of libcuda.txt, unversioned, is loadable alone, and its entry-point
# table (exports.def) has a row for each.
#   tests/abi/test_libcuda_names.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
so=$B/lib/libcuda.so.1
[ -e "$so" ] || { echo "no $so: build first"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

# vgpuTraceShared is between our libraries, and no call
sort tests/abi/libcuda.txt >"$tmp/want"
nm -D --defined-only --with-symbol-versions "$so" | awk '$3 != "vgpuTraceShared" {print $3}' | sort >"$tmp/have"
diff "$tmp/want" "$tmp/have" >"$tmp/diff" || { fail "names (< wanted, > exported):"; head -20 "$tmp/diff"; }
sed -n 's/^VG_\(YES\|NO\)(\([A-Za-z0-9_]*\),.*/\2/p' libcuda-lite/driver/exports.def | sort >"$tmp/rows"
diff "$tmp/want" "$tmp/rows" >"$tmp/diff" || { fail "rows of exports.def (< wanted, > there):"; head -20 "$tmp/diff"; }
[ "$(readelf -d "$so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = libcuda.so.1 ] || fail "SONAME"

${CC:-cc} -std=gnu11 -O1 -o "$tmp/names" tests/abi/libcuda_names.c -ldl || exit 1
# of names that are newer than the version that the driver says of itself, there is no entry point to ask for yet
sed -n 's/^VG_\(YES\|NO\)(\([A-Za-z0-9_]*\), [A-Za-z0-9_]*, \([0-9]*\),.*/\3 \2/p' libcuda-lite/driver/exports.def | awk '$1 <= 13010 {print $2}' >"$tmp/old"
[ "$(wc -l <"$tmp/old")" -gt 650 ] || fail "names of 13.1: $(wc -l <"$tmp/old")"
env -u VGPU_AGENT "$tmp/names" "$(realpath "$so")" <"$tmp/old" 2>"$tmp/err" || fail "libcuda_names failed"
# A call that is not supported names itself once.
[ "$(grep -c 'cuCheckpointProcessLock is not supported' "$tmp/err")" = 1 ] || fail "cuCheckpointProcessLock did not name itself"
exit $bad
