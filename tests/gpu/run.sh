#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Engine cuda on a GPU: what runs natively runs on VGPU-STUB as well, and what it costs. For a machine with an NVIDIA driver and the built
# tree (make all test-bins); no CUDA toolkit, no root. Not part of make test: it measures.
#
#   run.sh [-qfp] [-d N] [-b LIBCUBLAS] [-l LLM] [-t S] BUILD [LIBCUDA]     LIBCUDA: the driver's libcuda.so.1, where ldconfig does not know it
#                                          -d: which GPU; -q: whether all of it works, and no figures
#                                          -f: the figures alone, two minutes at most: ours and the driver's, single calls, llama.cpp
#                                          -p: the programs alone
#                                          -l: a folder with llm, mkgguf and llama.cpp's lib (BUILD/llm)
#                                          -b: the host's libcublas.so.13, for products here and natively
#                                          -t: seconds that each program may take (60); the figures come first, llama.cpp behind them
#
# Each program runs on the driver first; what fails there says nothing about us and is skipped. The logs stay in BUILD/gpu.
set -u
quick='' number=0 blas='' most=60 figures=1 programs=1 L=''
while getopts qfpd:b:l:t: o; do
	case $o in
	q) quick=-q ;; f) programs='' ;; p) figures='' ;; d) number=$OPTARG ;; b) blas=$OPTARG ;; l) L=$OPTARG ;; t) most=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n 's/^#   \(run.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
B=$(cd "$1" && pwd)
# shellcheck source=tests/gpu/driver.sh
. "$(dirname "$0")/driver.sh"
find_driver gpu "${2:-}" "run.sh BUILD LIBCUDA"
L=${L:-$B/llm}
[ -z "$quick" ] || figures=''
few=$([ -n "$figures" ] || echo -q)     # with no figures wanted the program that measures is the first one that runs
limit=$((most < 15 ? most : 15))
[ -x "$B/test/gpu/figures" ] || { echo "FAIL gpu $B/test/gpu/figures is not built: make test-bins" >&2; exit 2; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-gpu-XXXXXX")
logs=$B/gpu
mkdir -p "$logs"
bad=0
trap cleanup EXIT
say() { if [ "$1" = 0 ]; then echo "ok gpu/$2"; else bad=1; echo "FAIL gpu/$2 ${3:-}"; fi; }
# native COMMAND...: the same binary on the driver itself; CUDA numbers devices as we do where it is told to
native() {
	if [ -n "${VGPU_HOST_AGENT:-}" ]; then
		VGPU_AGENT=$VGPU_HOST_AGENT LD_LIBRARY_PATH=$(dirname "$lib"):$B/lib "$@"
	else
		env -u VGPU_AGENT CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-$number}" LD_LIBRARY_PATH="$(dirname "$lib"):$B/lib" "$@"
	fi
}
ours() { VGPU_AGENT=$dir/agent LD_LIBRARY_PATH=$B/lib "$@"; }
# what a log says that helps the next one
trouble() {
	tail -n 15 "$logs/stub.log" "$logs/agent.log" 2>/dev/null
	if grep -q "sandbox forbids" "$logs/stub.log"; then
		echo "The driver made a system call that the context's sandbox does not know (tools/vgpu-stub/ctx_sandbox.c, build_driver). Its number:"
		dmesg 2>/dev/null | grep "type=1326" | tail -n 3 | grep -o "syscall=[0-9]*" || echo "(dmesg or the audit log, as root: type=1326 ... syscall=N)"
	fi
}

echo "driver: $lib"
native timeout -k 2 "$limit" "$B/test/gpu/figures" $few >"$dir/native" 2>"$logs/native.log" || {
	echo "skip gpu the driver does not work here: $(grep error "$dir/native" || tail -n 1 "$logs/native.log")"
	exit 77
}
head -1 "$dir/native"

start_gpu $((programs ? 120 : 20)) || { say 1 "the $failed starts"; trouble; exit 1; }
grep -h "walls around\|no wall" "$logs/stub.log"
ours "$B/bin/vgpu" smi
ours timeout -k 2 "$limit" "$B/test/gpu/figures" $few >"$dir/ours" 2>"$logs/ours.log" || {
	say 1 "first programs" "$(grep error "$dir/ours"; tail -n 2 "$logs/ours.log")"
	trouble
}
[ "$(head -1 "$dir/native")" = "$(head -1 "$dir/ours")" ]; say $? "the same device" "$(head -1 "$dir/ours")"

# figures: ours against the driver's, and what is aimed at
[ -z "$figures" ] || python3 - "$dir/native" "$dir/ours" <<'P'
import sys
def read(f):
    return {w[0]: (float(w[1]), w[2]) for w in (l.split() for l in open(f)) if len(w) == 3 and w[0] not in ("device", "error")}
a, b = read(sys.argv[1]), read(sys.argv[2])
print("%-18s %12s %12s  %s" % ("", "native", "VGPU-STUB", "aim"))
for k, (x, unit) in a.items():
    y = b.get(k, (float("nan"),))[0]
    aim = ok = ""
    if unit == "GB/s":
        aim, ok = ">= 0.95 of native", y >= 0.95 * x
    elif k == "launch-and-sync":
        aim, ok = "<= native + 3 us", y <= x + 3
    elif k in ("launch", "launch-in-a-row"):
        aim, ok = "<= native + 0.3 us", y <= x + 0.3
    else:
        aim, ok = "<= native + 3 us", y <= x + 3
    print("%-18s %9.3f %-4s %7.3f %-4s  %s: %s" % (k, x, unit, y, unit, aim, "reached" if ok else "missed"))
