#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The engine on a CUDA driver, without a GPU: the host's driver is our own libcuda.so.1, over a second agent and device whose engine is
# the processor. A program's launch goes client, agent, context (cuda), libcuda-lite, agent, context (cpu).
#
#   nested.sh BUILD [FLAVOUR/NAME...]
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
shift
dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-nested-XXXXXX")
pids=''
cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null; done
	for p in $pids; do wait "$p" 2>/dev/null; done
	rm -rf "$dir"
}
trap cleanup EXIT
export LD_LIBRARY_PATH=$B/lib
# the context is a user of its own, who has to reach the inner agent
chmod 711 "$dir"
bad=0

until_true() {
	local until=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.05
	done
}
# device N OPTIONS...: a device and its agent
device() {
	local n=$1
	shift
	"$B/bin/vgpu-stub" --socket "$dir/stub$n" "$@" 2>>"$dir/stub$n.log" &
	pids="$! $pids"
	until_true test -S "$dir/stub$n" || { echo "FAIL cuda/nested stub $n did not start"; cat "$dir/stub$n.log"; exit 1; }
	"$B/bin/vgpu-agent" --device "vfio-user:$dir/stub$n" --mode 666 --listen "$dir/agent$n" --pidfile "$dir/pid$n" 2>>"$dir/agent$n.log" &
	pids="$! $pids"
	until_true env VGPU_AGENT="$dir/agent$n" "$B/bin/vgpu" smi -j || { echo "FAIL cuda/nested agent $n did not start"; cat "$dir/agent$n.log"; exit 1; }
}
say() { if [ "$1" = 0 ]; then echo "ok cuda/nested/$2"; else bad=1; echo "FAIL cuda/nested/$2 ${3:-}"; fi; }

# what cannot be is said before the device listens
out=$("$B/bin/vgpu-stub" --socket "$dir/none" --engine cuda --cuda-library "$dir/no-such.so" 2>&1)
[ $? = 1 ] && [[ $out == *"cannot be opened"*no-such.so* ]]; say $? "no library" "$out"
out=$("$B/bin/vgpu-stub" --socket "$dir/none" --engine cuda --cuda-library "$B/lib/libnvidia-ml.so.1" 2>&1)
[ $? = 1 ] && [[ $out == *"has no cuInit"* ]]; say $? "another library" "$out"

device 1 --memory 2G --name "VGPU-STUB (inner)" --cc 9.0
out=$(VGPU_HOST_AGENT="$dir/agent1" "$B/bin/vgpu-stub" --socket "$dir/none" --engine cuda --cuda-library "$B/lib/libcuda.so.1" --cuda-device 3 2>&1)
[ $? = 1 ] && [[ $out == *"there is no number 3"* ]]; say $? "no such device" "$out"
VGPU_HOST_AGENT="$dir/agent1" device 2 --engine cuda --cuda-library "$B/lib/libcuda.so.1"
# name, memory and UUID are the driver's
VGPU_AGENT="$dir/agent1" "$B/bin/vgpu" smi -j >"$dir/inner"
VGPU_AGENT="$dir/agent2" "$B/bin/vgpu" smi -j >"$dir/outer"
python3 - "$dir/inner" "$dir/outer" <<'P'
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
def find(o, k):
	if isinstance(o, dict):
		if k in o: return o[k]
		o = list(o.values())
	if isinstance(o, list):
		for x in o:
			r = find(x, k)
			if r is not None: return r
for k in ("name", "uuid"):
	assert find(a, k) and find(a, k) == find(b, k), (k, find(a, k), find(b, k))
P
say $? "identity of the driver's device"

