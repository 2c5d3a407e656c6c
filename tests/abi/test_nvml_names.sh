#!/bin/sh
# SPDX-License-Identifier: MIT
# libnvidia-ml.so.1 exports exactly the names of nvml.txt under its SONAME's version; without an agent nvmlInit says so.
#   tests/abi/test_nvml_names.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
so=$B/lib/libnvidia-ml.so.1
[ -e "$so" ] || { echo "no $so: build first"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

nm -D --defined-only --with-symbol-versions "$so" | awk '$2 == "T" {print $3}' | LC_ALL=C sort >"$tmp/have"
sed 's/$/@@libnvidia-ml.so.1/' tests/abi/nvml.txt | LC_ALL=C sort >"$tmp/want"
diff "$tmp/want" "$tmp/have" >"$tmp/diff" || { fail "names (< wanted, > exported):"; head -20 "$tmp/diff"; }
[ "$(readelf -d "$so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = libnvidia-ml.so.1 ] || fail "SONAME"

# what Ollama and NCCL look up has a body
for f in Init_v2 Shutdown ErrorString DeviceGetHandleByUUID DeviceGetMemoryInfo DeviceGetName SystemGetDriverVersion DeviceGetCount_v2 \
	DeviceGetHandleByPciBusId_v2 DeviceGetHandleByIndex_v2 DeviceGetIndex DeviceGetCudaComputeCapability; do
	grep -qx "nvml$f" tests/abi/nvml.txt || fail "nvml$f is missing"
	grep -q "(nvml$f)" libcuda-lite/nvml/unsupported.def && fail "nvml$f has no body"
done

cat >"$tmp/call.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *l = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	int (*init)(void) = l ? (int (*)(void))dlsym(l, "nvmlInit_v2") : 0;

	if (!init || init() != 9)       /* DRIVER_NOT_LOADED */
		return 1;
	return 0;
}
C
${CC:-cc} -o "$tmp/call" "$tmp/call.c" -ldl || exit 1
VGPU_AGENT=$tmp/nobody "$tmp/call" "$(realpath "$so")" || fail "nvmlInit_v2 without an agent is not DRIVER_NOT_LOADED"
[ $bad = 0 ] && echo "$(wc -l <"$tmp/want") names"
exit $bad
