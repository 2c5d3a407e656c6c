#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Registered host memory is the process's own: it keeps its bytes when the administrator ends the client, and when the agent dies.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
cat >"$dir/keep.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
	enum { BYTES = 3 << 20 };
	CUdevice d; CUcontext c; CUdeviceptr p;
	unsigned char *m = malloc(BYTES);
	char line[16];

	for (int i = 0; i < BYTES; i++)
		m[i] = (unsigned char)(i * 7);
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d) || cuMemHostRegister(m, BYTES, 0) ||
	    cuMemHostGetDevicePointer(&p, m, 0) || cuMemsetD8(p, 0x42, 4096) || cuCtxSynchronize())
		return puts("cannot register") < 0;
	puts("registered");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	printf("calls give %d\n", cuMemsetD8(p, 0x43, 1) ? 1 : cuCtxSynchronize() != 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < BYTES; i++)
			if (m[i] != (unsigned char)(i < 4096 ? 0x42 : i * 7))
				return printf("byte %d is lost, round %d\n", i, round) < 0;
		if (round == 0)
			cuMemHostUnregister(m);
		if (round == 1)
			cuCtxDestroy(c);
	}
	memset(m, 1, BYTES);
	free(m);
	puts("all bytes are there");
	return 0;
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/keep" "$dir/keep.c" "$B/lib/libcuda.so.1" || { fail "does not build"; exit 1; }
# keep NAME COMMAND...: registers, has the command done to its session, looks at its bytes
keep() {
	local name=$1 st
	shift
	mkfifo "$dir/in"
	: >"$dir/out"
	"$dir/keep" <"$dir/in" >"$dir/out" 2>"$dir/err" & pid=$!
	exec 3>"$dir/in"
	until_true grep -q registered "$dir/out" || fail "$name: it does not start: $(cat "$dir/out" "$dir/err")"
	"$@"
	echo go >&3
	exec 3>&-
	wait "$pid"
	st=$?
	rm -f "$dir/in"
	[ $st = 0 ] && grep -q 'calls give 1' "$dir/out" && grep -q 'all bytes' "$dir/out" && ok "$name" || fail "$name: exit $st, $(tail -n 2 "$dir/out" "$dir/err")"
}
client() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
for c in json.load(sys.stdin)["contexts"]:
    if c["pid"] == int(sys.argv[1]): print(c["client"])' "$pid"; }
gone() { [ -z "$(client)" ]; }
ended() { "$V/vgpu" ctl end "$(client)" >/dev/null && until_true gone; }
killed() { kill -9 "$agent"; wait "$agent" 2>/dev/null; agent=''; }
start_stub
start_agent
keep "the client is ended" ended
# what the process kept is counted until it ends, and no longer
none() { ! "$V/vgpu" smi -j | grep -q '"command": *"keep"'; }
until_true none && ok "and forgotten with its process" || fail "still there: $("$V/vgpu" smi)"
keep "the agent is killed" killed
