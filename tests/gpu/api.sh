#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What NVIDIA's own libraries answer to the probes of tests/abi/probe, and to the end-to-end programs. For a machine with a driver and
# the built tree (make test-bins); no root. The runtime's probe is compiled by that machine's nvcc, cuBLAS's needs its libcublas.so.13.
#
#   api.sh BUILD [LIBCUDA]      LIBCUDA: the driver's libcuda.so.1, where ldconfig does not know it; LIBCUDART, LIBCUBLAS: those libraries
#
# Writes BUILD/gpu/api/{driver,runtime,nvml,cublas}.txt (stderr beside them as .err) and BUILD/gpu/api/e2e/FLAVOUR-NAME.log, each as it goes.
# compare.py says later where ours differ. All of it is done in a minute.
set -u
[ $# -ge 1 ] || { sed -n 's/^#   \(api.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
# shellcheck source=tests/gpu/driver.sh
. "$here/driver.sh"
find_driver gpu/api "${2:-}" "api.sh BUILD LIBCUDA"
out=$B/gpu/api bad=0 jobs=$(nproc)
mkdir -p "$out/e2e" "$out/lib"
cd "$here/../.." || exit 2

# libraries by links in one folder, so that nothing else of their folders is taken
link() { [ -n "$2" ] && ln -sf "$2" "$out/lib/$1"; }
link libcuda.so.1 "$(readlink -f "$lib")"
ml=$(dirname "$lib")/libnvidia-ml.so.1
[ -e "$ml" ] || ml=$(found libnvidia-ml.so.1)
link libnvidia-ml.so.1 "$(readlink -f "$ml")"
rt=$(found libcudart.so.13 ${LIBCUDART:+"$LIBCUDART"})
link libcudart.so.13 "$rt"
blas=$(found libcublas.so.13 ${LIBCUBLAS:+"$LIBCUBLAS"})
link libcublas.so.13 "$blas"
[ -z "$blas" ] || link libcublasLt.so.13 "$(dirname "$blas")/libcublasLt.so.13"
export LD_LIBRARY_PATH=$out/lib:$(dirname "$lib")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# probe NAME PROGRAM [SECONDS]
probe() {
	local begin=$SECONDS st
	timeout -k 2 $((${3:-14} + 4)) "$2" -j "$jobs" -t "${3:-14}" >"$out/$1.txt" 2>"$out/$1.err" </dev/null
	st=$?
	[ $st = 0 ] || bad=1
	echo "$([ $st = 0 ] && echo ok || echo FAIL) gpu/api/$1 $((SECONDS - begin)) s, exit $st, $(wc -l <"$out/$1.txt") lines, $(grep -c -- '-> signal\|-> exit' "$out/$1.txt") calls died"
}

# One process keeps the device in use, so that no other waits for it to come up
python3 -c 'import ctypes, time
c = ctypes.CDLL("libcuda.so.1")
print(c.cuInit(0), c.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0))
time.sleep(90)' >"$out/hold.log" 2>&1 &
hold=$!
trap 'kill $hold 2>/dev/null' EXIT

compiling=''
nvcc=$(command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; })
if [ -n "$nvcc" ] && [ -n "$rt" ]; then
	timeout 30 "$nvcc" -arch=sm_90 -cudart shared -Itests/abi/probe -o "$out/runtime" tests/abi/probe/runtime.cu -ldl >"$out/nvcc.log" 2>&1 &
	compiling=$!
else
	echo "skip gpu/api/runtime: nvcc \"$nvcc\", libcudart.so.13 \"$rt\""
fi
probe driver "$B/test/probe/driver" 22
[ -z "$compiling" ] || wait "$compiling"
[ ! -x "$out/runtime" ] || probe runtime "$out/runtime"
probe nvml "$B/test/probe/nvml"
if [ -n "$blas" ]; then probe cublas "$B/test/probe/cublas"; else echo "skip gpu/api/cublas: no libcublas.so.13"; fi

# What our end-to-end programs want and this driver does not do; several at once, so none may count the device's memory
export E2E_SHARED=1
one() {
	local name=$1 log=$out/e2e/${1//\//-}.log st
	shift
	timeout -k 2 "${API_E2E_TIMEOUT:-20}" "$B/e2e/$name" "$@" 2>&1 </dev/null | tail -n 12 >"$log"
	st=${PIPESTATUS[0]}
	echo "$([ "$st" = 0 ] && echo ok || { [ "$st" = 77 ] && echo skip || echo FAIL; }) e2e/$name exit $st: $(tail -n 1 "$log" | cut -c 1-200)" | tee -a "$log"
}
flavours='driver'
[ -z "$rt" ] || flavours="$flavours rt13"
for flavour in $flavours; do
	while read -r name list _ args; do
		case $name in ''|'#'*) continue ;; esac
		case ,$list, in *,$flavour,*) ;; *) continue ;; esac
		[ -x "$B/e2e/$flavour/$name" ] || continue
		while [ "$(jobs -rp | wc -l)" -ge 9 ]; do wait -n; done
		# shellcheck disable=SC2086
		one "$flavour/$name" $args &
	done <tests/e2e/programs.txt
done >"$out/e2e.txt"
kill $hold 2>/dev/null
wait
grep -v '^ok' "$out/e2e.txt"
echo "$(grep -c '^ok' "$out/e2e.txt") of $(wc -l <"$out/e2e.txt") end-to-end programs pass"
exit $bad
