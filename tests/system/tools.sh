#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs built with sanitizers, under Valgrind, with a limit of address space: they run. Environment variables
# that CUDA has.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH
start_stub
start_agent
build() { $1 -w -g -fsanitize="$2" -Ilibcuda-lite/include -o "$dir/$1-$2" "${3:-tests/e2e/vecadd.c}" "$B/lib/libcuda.so.1" -lpthread -lm >"$dir/err" 2>&1; }
cat >"$dir/race.c" <<'C'
#include <cuda.h>
#include <stdio.h>
static int seen, go;
static void fn(void *p)
{
	while (!__atomic_load_n(&go, __ATOMIC_RELAXED))
		;
	*(int *)p = 1;
}
int main(void)
{
	CUdevice d; CUcontext c; CUstream s;
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d) || cuStreamCreate(&s, 0) || cuLaunchHostFunc(s, fn, &seen))
		return 1;
	printf("too early: %d\n", seen);
	__atomic_store_n(&go, 1, __ATOMIC_RELAXED);
	return cuStreamSynchronize(s) || !seen;
}
C
for cc in gcc clang; do
	command -v $cc >/dev/null || { skip "$cc: not installed"; continue; }
	for s in address leak undefined; do
		build $cc $s || { skip "$cc -fsanitize=$s does not build here: $(tail -n 1 "$dir/err")"; continue; }
		timeout 100 "$V/vgpu" run -- "$dir/$cc-$s" >"$dir/out" 2>&1 && grep -q '^vecadd: ok' "$dir/out" && ok "$cc -fsanitize=$s" || fail "$cc -fsanitize=$s: $(head -n 3 "$dir/out")"
	done
	# no races are seen in the library, nor where a device's order or a host function's makes one of two accesses the first
	for p in vecadd $([ $cc = clang ] || echo threads hostfn graph); do
		build $cc thread tests/e2e/$p.c || { skip "$cc -fsanitize=thread does not build $p here: $(tail -n 1 "$dir/err")"; continue; }
		timeout 100 "$V/vgpu" run -- "$dir/$cc-thread" >"$dir/out" 2>&1 && grep -q "^$p: ok" "$dir/out" && ok "$cc -fsanitize=thread: $p" ||
			fail "$cc -fsanitize=thread: $p: $(head -n 20 "$dir/out")"
	done
	build $cc thread "$dir/race.c" && timeout 100 "$V/vgpu" run -- "$dir/$cc-thread" >"$dir/out" 2>&1
	grep -q 'data race' "$dir/out" && ok "$cc -fsanitize=thread: a race of the program's is told" || fail "$cc -fsanitize=thread: no race: $(head -n 3 "$dir/err" "$dir/out")"
done
if command -v valgrind >/dev/null; then
	for p in vecadd hostfn streams; do
		timeout 100 "$V/vgpu" run -- valgrind -q --error-exitcode=9 "$B/e2e/driver/$p" >"$dir/out" 2>&1 && ! grep -q '^==' "$dir/out" && ok "Valgrind: $p" ||
			fail "Valgrind: $p: exit $?: $(head -n 9 "$dir/out")"
	done
else
	skip "Valgrind: not installed"
fi
export LD_LIBRARY_PATH=$B/lib
(ulimit -v 8000000; "$B/e2e/driver/vecadd") >"$dir/out" 2>&1 && ok "a limit of address space: a small span" || fail "ulimit -v: $(cat "$dir/out")"
(ulimit -v 50000; "$B/e2e/driver/vecadd") >"$dir/out" 2>&1
grep -q 'the limit is 48 MiB' "$dir/out" && ok "one that leaves no room is named" || fail "ulimit -v 50000: $(cat "$dir/out")"
(ulimit -v 8000000; unset VGPU_AGENT; timeout 60 "$V/vgpu" run --private -- "$B/e2e/driver/vecadd") >"$dir/out" 2>&1
grep -q 'limited to 7812 MiB, and a context reserves 9 TiB' "$dir/out" && ok "a private device under such a limit says why it does not start" || fail "vgpu run under ulimit -v: $(cat "$dir/out")"
for p in vecadd managed vmm; do
	VGPU_SPAN=small "$B/e2e/driver/$p" >"$dir/out" 2>&1 && ok "VGPU_SPAN=small $p" || fail "VGPU_SPAN=small $p: $(cat "$dir/out")"
done
VGPU_SPAN=tiny "$B/e2e/driver/vecadd" >"$dir/out" 2>&1
grep -q 'VGPU_SPAN=tiny: give small' "$dir/out" && ok "VGPU_SPAN=tiny is refused" || fail "VGPU_SPAN=tiny: $(cat "$dir/out")"

# --- CUDA_LAUNCH_BLOCKING: the fault of a kernel is its launch's answer; without it a later call's
cat >"$dir/env.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <string.h>
static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p){ .reg .b64 %d<2>; ld.param.u64 %d1,[p]; st.global.u32 [%d1],1; ret; }";
int main(int argc, char **argv)
{
	CUdevice d; CUcontext c; CUmodule m; CUfunction f; CUdeviceptr p; int n = 0, r = 0; char id[32];
	void *a[] = { &p };
	if (cuInit(0) || cuDeviceGetCount(&n))
		return puts("none") < 0;
	if (argc > 1) {
		for (int i = 0; i < n; i++) { cuDeviceGet(&d, i); cuDeviceGetPCIBusId(id, sizeof id, d); printf("%s ", id); }
		return puts("") < 0;
	}
	cuDeviceGet(&d, 0); (cuCtxCreate)(&c, NULL, 0, d); cuModuleLoadData(&m, ptx); cuModuleGetFunction(&f, m, "k"); cuMemAlloc(&p, 64);
	for (int i = 0; i < 3; i++)
		r |= cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, a, NULL);
	p = 4096;
	printf("%d %d\n", r, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, a, NULL));
	return 0;
}
C
gcc -w -Ilibcuda-lite/include -o "$dir/env" "$dir/env.c" "$B/lib/libcuda.so.1" || { fail "does not build"; exit 1; }
[ "$(CUDA_LAUNCH_BLOCKING=1 "$dir/env" 2>/dev/null)" = "0 700" ] && ok "CUDA_LAUNCH_BLOCKING: the launch answers with its kernel's fault" || fail "CUDA_LAUNCH_BLOCKING: $(CUDA_LAUNCH_BLOCKING=1 "$dir/env" 2>&1)"
for p in vecadd reduce graph; do
	CUDA_LAUNCH_BLOCKING=1 timeout 60 "$B/e2e/driver/$p" >"$dir/out" 2>&1 && ok "CUDA_LAUNCH_BLOCKING=1 $p" || fail "CUDA_LAUNCH_BLOCKING=1 $p: $(tail -n 2 "$dir/out")"
