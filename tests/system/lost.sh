#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Who waits for the agent or the device: hears of its end, also when it polls; and waits for one that is only late.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}

cat >"$dir/poll.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cuda.h"
static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k(.param .u64 p){ .reg .b32 %r<3>;"
	" .reg .b64 %d<2>; .reg .pred %p; ld.param.u64 %d1,[p]; L: ld.volatile.global.u32 %r1,[%d1]; setp.eq.u32 %p,%r1,0; @%p bra L; ret; }";
#define CK(c) do { CUresult r_ = (c); if (r_) { printf("%s: %d\n", #c, r_); exit(1); } } while (0)
int main(int argc, char **argv)
{
	CUdevice dev;
	CUcontext c;
	CUmodule m;
	CUfunction f;
	CUdeviceptr d;
	CUstream s;
	CUevent e, first;
	void *p[] = { &d };
	CUresult q;
	float ms;

	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	CK((cuCtxCreate)(&c, NULL, 0, dev));
	CK(cuModuleLoadData(&m, ptx));
	CK(cuModuleGetFunction(&f, m, "k"));
	CK(cuMemAlloc(&d, 64));
	CK(cuMemsetD8(d, 0, 64));
	CK(cuStreamCreate(&s, 1));
	CK(cuEventCreate(&first, 0));
	CK(cuEventCreate(&e, 0));
	CK(cuEventRecord(first, s));
	CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, p, NULL));
	CK(cuEventRecord(e, s));
	write(3, "-", 1);       /* who waits says nothing more */
	do {
		q = argc < 2 || !strcmp(argv[1], "stream") ? cuStreamQuery(s) : !strcmp(argv[1], "event") ? cuEventQuery(e) :
		    !strcmp(argv[1], "elapsed") ? cuEventElapsedTime(&ms, first, e) : cuStreamSynchronize(s);
		if (argc > 2)
			usleep(1000);
		else if (argc == 1)
			q = 0;
		write(3, ".", 1);
	} while (q == CUDA_ERROR_NOT_READY);
	printf("%d\n", q);
	return 0;
}
C
$CC -O1 -Wno-unused-result -Ilibcuda-lite/include -o "$dir/poll" "$dir/poll.c" "$B/lib/libcuda.so.1" || { fail "the poller does not build"; exit 1; }

# ends SIGNAL AGENT|STUB WHAT [us]: the poller hears it
ends() {
	local sig=$1 who=$2 pid
	shift 2
	rm -f "$dir/turns"
	start_stub
	start_agent
	timeout -s KILL 120 "$dir/poll" "$@" >"$dir/out" 2>"$dir/err" 3>"$dir/turns" & pid=$!
	until_true test -s "$dir/turns"
	kill -s "$sig" "${!who}"
	wait "$pid"
	grep -qE '^(46|719|700|999)$' "$dir/out" && ok "$who ends by $sig: $* hears it" || fail "$who ends by $sig: $* got '$(cat "$dir/out")'"
	kill "$agent" "$stub" 2>/dev/null
	wait 2>/dev/null
	rm -f "$dir/stub" "$dir/agent" "$dir/pid"
}
for what in stream event elapsed "stream 1000" "event 1000"; do
	ends KILL agent $what
done
ends TERM agent stream
ends TERM agent event
ends KILL stub stream
ends KILL stub event
ends KILL agent wait

# --- late is not gone
cat >"$dir/late.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include "fw-protocol/vgpu_dial.h"
int main(void)
{
	struct vgpu_msg_hello m = { .h = { VGPU_MSG_HELLO, sizeof m }, .magic = VGPU_SESSION_MAGIC, .version = VGPU_PROTOCOL_VERSION };
	struct vgpu_msg_hello_r r;
	int fd = vgpu_dial(getenv("VGPU_AGENT"), 0), rc;

	puts("connected");
	fflush(stdout);
	if (getchar() == EOF)
		return 2;
	rc = vgpu_ask(fd, &m.h, &r, sizeof r, 0, NULL);
	printf("%d %d\n", rc, rc ? -1 : (int)r.status);
	return 0;
}
C
$CC -O1 -I. -o "$dir/late" "$dir/late.c" || { fail "the late client does not build"; exit 1; }
start_stub
start_agent
mkfifo "$dir/go"
"$dir/late" <"$dir/go" >"$dir/out" & late=$!
exec 4>"$dir/go"
until_true grep -q connected "$dir/out"
"$V/vgpu" smi -j >"$dir/smi"                   # behind it in the queue: it has been accepted
kill -STOP "$agent"
echo >&4                                        # its HELLO comes in time, and lies there while the agent does not run
sleep 5.5
kill -CONT "$agent"
wait "$late"
grep -q '^0 0$' "$dir/out" && ok "a HELLO that the agent reads late is answered" || fail "a HELLO that the agent reads late: $(tail -n 1 "$dir/out")"
exec 4>&-
kill -STOP "$agent"
: >"$dir/out"
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 </dev/null & first=$!
timeout 200 "$B/e2e/nvml/nvml" >"$dir/nvml" 2>&1 </dev/null & second=$!
until_true grep -q "agent (pid $agent) is stopped (state T); waiting for it (let it go on: kill -CONT $agent)" "$dir/out" && ok "who waits is told that it is stopped, and how it goes on" ||
	fail "who waits for a stopped agent is told: $(head -n 2 "$dir/out")"
sleep 1
kill -CONT "$agent"
wait "$second" && ok "NVML waits for it too" || fail "NVML of an agent that answers after eleven seconds: $(tail -n 2 "$dir/nvml")"
wait "$first" && ok "an agent that answers after eleven seconds is no missing device" || fail "an agent that answers after eleven seconds: $(head -n 2 "$dir/out")"
