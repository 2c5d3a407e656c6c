#!/bin/sh
# SPDX-License-Identifier: MIT
# Every name of cudart11.txt, cudart12.txt, cudart13.txt is exported by our libcudart under the version node that
# programs bind to, and nothing else is exported.
#   tests/abi/test_cudart_names.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

for v in 11.0 12 13; do
	so=$B/lib/libcudart.so.$v
	[ -e "$so" ] || { echo "no $so: build first"; exit 77; }
	# "name@@node" for the default version, as dynamic linkers resolve it
	nm -D --defined-only --with-symbol-versions "$so" | awk '$2 == "T" || $2 == "W" {print $3}' | sort >"$tmp/have"
	sed "s/\$/@@libcudart.so.$v/" "tests/abi/cudart${v%.0}.txt" | sort >"$tmp/want"
	comm -13 "$tmp/have" "$tmp/want" >"$tmp/missing"
	[ -s "$tmp/missing" ] && fail "$so lacks:" && cat "$tmp/missing"
	grep -vE "^_*cuda[A-Za-z0-9_]*@@libcudart\.so\.$v\$" "$tmp/have" >"$tmp/stray" &&
		fail "$so exports what is no name of CUDA's:" && cat "$tmp/stray"
	soname=$(readelf -d "$so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
	[ "$soname" = "libcudart.so.$v" ] || fail "$so: SONAME is '$soname'"
	[ $bad = 0 ] && echo "libcudart.so.$v: $(wc -l <"$tmp/want") names"
done
exit $bad