done

# --- two devices, the second with the lower bus id
kill "$agent"; wait "$agent"; kill "$stub"; wait "$stub"
rm -f "$dir/stub"
"$V/vgpu-stub" --socket "$dir/stub" --bus-id 0000:f5:00.0 --uuid GPU-aaaaaaaa-89ab-cdef-0123-456789abcdef 2>/dev/null & stub=$!
"$V/vgpu-stub" --socket "$dir/stub2" --bus-id 0000:f1:00.0 --uuid GPU-bbbbbbbb-89ab-cdef-0123-456789abcdef 2>/dev/null & s2=$!
until_true test -S "$dir/stub"; until_true test -S "$dir/stub2"
start_agent --device "vfio-user:$dir/stub2"
order() { local want=$1; shift; got=$(env "$@" "$dir/env" list 2>/dev/null); [ "${got% }" = "$want" ] && ok "$*: $want" || fail "$*: $got"; }
order "0000:f5:00.0 0000:f1:00.0" CUDA_DEVICE_ORDER=FASTEST_FIRST
order "0000:f1:00.0 0000:f5:00.0" CUDA_DEVICE_ORDER=PCI_BUS_ID
order "0000:f1:00.0" CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0
order "0000:f1:00.0" NVIDIA_VISIBLE_DEVICES=GPU-bbbbbbbb-89ab-cdef-0123-456789abcdef
order "0000:f1:00.0" NVIDIA_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0
order "0000:f5:00.0 0000:f1:00.0" NVIDIA_VISIBLE_DEVICES=all
order "0000:f5:00.0 0000:f1:00.0" NVIDIA_VISIBLE_DEVICES=void
order none NVIDIA_VISIBLE_DEVICES=none
# a process with contexts on both: each device has its part of the memory, by nvidia-smi and by NVML
cat >"$dir/both.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	CUdevice d; CUcontext c; CUdeviceptr p;
	for (int i = 0; i < 2; i++)
		if (cuInit(0) || cuDeviceGet(&d, i) || (cuCtxCreate)(&c, NULL, 0, d) || cuMemAlloc(&p, (size_t)(64 << i) << 20))
			return 1;
	puts("holds");
	fflush(stdout);
	sleep(1000);
	return 0;
}
C
cat >"$dir/nvml.py" <<'P'
import ctypes, sys
class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gi", ctypes.c_uint), ("ci", ctypes.c_uint)]
n = ctypes.CDLL("libnvidia-ml.so.1")
h, k, p = ctypes.c_void_p(), ctypes.c_uint(), (Process * 8)()
assert n.nvmlInit_v2() == 0
for i in (0, 1):
    k.value = 8
    assert n.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(h)) == 0 and n.nvmlDeviceGetComputeRunningProcesses_v3(h, ctypes.byref(k), p) == 0
    assert [(x.pid, x.used >> 20) for x in p[:k.value]] == [(int(sys.argv[1]), 64 << i)], (i, k.value, p[0].pid, p[0].used)
P
gcc -w -Ilibcuda-lite/include -o "$dir/both" "$dir/both.c" "$B/lib/libcuda.so.1" || fail "both.c does not build"
: >"$dir/held"
CUDA_DEVICE_ORDER=FASTEST_FIRST "$dir/both" >"$dir/held" 2>"$dir/err" & both=$!
until_true grep -q holds "$dir/held"
got=$("$B/lib/nvidia-smi" --query-compute-apps=pid,used_memory,gpu_bus_id --format=csv,noheader | tr '\n' ';')
[ "$got" = "$both, 64 MiB, 00000000:F5:00.0;$both, 128 MiB, 00000000:F1:00.0;" ] && ok "a process on two devices, by nvidia-smi" || fail "a process on two devices: $got $(cat "$dir/err")"
python3 "$dir/nvml.py" $both 2>"$dir/err" && ok "and by NVML" || fail "a process on two devices, NVML: $(tail -n 1 "$dir/err")"
kill $both; wait $both 2>/dev/null
kill -KILL $stub; wait $stub 2>/dev/null; stub=
until_true sh -c "'$V/vgpu' smi -j | grep -q '\"state\":\"lost\"'"
order "0000:f1:00.0" VGPU_AGENT="$VGPU_AGENT"
"$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "of two devices one is lost: programs use the other" || fail "of two devices one is lost: $(cat "$dir/out")"
kill $s2; wait $s2 2>/dev/null

# --- a bare image has glibc and nothing else
needs=$(readelf -d "$V/vgpu" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libdl|libpthread)\.so|^ld-linux' | tr '\n' ' ')
[ -z "$needs" ] && ok "vgpu needs glibc alone" || fail "vgpu needs $needs"
