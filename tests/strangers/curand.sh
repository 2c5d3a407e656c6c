#!/bin/bash
# SPDX-License-Identifier: MIT
# NVIDIA's own libcurand of CUDA 13 (PyPI), unmodified, on the device: against its generators on the host.
#   tests/strangers/curand.sh BUILD [CC...]       default: 7.5, 8.0 and 12.0
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip curand: 60 MB: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/curand.sh BUILD 8.0"; exit 0; }
out=$B/strangers/curand
want=nvidia-curand==10.4.5.25
mkdir -p "$out"
if [ "$(cat "$out/have" 2>/dev/null)" != $want ]; then
	rm -rf "$out"/nvidia*
	timeout 600 python3 -m pip -q --disable-pip-version-check download --no-deps --only-binary :all: -d "$out" $want >"$out/log" 2>&1 &&
		python3 -m zipfile -e "$out"/nvidia_curand*.whl "$out" || { echo "skip curand: $want cannot be had: $(tail -n 1 "$out/log")"; exit 0; }
	rm "$out"/*.whl
	echo $want >"$out/have"
fi
nv=$out/nvidia/cu13
if ! why=$(tools/toolkit/fetch.sh "$B/nvcc"); then     # the headers of CUDA, which curand.h takes in
	echo "skip curand: $(tail -n 1 <<<"$why")"
	exit 0
fi
cc -std=gnu11 -O1 -Wall -Wextra -Wno-unused-parameter -I"$nv/include" -isystem "$B/nvcc/include" -o "$out/curand" tests/strangers/curand.c \
	-L"$nv/lib" -l:libcurand.so.10 "$B/lib/libcudart.so.13" -Wl,-rpath-link,"$B/lib" -lm || { echo "FAIL curand does not compile"; exit 1; }
bad=0
one() { # NAME CC COUNT [VARIABLE=VALUE]
	local name=$1 cc=$2 count=$3 said
	shift 3
	said=$(env LD_LIBRARY_PATH="$nv/lib" "$@" timeout 900 "$B/bin/vgpu" run --private --cc "$cc" -- "$out/curand" "$count" 2>"$out/err") || bad=1
	sed -En "s#^(ok|FAIL) #\1 $name/#p" <<<"$said"
	[ "$(grep -c '^ok' <<<"$said")" = 93 ] && return
	grep -q '^FAIL' <<<"$said" || echo "FAIL $name: $(tail -n 1 "$out/err")"
	bad=1
}
for cc in "${@:-7.5 8.0 12.0}"; do
	for cc in $cc; do
		one "$cc" "$cc" 20000
	done
done
one avx2 8.0 5000 VGPU_CPU_ISA=avx2
one interp 8.0 1000 VGPU_ENGINE=interp
exit $bad
