#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs built with sanitizers, under Valgrind, with a limit of address space: they run, or are told the true reason. Environment
# variables that CUDA has.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH
start_stub
start_agent
build() { $1 -g -fsanitize="$2" -Ilibcuda-lite/include -o "$dir/$1-$2" tests/e2e/vecadd.c "$B/lib/libcuda.so.1" -lpthread -lm >"$dir/err" 2>&1; }
for cc in gcc clang; do
	command -v $cc >/dev/null || { skip "$cc: not installed"; continue; }
	for s in address leak undefined; do
		build $cc $s || { skip "$cc -fsanitize=$s does not build here: $(tail -n 1 "$dir/err")"; continue; }
		timeout 100 "$V/vgpu" run -- "$dir/$cc-$s" >"$dir/out" 2>&1 && grep -q '^vecadd: ok' "$dir/out" && ok "$cc -fsanitize=$s" || fail "$cc -fsanitize=$s: $(head -n 3 "$dir/out")"
	done
	build $cc thread || { skip "$cc -fsanitize=thread does not build here"; continue; }
	timeout 100 "$V/vgpu" run -- "$dir/$cc-thread" >"$dir/out" 2>&1
	grep -qE '^vecadd: ok|address space .*is taken.*ThreadSanitizer' "$dir/out" && ok "$cc -fsanitize=thread: runs, or is told who has the address space" ||
		fail "$cc -fsanitize=thread: $(head -n 3 "$dir/out")"
done
if command -v valgrind >/dev/null; then
	timeout 60 "$V/vgpu" run -- valgrind -q "$B/e2e/driver/vecadd" >"$dir/out" 2>&1
	grep -q 'not under Valgrind' "$dir/out" && ok "Valgrind: the true reason" || fail "Valgrind: exit $?: $(head -n 3 "$dir/out")"
else
	skip "Valgrind: not installed"
fi
export LD_LIBRARY_PATH=$B/lib
(ulimit -v 8000000; "$B/e2e/driver/vecadd") >"$dir/out" 2>&1
grep -q 'the limit is 7812 MiB' "$dir/out" && ok "a limit of address space is named" || fail "ulimit -v: $(cat "$dir/out")"

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
kill -KILL $stub; wait $stub 2>/dev/null; stub=
until_true sh -c "'$V/vgpu' smi -j | grep -q '\"state\":\"lost\"'"
order "0000:f1:00.0" VGPU_AGENT="$VGPU_AGENT"
"$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "of two devices one is lost: programs use the other" || fail "of two devices one is lost: $(cat "$dir/out")"
kill $s2; wait $s2 2>/dev/null

# --- a bare image has glibc and nothing else
needs=$(readelf -d "$V/vgpu" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libdl|libpthread)\.so|^ld-linux' | tr '\n' ' ')
[ -z "$needs" ] && ok "vgpu needs glibc alone" || fail "vgpu needs $needs"
