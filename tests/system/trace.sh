#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu trace: every call of known programs, by each way that leads to it; errors by name; counts; the Perfetto file.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
unset VGPU_TRACE VGPU_TRACE_FILTER
start_stub
start_agent

# A program that calls libcuda in all the ways there are, a known number of times each.
cat >"$dir/ways.c" <<'C'
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cuda.h"
CUresult cuCheckpointProcessLock(int pid, void *args);
static CUdeviceptr seen;
static void *other(void *p)
{
	cuCtxSetCurrent(p);
	cuMemsetD32(seen, 7, 4);
	return NULL;
}
/* Says who it is once the first thread has been asleep for a while, as it is in one call alone. */
static void *tell(void *p)
{
	char path[64], text[256], *end;
	int n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	for (; n < 20; usleep(10000)) {
		f = fopen(path, "r");
		end = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
		n = end && end[2] == 'S' ? n + 1 : 0;
		if (f)
			fclose(f);
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return p;
}
int main(int argc, char **argv)
{
	CUcontext ctx;
	CUdevice dev;
	CUresult (*alloc)(CUdeviceptr *, size_t), (*release)(CUdeviceptr), (*info)(size_t *, size_t *), (*version)(int *);
	size_t a, b;
	int v = 0;
	void *h;
	pthread_t t;

	if (argc > 1 && !strcmp(argv[1], "child")) {
		cuDriverGetVersion(&v);
		return v != 13010;
	}
	if (argc > 1 && !strcmp(argv[1], "stuck")) {
		cuInit(0);
		cuDeviceGet(&dev, 0);
		(cuCtxCreate)(&ctx, NULL, 0, dev);
		cuMemAlloc(&seen, 4096);
		cuStreamWaitValue32(0, seen, 1, CU_STREAM_WAIT_VALUE_EQ);
		pthread_create(&t, NULL, tell, NULL);
		cuCtxSynchronize();
		return 0;
	}
	if (cuInit(0) || cuDeviceGet(&dev, 0) || (cuCtxCreate)(&ctx, NULL, 0, dev))
		return 1;
	cuMemAlloc(&seen, 1000);                                /* through the PLT */
	alloc = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");           /* dlsym */
	h = dlopen(getenv("LIBCUDA"), RTLD_NOW);                /* dlopen by path */
	release = dlsym(h, "cuMemFree_v2");
	if (cuGetProcAddress("cuMemGetInfo", (void **)&info, 12000, 0, NULL))
		return 2;
	errno = 77;
	if (alloc(&seen, 2000) || info(&a, &b) || release(seen) || cuMemAlloc(&seen, 3000))
		return 3;
	if (errno != 77)
		return 4;
	pthread_create(&t, NULL, other, ctx);
	pthread_join(t, NULL);
	cuMemFree(0x12345);                                     /* an error */
	cuCheckpointProcessLock(0, NULL);                                        /* not supported */
	cuCtxSynchronize();
	version = cuDriverGetVersion;                           /* an address taken at link time */
	version(&v);
	if (fork() == 0) {
		cuCtxSynchronize();                             /* refused in a forked child, and seen */
		execl(argv[0], argv[0], "child", (char *)NULL);
		_exit(1);
	}
	wait(&v);
	cuCtxDestroy(ctx);
	return WEXITSTATUS(v);
}
C
$CC -O1 -pthread -Ilibcuda-lite/include -o "$dir/ways" "$dir/ways.c" "$B/lib/libcuda.so.1" -ldl || { echo "FAIL the program does not build"; exit 1; }
export LIBCUDA=$B/lib/libcuda.so.1

# has NAME PATTERN COUNT: that many lines of $dir/out match
has() {
	local n
	n=$(grep -cE "$2" "$dir/out")
	[ "$n" = "$3" ] && ok "$1" || { fail "$1: $n lines like '$2', $3 expected"; cut -c1-200 "$dir/out"; }
}

timeout 60 "$V/vgpu" trace -o "$dir/out" -- "$dir/ways" 2>"$dir/err"; st=$?
[ $st = 0 ] && ! grep -v 'cuCheckpointProcessLock is not supported' "$dir/err" && ok "the traced program's answer is its own" || fail "exit $st"
has "calls through the PLT, dlsym and dlopen by path" ' cuMemAlloc_v2\(ptr=\[0x[0-9a-f]+\], bytes=[123]000\) = CUDA_SUCCESS <' 3
has "a call by cuGetProcAddress" ' cuMemGetInfo_v2\(free_bytes=\[[1-9][0-9]*\], total=\[[1-9][0-9]*\]\) = CUDA_SUCCESS' 1
has "another thread, with its id" '^([0-9]+)/[0-9]+ +[0-9.]+ cuMemsetD32_v2\(dst=0x[0-9a-f]+, value=7, n=4\) = CUDA_SUCCESS' 1
awk '/cuMemsetD32/ {split($1, p, "/"); exit p[1] == p[2]}' "$dir/out" && ok "threads are told apart" || fail "threads are told apart"
has "an error by its name" ' cuMemFree_v2\(ptr=0x12345\) = CUDA_ERROR_INVALID_VALUE <' 1
has "a call that is not supported" ' cuCheckpointProcessLock\(\.\.\.\) = CUDA_ERROR_NOT_SUPPORTED <' 1
has "a forked child" ' cuCtxSynchronize\(\) = CUDA_ERROR_NOT_INITIALIZED <' 1
has "a program that the child becomes" ' cuDriverGetVersion\(version=\[13010\]\) = CUDA_SUCCESS' 2
has "nothing else" . 18

timeout 60 "$V/vgpu" trace -f 'cuMem*,!cuMemset*' -o "$dir/out" -- "$dir/ways"
has "the filter takes and leaves out" ' cuMem(Alloc|Free|GetInfo)_v2\(' 6
has "the filter leaves nothing else" . 6
timeout 60 "$V/vgpu" trace -f errors -o "$dir/out" -- "$dir/ways"
has "only errors" ' = CUDA_ERROR_[A-Z_]+ <' 3
has "errors: nothing else" . 3

# --- counts: a runtime program, known exactly
timeout 60 "$V/vgpu" trace -j -- "$B/e2e/rt12/rt_vecadd" >"$dir/json" 2>/dev/null
python3 - "$dir/json" <<'P' && ok "counts of a runtime program" || fail "counts of a runtime program: $(sed 1d "$dir/json")"
import json, sys
text = open(sys.argv[1]).read()
f = json.loads(text[text.index("{"):])["functions"]
n = lambda k: (f[k]["calls"], f[k]["inside"])
assert n("cudaMalloc")[0] == n("cuMemAlloc_v2")[1] > 0, (n("cudaMalloc"), n("cuMemAlloc_v2"))
assert n("cudaLaunchKernel")[0] == n("cuLaunchKernel")[1] > 0
assert n("cudaMemcpy")[0] == sum(f[k]["inside"] for k in ("cuMemcpy", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2") if k in f) > 0
assert all(v["calls"] == 0 for k, v in f.items() if k.startswith("cu") and not k.startswith("cuda")), "driver calls are inside"
assert f["cudaLaunchKernel"]["errors"] == {"cudaErrorInvalidConfiguration": 1}, f["cudaLaunchKernel"]
assert f["cudaMalloc"]["errors"] == {} and f["cudaMalloc"]["total_ns"] >= f["cudaMalloc"]["max_ns"] > 0
P
timeout 60 "$V/vgpu" trace -c -f top -- "$B/e2e/rt13/rt_vecadd" 2>"$dir/out" >/dev/null
has "top: no calls inside calls" ' cu[A-Z]' 0
has "top: the runtime's stay" ' cudaMalloc$' 1

# --- Perfetto
timeout 60 "$V/vgpu" trace --perfetto "$dir/p.json" -- "$B/e2e/rt12/rt_threads" >/dev/null 2>&1
python3 - "$dir/p.json" <<'P' && ok "the Perfetto file" || fail "the Perfetto file"
import json, sys
e = json.load(open(sys.argv[1]))["traceEvents"]
x = [i for i in e if i["ph"] == "X" and i["cat"] in ("driver", "runtime")]     # the device's work: device.sh
assert {"driver", "runtime"} <= {i["cat"] for i in x}
assert len({i["tid"] for i in x}) > 2, "threads"
names = [i for i in e if i["ph"] == "M" and i["pid"] == x[0]["pid"]]
assert [i["args"]["name"] for i in names if i["name"] == "process_name"] == ["rt_threads"], "process name"
assert {i["tid"] for i in names if i["name"] == "thread_name"} == {i["tid"] for i in x}, "names of threads"
# every driver call lies within a runtime call of its thread
for d in (i for i in x if i["cat"] == "driver"):
    assert any(r["tid"] == d["tid"] and r["ts"] <= d["ts"] and d["ts"] + d["dur"] <= r["ts"] + r["dur"] + 0.002
               for r in x if r["cat"] == "runtime"), d
k = [i for i in x if i["name"] == "cudaLaunchKernel"]
assert k and "grid={" in k[0]["args"]["arguments"] and "func=" in k[0]["args"]["arguments"]
P

# --- the other libraries
timeout 60 "$V/vgpu" trace -c -- "$B/e2e/nvml/nvml" 2>"$dir/out" >/dev/null
has "NVML calls" ' nvmlInit_v2$' 1
timeout 60 "$V/vgpu" trace -f blas -o "$dir/out" -- "$B/e2e/blas12/blas" >/dev/null 2>&1
[ "$(grep -cE ' cublasSgemm_v2\(handle=0x[0-9a-f]+, transa=CUBLAS_OP_[NT], transb=CUBLAS_OP_[NT], m=[0-9]+' "$dir/out")" -gt 3 ] &&
	ok "cuBLAS calls with their shapes" || { fail "cuBLAS calls with their shapes"; head -5 "$dir/out"; }

# --- a call that never returns
rm -f "$dir/tells"
timeout -s KILL 200 "$V/vgpu" trace -o "$dir/out" -- "$dir/ways" stuck >"$dir/tells" 2>/dev/null & tracer=$!
until_true test -s "$dir/tells" && kill -KILL "$(cat "$dir/tells")"
wait $tracer
has "a call that did not return" ' cuCtxSynchronize did not return: it began [0-9.]+ s before the end' 1

# --- killed outright, the tool leaves neither command nor (where it started one) device and agent behind
for own in "$VGPU_AGENT" ''; do
	rm -f "$dir/went"
	env -u VGPU_AGENT ${own:+VGPU_AGENT="$own"} XDG_RUNTIME_DIR="$dir" TMPDIR="$dir" "$V/vgpu" trace -o "$dir/out" -- sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 300' "$dir/went" &
	tracer=$!
	until_true test -s "$dir/went"
	kill -KILL $tracer
	wait $tracer 2>/dev/null
	gone() { ! kill -0 "$(cat "$dir/went")"; }
	until_true gone && ok "killed outright, nothing is left${own:+ (an agent of others)}" ||
		{ fail "killed outright: the command still runs"; kill -KILL "$(cat "$dir/went")"; }
done

# --- without the tool: a file per process, and a program with raised rights is left alone
VGPU_TRACE=$dir/t.%p timeout 60 "$dir/ways" 2>/dev/null || fail "VGPU_TRACE: a file per process: the program ended with $?"
cat "$dir"/t.* >"$dir/out"
[ "$(ls "$dir"/t.* | wc -l)" = 2 ] && ok "VGPU_TRACE: a file per process" || { fail "VGPU_TRACE: a file per process"; ls "$dir"; }
has "VGPU_TRACE: all lines" ' = (CUDA_[A-Z_]+) <' 18
VGPU_TRACE=- timeout 60 "$dir/ways" 2>"$dir/out" >/dev/null || fail "VGPU_TRACE: stderr: the program ended with $?"
has "VGPU_TRACE: stderr" ' = (CUDA_[A-Z_]+) <' 18

# --- not traced: nothing is opened, nothing said
strace -f -o "$dir/calls" "$dir/ways" 2>"$dir/err"
grep -v 'not supported' "$dir/err" | grep -q . && fail "an untraced program says something: $(cat "$dir/err")"
grep -q 'vgpu-trace' "$dir/calls" && fail "an untraced program opens the trace" || ok "not traced: nothing is opened"
timeout 60 "$V/vgpu" trace -c -- true 2>"$dir/out"
has "no call: it says so" 'no call was seen' 1

# --- instructions: of one warp of a known kernel, on the program's standard output; values, divergence, the cap
unset VGPU_AGENT
export XDG_RUNTIME_DIR=$dir
timeout 60 "$V/vgpu" trace --ops -k 'vecad*' -l 2 -- "$B/e2e/driver/vecadd" >"$dir/all" 2>"$dir/err"; st=$?
grep '^|' "$dir/all" >"$dir/out"
[ $st = 0 ] && grep -q '^vecadd: ok' "$dir/all" && ok "instructions: the program's answer is its own" || fail "instructions: exit $st, $(tail -n 3 "$dir/all" "$dir/err")"
has "instructions: one launch of those that match" '^\| vecadd, launch 2: grid 1,1,1 of blocks 256,1,1; block 0,0,0, warp 0$' 1
has "instructions: no other" '^\| [a-z]+, launch ' 1
has "instructions: what the launch computes" '^\| +[0-9]+ +launch  ld\.param\.u32 %r1, \[vecadd_param_3\] +%r1 = 31$' 1
has "instructions: a branch at which lanes part" '^\| +[0-9]+ ffffffff  @%p1 bra LBB0_2 +lanes 80000000$' 1
has "instructions: one side of it" '^\| +[0-9]+ 7fffffff  st\.global\.f32 \[%rd1\], %f3 +\[0x[0-9a-f]+ in lane 0\] <- -?[0-9.e+]+$' 1
has "instructions: both again" '^\| +[0-9]+ ffffffff  ret$' 1
timeout 60 "$V/vgpu" trace --ops -n 7 -b 1 -w 1 --cc 7.5 -- "$B/e2e/driver/scan" >"$dir/all" 2>"$dir/err"; st=$?
grep '^|' "$dir/all" >"$dir/out"
has "instructions: no more than asked for" '^\| +[0-9]+ [0-9a-f]{8}  ' 7
has "instructions: and it says so" '^\| 7 instructions have been shown' 1
grep -q '^scan: ok' "$dir/all" && [ $st = 0 ] && ok "instructions: nothing is held up by that" || fail "instructions: exit $st, $(tail -n 3 "$dir/all" "$dir/err")"
"$V/vgpu" trace --ops -w 32 -- true 2>"$dir/err"; st=$?
[ $st = 125 ] && grep -q 'none' "$dir/err" && ok "instructions: no such warp" || fail "instructions: warp 32: $st"
