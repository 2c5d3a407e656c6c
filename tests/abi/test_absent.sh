#!/bin/sh
# SPDX-License-Identifier: MIT
# libcufft, libcusparse and libcusolver, which have names alone: exactly those of libcuda-lite/absent under their version's node; each answers its
# library's NOT_SUPPORTED and says so once.
#   tests/abi/test_absent.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

cat >"$tmp/call.c" <<'C'
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *l = dlopen(argv[1], RTLD_NOW);
	int wanted = atoi(argv[2]), (*f)(void);

	for (int i = 3; i < argc; i++) {
		f = (int (*)(void))dlsym(l, argv[i]);
		if (!f || f() != wanted || f() != wanted)
			return 1;
	}
	return argc > 3 ? 0 : 1;
}
C
${CC:-cc} -o "$tmp/call" "$tmp/call.c" -ldl || exit 1
# the statuses' numbers as NVIDIA's headers have them: CUFFT_, CUSPARSE_STATUS_, CUSOLVER_STATUS_NOT_SUPPORTED
for l in cufft:11:16:cufftPlan1d cufft:12:16:cufftPlan1d cusparse:12:10:cusparseCreate cusolver:11:9:cusolverDnCreate cusolver:12:9:cusolverDnCreate; do
	IFS=: read -r name v status one <<X
$l
X
	so=$B/lib/vgpu/xla/lib$name.so.$v
	[ -e "$so" ] || { echo "no $so: build first"; exit 77; }
	nm -D --defined-only --with-symbol-versions "$so" | awk '$2 == "T" {print $3}' | LC_ALL=C sort >"$tmp/have"
	grep -o 'N([A-Za-z0-9_]*)' "libcuda-lite/absent/$name.def" | sed "s/N(\(.*\))/$name\1@@lib$name.so.$v/" | LC_ALL=C sort >"$tmp/want"
	# T: what tells of a status; it has an answer of its own
	grep -o '\<T([A-Za-z0-9_]*)' "libcuda-lite/absent/$name.def" | sed "s/T(\(.*\))/$name\1@@lib$name.so.$v/" | LC_ALL=C sort - "$tmp/want" >"$tmp/all"
	diff "$tmp/all" "$tmp/have" >"$tmp/diff" || { fail "$so (< wanted, > exported):"; head -20 "$tmp/diff"; }
	grep -q "^$one@" "$tmp/want" || fail "$one is missing"
	[ "$(readelf -d "$so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = "lib$name.so.$v" ] || fail "$so: SONAME"
	# shellcheck disable=SC2046
	"$tmp/call" "$(realpath "$so")" "$status" $(sed 's/@.*//' "$tmp/want") 2>"$tmp/err" || fail "$name: a call did not answer $status"
	[ "$(sort -u "$tmp/err" | wc -l)" = "$(wc -l <"$tmp/want")" ] || fail "$name: not every call said its name once"
	[ "$(wc -l <"$tmp/err")" = "$(wc -l <"$tmp/want")" ] || fail "$name: said more than once"
	echo "lib$name.so.$v: $(wc -l <"$tmp/want") names"
done
exit $bad