# Programs whose kernels reach into pinned memory are not among them: our driver does not register the window, which is a
# shared mapping (cuMemHostRegister).
[ $# -gt 0 ] || set -- driver/{vecadd,reduce,matmul,hist,scan,threads,procs,copies,query,globals,hostfn,hostreg:copies,cluster,tensormap,ipc,vmm,pool,contexts,fault,graph,graph_errors,printf,launches,promises} \
	static/vecadd static-musl/reduce rt12/rt_vecadd rt12/rt_reduce rt12/rt_graph rt12/rt_hist rt12/rt_symbols rt13/rt_scan c12/byhand blas12/blas
for p; do
	args=''
	[[ $p == *:* ]] && args=${p#*:} p=${p%%:*}
	[ -x "$B/e2e/$p" ] || { say 1 "$p" "not built"; continue; }
	out=$(E2E_ENGINE_CUDA=1 VGPU_AGENT="$dir/agent2" timeout -k 2 240 "$B/e2e/$p" $args 2>&1 </dev/null)
	st=$?
	if [ $st = 77 ]; then echo "skip cuda/nested/$p $(tail -n 1 <<<"$out")"; else say $st "$p" "(exit $st) $(tail -n 1 <<<"$out")"; fi
done
# vgpu run's private device on a GPU of the host. It runs machine code, so NVIDIA's compilers are left alone; elsewhere ours stand in their places.
mkdir -p "$dir/py/jax_plugins/xla_cuda12" "$dir/run"
echo >"$dir/py/jax.py"
told='import os, jax; print(*(os.environ.get(k, "-") for k in ("VGPU_CUBINS", "TRITON_PTXAS_PATH", "CUDA_ROOT")))'
gpu() { env -u LD_LIBRARY_PATH -u VGPU_AGENT -u CUDA_ROOT XDG_RUNTIME_DIR="$dir/run" VGPU_HOST_AGENT="$dir/agent1" PYTHONPATH="$dir/py" timeout -k 2 60 "$B/bin/vgpu" run "$@" 2>&1 </dev/null; }
out=$(gpu --engine cuda --cuda-library "$B/lib/libcuda.so.1" -- "$B/e2e/driver/vecadd"); say $? "vgpu run --engine cuda" "$out"
out=$(gpu --engine cuda --cuda-library "$B/lib/libcuda.so.1" -- "$B/bin/vgpu" smi); [[ $out == *"VGPU-STUB (inner)"* ]]; say $? "vgpu run --engine cuda: the driver's device" "$out"
out=$(gpu --engine cuda --cuda-library "$B/lib/libcuda.so.1" -- python3 -c "$told"); [ "$out" = "1 - -" ]; say $? "vgpu run --engine cuda: compilers are NVIDIA's" "$out"
out=$(gpu --private -- python3 -c "$told"); [[ ${out##*$'\n'} == "- /"*"/bin/ptxas /"* ]]; say $? "vgpu run: compilers are ours" "$out"
out=$(gpu --engine cuda --cuda-library "$dir/no-such.so" -- true); [ $? = 125 ] && [[ $out == *no-such.so* ]]; say $? "vgpu run --engine cuda: no library" "$out"
for wrong in "--engine cuda --cc 7.5" "--engine cuda --memcheck" "--engine cuda --verify" "--cuda-device 0" "--cublas-library x"; do
	# shellcheck disable=SC2086
	out=$(gpu $wrong -- true); [ $? = 125 ] && [[ $out == *"--engine cuda"* ]]; say $? "vgpu run $wrong is refused" "$out"
done
# Products by the engine's own kernels, above; by the host's cuBLAS, which is ours here. The fault at the program's end says who computed.
faulted() { until_true grep -q "illegal address: .*in kernel $2" "$dir/stub$1.log"; }
case " $* " in *" blas12/blas "*) faulted 2 product_f32; say $? "products by kernels of the engine's" ;; esac
out=$(VGPU_HOST_AGENT="$dir/agent1" "$B/bin/vgpu-stub" --socket "$dir/none" --engine cuda --cuda-library "$B/lib/libcuda.so.1" --cublas-library "$dir/no-such.so" 2>&1)
[ $? = 1 ] && [[ $out == *"cuBLAS cannot be opened"*no-such.so* ]]; say $? "no cuBLAS" "$out"
out=$(VGPU_HOST_AGENT="$dir/agent1" "$B/bin/vgpu-stub" --socket "$dir/none" --engine cuda --cuda-library "$B/lib/libcuda.so.1" --cublas-library "$B/lib/libnvidia-ml.so.1" 2>&1)
[ $? = 1 ] && [[ $out == *"has no cublasCreate"* ]]; say $? "another library for cuBLAS" "$out"
VGPU_HOST_AGENT="$dir/agent1" device 3 --engine cuda --cuda-library "$B/lib/libcuda.so.1" --cublas-library "$B/lib/libcublas.so.13"
out=$(VGPU_AGENT="$dir/agent3" timeout -k 2 60 "$B/e2e/blas13/blas" 2>&1 </dev/null); say $? "blas13/blas, the host's cuBLAS" "$(tail -n 1 <<<"$out")"
faulted 3 "matrix product"; say $? "products by the host's cuBLAS"
! grep -q "CUBLAS_STATUS\|matrix products without" "$dir/stub3.log"; say $? "cuBLAS takes them" "$(grep -m1 "CUBLAS_STATUS\|matrix products without" "$dir/stub3.log")"
# llama.cpp, the builds for CUDA 12 and 13: the text that its own CPU backend writes
for n in 12 13; do
	part=lib agent=2
	[ $n = 12 ] || part=cuda13 agent=3
	out=$("$here/../llm/build.sh" "$B" 2>&1 && { [ $n = 12 ] || "$here/../llm/fetch.sh" "$B/llm" cuda13 2>&1; }); st=$?
	[ $st != 77 ] || { echo "skip cuda/nested/llama.cpp $n $(tail -n 1 <<<"$out")"; continue; }
	[ $st = 0 ] && out=$(VGPU_AGENT="$dir/agent$agent" LD_LIBRARY_PATH="$B/llm/$part" timeout -k 2 120 "$B/bin/vgpu" run -- "$B/llm/llm" "$B/llm/$part" \
		text -n 16 "$here/../llm/model/licences.gguf" "You may copy and distribute" 2>&1 </dev/null) && grep -q "^ok text" <<<"$out"
	say $? "llama.cpp $n" "(exit $st) $(tail -n 2 <<<"$out" | tr '\n' ' ')"
done
# the script for a machine with a GPU: that it works; a driver that is there is not looked for
out=$(cd "$here/../gpu" && VGPU_HOST_AGENT="$dir/agent1" timeout -k 2 200 ./run.sh -q "$B" "$B/lib/libcuda.so.1" 2>&1)
say $? "tests/gpu/run.sh" "$(grep -m3 "FAIL\|error" <<<"$out")"
# ... and the one for a session that is lent one: its logs, of a part that has nothing to do here
out=$(VGPU_HOST_AGENT="$dir/agent1" "$here/../gpu/all.sh" -t 20 -l "$B/lib/libcuda.so.1" "$B" "$dir/all" machine no-such 2>&1)
[ $? = 1 ] && [[ $out == *"no-such is no part"* ]] && tar tJf "$dir/all/logs.tar.xz" ./all.log ./machine.log >/dev/null; say $? "tests/gpu/all.sh" "$out"
# The PTX engine's tests as a GPU's driver would run them: a sample, with the shadow of device memory, variables elsewhere, ends that are
# polled, contexts that die.
device 4 --memory 4G --cc 9.0
out=$(VGPU_HOST_AGENT="$dir/agent4" PTX_LOGS="$dir/ptx" timeout -k 2 200 "$here/../gpu/ptx.sh" -s -j 2 "$B" "$B/lib/libcuda.so.1" 2>&1)
say $? "tests/gpu/ptx.sh" "$(grep -m3 "FAIL" <<<"$out")"
# the sandbox of the context let everything through that was right
! grep -q "forbids\|mapping that it was not given" "$dir"/stub[23].log; say $? "sandbox" "$(grep -hm1 "forbids\|not given" "$dir"/stub[23].log)"
exit $bad
