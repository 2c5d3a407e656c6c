#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory of another process: for the same user only, while its process lives; who has opened it keeps it when that one is killed.
# Events: who waits for a recording whose process or context is gone is told so.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
cat >"$dir/ipc.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	CUdevice d; CUcontext c; CUdeviceptr p; CUipcMemHandle h; unsigned v = 0; CUresult r; char line[16];

	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d))
		return puts("no context") < 0;
	if (argc < 2) {         /* the owner: says its handle, waits to be killed */
		if (cuMemAlloc(&p, 3 << 20) || cuMemsetD32(p, 0x1234, 3 << 18) || (r = cuIpcGetMemHandle(&h, p)))
			return printf("no handle %d\n", r) < 0;
		for (int i = 0; i < (int)sizeof h; i++)
			printf("%02x", (unsigned char)h.reserved[i]);
		puts("");
		fflush(stdout);
		return fgets(line, sizeof line, stdin) == NULL;
	}
	for (int i = 0; i < (int)sizeof h; i++, h.reserved[i - 1] = (char)v)
		sscanf(argv[1] + 2 * i, "%2x", &v);
	r = cuIpcOpenMemHandle(&p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	printf("open %d\n", r);
	fflush(stdout);
	if (r || argc < 3)
		return 0;
	/* until the owner is gone; then it is all there, and can be written */
	if (!fgets(line, sizeof line, stdin) || cuMemcpyDtoH(&v, p + (3 << 20) - 4, 4) || v != 0x1234 || cuMemsetD32(p, 0x4321, 3 << 18) ||
	    cuMemcpyDtoH(&v, p + (3 << 20) - 4, 4) || v != 0x4321)
		return printf("lost: %x\n", v) < 0;
	return puts("kept") < 0;
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/ipc" "$dir/ipc.c" "$B/lib/libcuda.so.1" || { fail "does not build"; exit 1; }
chmod 711 "$dir"
start_stub
start_agent --mode 0666
mkfifo "$dir/in" "$dir/in2"
"$dir/ipc" <"$dir/in" >"$dir/owner" 2>&1 & owner=$!
exec 3>"$dir/in"
until_true test -s "$dir/owner"
h=$(cat "$dir/owner")
[ ${#h} = 128 ] || { fail "handle: $h"; exit 1; }
[ "$("$dir/ipc" "$h" 2>&1)" = "open 0" ] && ok "another process of the user" || fail "another process: $("$dir/ipc" "$h" 2>&1)"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp -L "$B/lib/libcuda.so.1" "$dir/"     # a build below /root is nobody else's business
	out=$(LD_LIBRARY_PATH=$dir setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/ipc" "$h" 2>&1)
	[ "$out" = "open 400" ] && ok "another user is refused" || fail "another user: $out"
else
	skip "another user: not root"
fi
# the same user in another container: its root, say
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ "$(id -u)" = 0 ] && [ -n "$cgroups" ] && group=$(mktemp -d "$cgroups/vgpu-test-XXXXXX" 2>/dev/null) && mkdir "$group/other.service" 2>/dev/null &&
   [ -e "$group/other.service/cgroup.procs" ]; then
	out=$( (echo "$BASHPID" >"$group/other.service/cgroup.procs" && exec "$dir/ipc" "$h") 2>&1)
	[ "$out" = "open 400" ] && ok "so is the same user in another container" || fail "another container: $out"
	until_true rmdir "$group/other.service"
	until_true rmdir "$group"
else
	[ -z "${group:-}" ] || rmdir "$group"
	skip "another container: no groups can be made here"
fi
"$dir/ipc" "$h" keep <"$dir/in2" >"$dir/keeper" 2>&1 & keeper=$!
exec 4>"$dir/in2"
until_true grep -q 'open 0' "$dir/keeper" || fail "keeper: $(cat "$dir/keeper")"
kill -9 "$owner"; wait "$owner" 2>/dev/null
gone() { ! "$V/vgpu" smi -j | grep -q "\"pid\": *$owner\b"; }
until_true gone || fail "the owner is still there"
# the keeper has the segment: a process can still be let in by its token
[ "$("$dir/ipc" "$h" 2>&1)" = "open 0" ] && ok "its heir passes it on" || fail "heir: $("$dir/ipc" "$h" 2>&1)"
echo go >&4
wait "$keeper"
grep -q kept "$dir/keeper" && ok "who has it keeps it" || fail "keeper: $(cat "$dir/keeper")"
nobody() { [ "$("$dir/ipc" "$h" 2>&1)" = "open 400" ]; }
until_true nobody && ok "and with the last one it is gone" || fail "handle of nobody: $("$dir/ipc" "$h" 2>&1)"
exec 3>&- 4>&-

# ---- an event whose recording will never be done
cat >"$dir/event.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	CUdevice d; CUcontext c; CUevent e; CUipcEventHandle h; CUstream s; unsigned v = 0, *word; CUresult r; char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d))
		return puts("no context") < 0;
	if (!strcmp(argv[1], "record")) {
		for (int i = 0; i < (int)sizeof h; i++, h.reserved[i - 1] = (char)v)
			sscanf(argv[2] + 2 * i, "%2x", &v);
		if ((r = cuIpcOpenEventHandle(&e, h)) || cuStreamCreate(&s, CU_STREAM_NON_BLOCKING) || cuMemAllocHost((void **)&word, 4096))
			return printf("no event %d\n", r) < 0;
		*word = 0;
		if (cuStreamWaitValue32(s, (CUdeviceptr)(size_t)word, 1, CU_STREAM_WAIT_VALUE_EQ) || cuEventRecord(e, s))
			return puts("not recorded") < 0;
		printf("recorded %d\n", (int)getpid());
		while (fgets(line, sizeof line, stdin))
			;
		return 0;
	}
	if (cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING) || (r = cuIpcGetEventHandle(&h, e)))
		return printf("no handle %d\n", r) < 0;
	for (int i = 0; i < (int)sizeof h; i++)
		printf("%02x", (unsigned char)h.reserved[i]);
	puts("");
	if (!fgets(line, sizeof line, stdin))
		return 1;
	/* while all live nobody is told anything: for longer than between two looks */
	for (int i = 0; i < 160; i++, usleep(10000))
		if ((r = cuEventQuery(e)) != CUDA_ERROR_NOT_READY)
			return printf("too early: %d\n", r) < 0;
	puts("waiting");
	if (!strcmp(argv[1], "query"))
		while ((r = cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
			usleep(1000);
	else
		r = cuEventSynchronize(e);
	printf("told %d\n", r);
	return 0;
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/event" "$dir/event.c" "$B/lib/libcuda.so.1" || { fail "event.c does not build"; exit 1; }
# NAME HOW-IT-WAITS END PREFIX...: the recorder, by PREFIX, comes to its END while somebody waits
abandoned() {
	local name=$1 how=$2 end=$3 waiter recorder h
	shift 3
	rm -f "$dir/in" "$dir/in2"
	mkfifo "$dir/in" "$dir/in2"
	: >"$dir/waiter"; : >"$dir/recorder"
	timeout 60 "$dir/event" "$how" <"$dir/in" >"$dir/waiter" 2>&1 & waiter=$!
	exec 5>"$dir/in"
	until_true test -s "$dir/waiter"
	h=$(head -n 1 "$dir/waiter")
	"$@" "$dir/event" record "$h" <"$dir/in2" >"$dir/recorder" 2>&1 & recorder=$!
	exec 6>"$dir/in2"
	until_true grep -q recorded "$dir/recorder" || fail "$name: $(cat "$dir/recorder")"
	echo go >&5
	until_true grep -q waiting "$dir/waiter"
	$end $recorder
	wait $waiter
	grep -q '^told 719' "$dir/waiter" && ok "$name" || fail "$name: $(tail -n 1 "$dir/waiter")"
	exec 5>&- 6>&-
	kill -9 $recorder 2>/dev/null
	wait $recorder 2>/dev/null
	:
}
killed() { pkill -KILL -P "$1" -x event; kill -9 "$1"; }
# the youngest context is the recorder's
context_killed() { pkill -KILL -n -P "$stub" -x vgpu-context; }
abandoned "who waits for a killed process's recording is told" sync killed
abandoned "and who polls" query killed
abandoned "and when its context alone is gone" sync context_killed
if unshare -pf true 2>/dev/null; then
	abandoned "and from another PID namespace" sync killed unshare -pf --kill-child
else
	skip "another PID namespace: there is none to be had"
fi