P
# what single calls cost: of the driver to choose by, of ours to find what costs
if [ -n "$figures" ] && [ -x "$B/test/gpu/costs" ]; then
	native timeout -k 2 17 "$B/test/gpu/costs" -s 15 >"$logs/costs-native" 2>"$logs/costs-native.log"
	ours timeout -k 2 17 "$B/test/gpu/costs" -s 15 >"$logs/costs-ours" 2>"$logs/costs-ours.log"
	python3 - "$logs/costs-native" "$logs/costs-ours" <<'P'
import sys
a, b = ({w[0]: w[1:] for w in (l.split() for l in open(f, errors="replace")) if len(w) == 3} for f in sys.argv[1:])
print("%-44s %12s %12s" % ("", "native", "VGPU-STUB"))
for k in list(a) + [k for k in b if k not in a]:
    x = a.get(k) or b[k]
    print("%-44s %12s %12s %s" % (k, a.get(k, ["-"])[0], b.get(k, ["-"])[0], x[1]))
P
	tail -n 3 "$logs/costs-native.log" "$logs/costs-ours.log"
fi
# llama.cpp, where it has been fetched (tests/llm/build.sh BUILD) or brought along (-l). Natively it has the toolkit's libraries
if [ -n "$figures" ] && [ -x "$L/llm" ]; then
	toolkit=''
	for d in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib $(python3 -c 'import glob, sys; print(*(g for p in sys.path for g in glob.glob(p + "/nvidia/cu13/lib")))'); do
		[ -e "$d/libcublas.so.13" ] && [ -e "$d/libcudart.so.13" ] && toolkit=$d && break
	done
	[ -z "${VGPU_HOST_AGENT:-}" ] || toolkit=''
	"$L/mkgguf" -o "$dir/model.gguf" -t q8_0 -e 768 -l 14 -H 12 -k 4 -f 2048 -v 8192
	for who in native ours; do
		echo "llama.cpp, $who${toolkit:+, natively with $toolkit}:"
		path=$L/lib:$([ $who = native ] && echo "$(dirname "$lib"):${toolkit:+$toolkit:}")$B/lib
		$who env LD_LIBRARY_PATH="$path" timeout -k 2 25 "$L/llm" "$L/lib" speed -p 256 -n 128 -r 5 "$dir/model.gguf" 2>"$logs/llm-$who.log" ||
			echo "(ended with $?: $(tail -n 3 "$logs/llm-$who.log"))"
	done
fi
# cuBLAS here is ours, in front of the engine's kernels or of the host's cuBLAS
for p in blas12/blas blas13/blas; do
	[ -z "$quick" ] && [ -n "$programs" ] && [ -x "$B/e2e/$p" ] || continue
	ours timeout -k 2 "$most" "$B/e2e/$p" >"$logs/out" 2>&1 </dev/null
	st=$?
	say $st "$p" "(exit $st) $(tail -n 2 "$logs/out" | tr '\n' ' ')"
done
if [ -n "$programs" ]; then
	ours timeout -k 2 "$most" "$B/test/gpu/products" $quick >"$dir/products" 2>"$logs/products.log"
	say $? "matrix products" "$(tail -n 1 "$dir/products" "$logs/products.log" | tr '\n' ' ')"
fi
if [ -z "$quick" ] && [ -n "$programs" ]; then
	echo "matrix products here, ${blas:-by kernels of the engine}:"
	cat "$dir/products"
	grep -h "cuBLAS\|CUBLAS\|matrix products without" "$logs/stub.log"
	if [ -n "$blas" ]; then
		echo "matrix products natively:"
		native env LD_LIBRARY_PATH="$(dirname "$blas"):$(dirname "$lib"):$B/lib" timeout -k 2 "$most" "$B/test/gpu/products" 2>&1
	fi
fi
# what runs there runs here
for p in driver/{vecadd,reduce,matmul,hist,scan,threads,procs,copies,globals,hostfn,vmm,pool,contexts,fault,streams,graph,graph_errors,query,limits,modules,managed,printf,cluster,products} \
	static/vecadd rt12/rt_{vecadd,reduce,matmul,hist,scan,streams,graph,symbols,copies} rt13/rt_{scan,reduce} c12/byhand; do
	[ -n "$programs" ] || break
	[ -z "$quick" ] || case $p in driver/vecadd|driver/scan|rt12/rt_reduce) ;; *) continue ;; esac
	[ -x "$B/e2e/$p" ] || { echo "skip gpu/$p not built"; continue; }
	if [[ $p != static/* ]]; then
		native timeout -k 2 "$most" "$B/e2e/$p" >"$logs/out" 2>&1 </dev/null || { echo "skip gpu/$p not on the driver either: $(tail -n 1 "$logs/out")"; continue; }
	fi
	ours timeout -k 2 "$most" "$B/e2e/$p" >"$logs/out" 2>&1 </dev/null
	st=$?
	if [ $st = 77 ]; then echo "skip gpu/$p $(tail -n 1 "$logs/out")"; else say $st "$p" "(exit $st) $(tail -n 2 "$logs/out" | tr '\n' ' ')"; fi
done
! grep -q "sandbox forbids\|mapping that it was not given" "$logs/stub.log"; say $? sandbox
[ $bad = 0 ] || trouble

exit $bad
