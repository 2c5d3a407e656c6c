#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory of another process: for the same user only, while its process lives; who has opened it keeps it when that one is killed.
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
