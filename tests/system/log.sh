#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemons' lines as the journal wants them: a priority first, no time of their own; one line when a client comes, one when it goes.
. "$(dirname "$0")/lib.sh"

# a socket of SOCK_STREAM, as systemd gives one for stderr, and what comes out of it in a file
cat >"$dir/journal.py" <<'PY'
import os, socket, subprocess, sys, threading
a, b = socket.socketpair()
st = os.fstat(b.fileno())
p = subprocess.Popen(sys.argv[2:], stderr=b, env=dict(os.environ, JOURNAL_STREAM=f"{st.st_dev}:{st.st_ino}"))
b.close()
import signal
signal.signal(signal.SIGTERM, lambda *_: p.terminate())
with open(sys.argv[1], "wb", buffering=0) as out:
    while True:
        d = a.recv(65536)
        if not d:
            break
        out.write(d)
sys.exit(p.wait())
PY
python3 "$dir/journal.py" "$dir/stub.log" "$V/vgpu-stub" --socket "$dir/stub" & stub=$!
until_true test -S "$dir/stub"
python3 "$dir/journal.py" "$dir/agent.log" "$V/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/agent" --pidfile "$dir/pid" & agent=$!
export VGPU_AGENT=$dir/agent
until_true "$V/vgpu" smi -j || { fail "no agent: $(cat "$dir/agent.log")"; exit 1; }
"$B/e2e/driver/vecadd" >/dev/null || fail "vecadd"
until_true grep -q 'client .* goes:' "$dir/agent.log"
grep -qv '^<[3467]>' "$dir/agent.log" && fail "a line without priority: $(grep -v '^<[3467]>' "$dir/agent.log" | head -n 2)" || ok "every line of the agent has a priority"
grep -qE '^<[0-9]>[0-9]{4}-' "$dir/agent.log" && fail "the journal has the time itself" || ok "and no time of its own"
grep -qE '^<6>client [0-9]+ comes: vecadd, pid [0-9]+, uid [0-9]+, container ' "$dir/agent.log" && ok "a client that comes has a line" || fail "no line of a client that comes: $(cat "$dir/agent.log")"
[ "$(grep -c 'vecadd' "$dir/agent.log")" = 2 ] && ok "one when it comes, one when it goes" || fail "lines about one client: $(grep vecadd "$dir/agent.log")"
pkill_stub() { pgrep -P "$stub" | while read -r p; do kill -KILL "$p"; done; }
pkill_stub
until_true grep -q '^<3>error: device 0' "$dir/agent.log" && ok "a lost device is an error to the journal" || fail "a lost device: $(tail -n 2 "$dir/agent.log")"
wait "$stub" 2>/dev/null; stub=
kill "$agent"; wait "$agent"; agent=
# elsewhere than in the journal nothing changes, though the variable is inherited
JOURNAL_STREAM=1:1 "$V/vgpu-agent" --device vfio-user:/nowhere --listen "$dir/agent4" --pidfile "$dir/pid4" 2>"$dir/plain"
grep -qE '^[0-9]{4}-[0-9-]+ [0-9:.]+ vgpu-agent: ' "$dir/plain" && ok "a file gets lines with time and name" || fail "in a file: $(cat "$dir/plain")"
