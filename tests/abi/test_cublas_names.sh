#!/bin/sh
# SPDX-License-Identifier: MIT
# libcublas and libcublasLt export exactly the names of cublas.txt and cublasLt.txt under the version node that
# programs bind to; what ggml imports is among them, and a name that is not supported says so once.
#   tests/abi/test_cublas_names.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

for l in cublas cublasLt; do
	for v in 11 12 13; do
		so=$B/lib/lib$l.so.$v
		[ -e "$so" ] || { echo "no $so: build first"; exit 77; }
		nm -D --defined-only --with-symbol-versions "$so" | awk '$2 == "T" {print $3}' | LC_ALL=C sort >"$tmp/have"
		sed "s/\$/@@lib$l.so.$v/" "tests/abi/$l.txt" | LC_ALL=C sort >"$tmp/want"
		diff "$tmp/want" "$tmp/have" >"$tmp/diff" || { fail "$so (< wanted, > exported):"; head -20 "$tmp/diff"; }
		[ "$(readelf -d "$so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = "lib$l.so.$v" ] || fail "$so: SONAME"
		echo "lib$l.so.$v: $(wc -l <"$tmp/want") names"
	done
done

# what ggml-cuda imports has a body
for f in Create_v2 Destroy_v2 GemmBatchedEx GemmEx GemmStridedBatchedEx GetStatusString SetMathMode SetStream_v2 SetWorkspace_v2 \
	SgemmBatched SgemmStridedBatched Sgemm_v2 StrsmBatched; do
	grep -qx "cublas$f" tests/abi/cublas.txt || fail "cublas$f is missing"
	grep -q "(cublas$f)" libcuda-lite/blas/unsupported.def && fail "cublas$f has no body"
done

cat >"$tmp/call.c" <<'C'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	int (*f)(void) = (int (*)(void))dlsym(dlopen(argv[1], RTLD_NOW), argv[2]);

	return argc == 3 && f && f() == 15 && f() == 15 ? 0 : 1;
}
C
${CC:-cc} -o "$tmp/call" "$tmp/call.c" -ldl || exit 1
# 11's hand on to 12's, and answer with a version of their own
cat >"$tmp/eleven.c" <<'C'
#include <stddef.h>
int cublasGetVersion_v2(void *handle, int *version);
int cublasGetProperty(int type, int *value);
size_t cublasLtGetVersion(void);
int cublasLtGetProperty(int type, int *value);
int cublasUint8gemmBias(void);
int main(void)
{
	int v = 0, major = 0, lt = 0;

	return cublasGetVersion_v2(NULL, &v) || v / 10000 != 11 || cublasGetProperty(0, &major) || major != 11 || cublasGetProperty(3, &major) != 7 ||
		cublasLtGetVersion() / 10000 != 11 || cublasLtGetProperty(0, &lt) || lt != 11 || cublasUint8gemmBias() != 15;
}
C
${CC:-cc} -o "$tmp/eleven" "$tmp/eleven.c" "$B/lib/libcublas.so.11" "$B/lib/libcublasLt.so.11" -Wl,-rpath-link,"$B/lib" 2>"$tmp/ld" || exit 1   # ld sees both majors, and says so
LD_LIBRARY_PATH=$B/lib "$tmp/eleven" 2>/dev/null || fail "libcublas.so.11 or libcublasLt.so.11 does not say that it is 11"
for pair in cublas:cublasUint8gemmBias cublasLt:cublasLtMatrixTransform; do
	LD_LIBRARY_PATH=$B/lib "$tmp/call" "$(realpath "$B/lib/lib${pair%:*}.so.12")" "${pair#*:}" 2>"$tmp/err" ||
		fail "${pair#*:} did not answer CUBLAS_STATUS_NOT_SUPPORTED"
	[ "$(grep -c "${pair#*:} is not supported" "$tmp/err")" = 1 ] || fail "${pair#*:} did not name itself once"
done
exit $bad
