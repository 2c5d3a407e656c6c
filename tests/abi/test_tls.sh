#!/bin/bash
# SPDX-License-Identifier: MIT
# State of threads in our libraries (libcuda-lite/core/tls.h): each library is loaded by dlopen and called from three threads,
#   - by a static program, whose glibc can give TLS to libraries in its own static block only;
#   - by a dynamic program after 30 libraries with TLS, of the general and the initial-exec model, that leave no room there.
# And what they take of the 512 bytes that glibc gives descriptors.
#   tests/abi/test_tls.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=$(cd "${1:-build}" && pwd) || exit
CC=${CC:-gcc}
bad=0
fail() { echo "$*"; bad=1; }
[ -e "$B/lib/libcuda.so.1" ] || { echo "no $B/lib/libcuda.so.1: build first"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

libs=$(cd "$B/lib" && echo libcuda.so.1 libcudart.so.1[23] libcublas.so.1[23] libcublasLt.so.1[23] libnvidia-ml.so.1 libnccl.so.2 libnvToolsExt.so.1)
total=0
for l in $libs; do
	readelf -rW "$B/lib/$l" | grep -E 'DTPMOD|DTPOFF|TPOFF|__tls_get_addr' && fail "$l has TLS of another model"
	case $l in *.12) continue ;; esac       # of two majors a program has one
	size=$(readelf -lW "$B/lib/$l" | awk '$1 == "TLS" {print $6}')
	total=$((total + ${size:-0}))
done
# 512 is all that glibc gives; what is left is for what comes
[ $total -le 320 ] || fail "our libraries take $total bytes of TLS"

$CC -std=gnu11 -O1 -Wall -Wextra -Werror -o "$tmp/dynamic" tests/abi/tls.c -ldl -lpthread || exit 1
$CC -std=gnu11 -O1 -w -static -o "$tmp/static" tests/abi/tls.c -ldl -lpthread 2>"$tmp/log" || { cat "$tmp/log"; exit 1; }
others=()
for i in $(seq 30); do
	model=initial-exec
	[ $((i % 3)) = 0 ] && model=global-dynamic
	$CC -shared -fPIC -ftls-model=$model -DSIZE=$((8 * i)) -xc -o "$tmp/other$i.so" - <<-END || exit 1
		static __thread char room[SIZE];
		char *other(int i) { return room + i; }
	END
	others+=("$tmp/other$i.so")
done

cat >"$tmp/all.sh" <<'END'
tmp=$1 bad=0
shift
libs=$1
shift
for l in $libs; do
	"$tmp/static" "$l" || { echo "static program, $l: status $?"; bad=1; }
	"$tmp/dynamic" "$l" "$@" || { echo "dynamic program, $l: status $?"; bad=1; }
done
exit $bad
END
LD_LIBRARY_PATH=$B/lib timeout 100 "$B/bin/vgpu" run --private -- bash "$tmp/all.sh" "$tmp" "$libs" "${others[@]}" || bad=1
# the others did fill it up: else the second program shows nothing
cat >"$tmp/full.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	while (--argc)
		if (!dlopen(argv[argc], RTLD_NOW))
			return 0;
	return 1;
}
END
$CC -o "$tmp/full" "$tmp/full.c" -ldl && "$tmp/full" "${others[@]}" || fail "the other libraries leave room"
echo "$total bytes of TLS in all"
exit $bad
