#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Agent and device die and come back under a program that works: after cudaDeviceReset, or a new primary context, it goes on in
# the same process. One line a scenario.
#   again.sh BUILD
. "$(dirname "$0")/../system/lib.sh"
W=$B/test/soak/worker
start_stub --memory 512M
start_agent
says() { [ "$(grep -c "$1" "$dir/on")" -ge "$2" ]; }

"$W" on 600 >"$dir/on" 2>&1 &
on=$!
n=0
again() { # NAME: one more fault of the worker is over
	n=$((n + 1))
	until_true says '^again' $n && ok "$1" || fail "$1: $(tail -n 2 "$dir/on" | tr '\n' ' ')"
}
until_true says '^running' 1
kill -9 "$agent"; wait "$agent" 2>/dev/null
start_agent
again "the agent is killed and comes back: the driver API goes on after a reset"
sleep 0.2
kill "$agent"; wait "$agent"
start_agent
again "so it does after the agent's orderly end"
for turn in 3 4 5 6; do
	sleep 0.1
	kill -9 "$agent"; wait "$agent" 2>/dev/null
	start_agent
	again "another time, with other addresses for the session (death $turn)"
done
sleep 0.2
kill -9 "$stub"; wait "$stub" 2>/dev/null; rm -f "$dir/stub"
start_stub --memory 512M
again "the device is killed and comes back"
sleep 0.2
pkill -9 -P "$stub" -x vgpu-context
again "the context is killed"
kill $on; wait $on; st=$?
[ $st = 0 ] && grep -q '^checked [1-9][0-9]* wrong 0' "$dir/on" && ok "every result was right ($(tail -n 1 "$dir/on"))" || fail "$(tail -n 1 "$dir/on")"
left() { "$V/vgpu" smi -j | grep -q '"clients": *\[\]'; }
until_true left && ok "nothing of it is left" || fail "left: $("$V/vgpu" smi -j)"

# the runtime, by its name; more than once, with memory and events of the old session given back afterwards
cat >"$dir/rt.py" <<'P'
import ctypes, sys
rt = ctypes.CDLL("libcudart.so.12")
def ok(code, what):
    if code:
        print(what, code); sys.exit(1)
old = []
for turn in range(6):
    p, h, e = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    ok(rt.cudaMalloc(ctypes.byref(p), 1 << 20), "cudaMalloc")
    ok(rt.cudaMallocHost(ctypes.byref(h), 1 << 20), "cudaMallocHost")
    ok(rt.cudaEventCreate(ctypes.byref(e)), "cudaEventCreate")
    ok(rt.cudaEventRecord(e, None), "cudaEventRecord")
    ctypes.memset(h, turn + 1, 1 << 20)
    ok(rt.cudaMemcpy(p, h, ctypes.c_size_t(1 << 20), 1), "cudaMemcpy to")
    ctypes.memset(h, 0, 1 << 20)
    ok(rt.cudaMemcpy(h, p, ctypes.c_size_t(1 << 20), 2), "cudaMemcpy from")
    assert ctypes.string_at(h, 1 << 20) == bytes([turn + 1]) * (1 << 20), "wrong bytes"
    for q, g, f in old:     # of a session that is over: refused, or nothing; never somebody else's
        rt.cudaFree(q); rt.cudaFreeHost(g); rt.cudaEventQuery(f); rt.cudaEventDestroy(f)
    old.append((p, h, e))
    print("turn", turn, flush=True)
    sys.stdin.readline()
    assert rt.cudaMalloc(ctypes.byref(ctypes.c_void_p()), 4096) != 0, "the agent is dead, and nobody noticed"
    assert rt.cudaDeviceReset() == 0, "cudaDeviceReset"
print("done")
P
mkfifo "$dir/go"
exec 4<>"$dir/go"
: >"$dir/on"
python3 "$dir/rt.py" <&4 >"$dir/on" 2>&1 &
on=$!
for turn in 0 1 2 3 4 5; do
	until_true says "^turn $turn" 1 || break
	kill -9 "$agent"; wait "$agent" 2>/dev/null
	start_agent
	echo >&4
done
wait $on
grep -q '^done' "$dir/on" && ok "cudaDeviceReset connects anew, six times in one process" ||
	fail "cudaDeviceReset: $(tail -n 2 "$dir/on" | tr '\n' ' '); the agent: $(tail -n 4 "$dir/agent.log" | tr '\n' ' '); the device: $(tail -n 4 "$dir/stub.log" | tr '\n' ' ')"

# ---- a thread that saw the old agent's end, and was too slow to say so, does not end the session with the next one
: >"$dir/on"
"$B/test/soak/stale" <&4 >"$dir/on" 2>&1 &
on=$!
until_true grep -q '^running' "$dir/on"
kill -9 "$agent"; wait "$agent" 2>/dev/null
start_agent
until_true grep -q '^held' "$dir/on" || fail "a slow thread: $(cat "$dir/on")"
echo >&4
wait $on
grep -q '^went on' "$dir/on" && ok "what a thread learnt of the old session does not end the new one" ||
	fail "what a thread learnt of the old session ends the new one: $(tail -n 3 "$dir/on" | tr '\n' ' ')"
