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

# --- systemd's own journal, in namespaces of the test: it has whom a line is about, for journalctl to choose by
journal=$(dirname "$(readlink -f "$(command -v systemctl 2>/dev/null || echo /lib/systemd/systemd)")")/systemd-journald
[ -x "$journal" ] || journal=/lib/systemd/systemd-journald
# as the service manager does it: stderr is a stream of the journal's, which the environment names
cat >"$dir/unit.py" <<'PY'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("/run/systemd/journal/stdout")
s.send(b"vgpu-agent\n\n6\n1\n0\n0\n0\n")
st = os.fstat(s.fileno())
os.dup2(s.fileno(), 2)
os.environ["JOURNAL_STREAM"] = f"{st.st_dev}:{st.st_ino}"
os.execv(sys.argv[1], sys.argv[1:])
PY
cat >"$dir/inside.sh" <<'SH'
dir=$1 V=$2 vecadd=$3 journal=$4
mount --make-rprivate / && mount -t tmpfs none /run && mount -t tmpfs none /mnt && tr -d - </proc/sys/kernel/random/uuid >/mnt/id && chmod 444 /mnt/id && touch /etc/machine-id 2>/dev/null
mount --bind /mnt/id /etc/machine-id && mkdir -p "/run/log/journal/$(cat /mnt/id)" /run/systemd/journal || exit 7
"$journal" >"$dir/journald" 2>&1 & j=$!
wait_for() { for _ in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; return 1; }
wait_for test -S /run/systemd/journal/stdout && wait_for test -S /run/systemd/journal/socket || exit 7
"$V/vgpu-stub" --socket "$dir/jstub" 2>/dev/null & stub=$!
wait_for test -S "$dir/jstub"
export VGPU_AGENT=$dir/jagent
python3 "$dir/unit.py" "$V/vgpu-agent" --device "vfio-user:$dir/jstub" --listen "$dir/jagent" --pidfile "$dir/jpid" & agent=$!
wait_for "$V/vgpu" smi -j
"$vecadd" >/dev/null & client=$!
wait $client
asks() { journalctl -D /run/log/journal --no-pager -o json "$@"; }
goes() { asks "VGPU_CLIENT_PID=$client" | grep -q ' goes: '; }
wait_for goes
echo "client $client"
"${vecadd%/*}/endless" >/dev/null 2>&1 & endless=$!
id() { "$V/vgpu" ctl list -j | sed -n 's/.*"client":\([0-9]*\).*/\1/p' | grep .; }
wait_for id
"$V/vgpu" ctl end "$(id)"
wait $endless
"$V/vgpu" ctl drain 0 >/dev/null
kill -9 "$(pgrep -P $stub | head -n 1)" $stub 2>/dev/null
lost() { asks PRIORITY=3 | grep -q 'is lost'; }
wait_for lost
asks >"$dir/journal.json"
asks "VGPU_CLIENT_PID=$client" >"$dir/client.json"
asks VGPU_DEVICE=0 PRIORITY=3 >"$dir/device.json"
asks VGPU_BY_UID=0 >"$dir/by.json"
# the journal ends and comes again: the next line is there
kill $j; wait $j
"$journal" >>"$dir/journald" 2>&1 & j=$!
sleep 0.2; wait_for test -S /run/systemd/journal/socket
"$V/vgpu" ctl undrain 0 >/dev/null
undrained() { asks | grep -q 'out of drain'; }
wait_for undrained && echo again
kill $agent $j; wait
SH
if ! [ -x "$journal" ] || ! command -v journalctl >/dev/null; then
	skip "fields in the journal: no systemd-journald here"
elif ! unshare -mpf --mount-proc true 2>/dev/null; then
	skip "fields in the journal: no namespaces can be made here"
else
	timeout 200 unshare -mpf --mount-proc bash "$dir/inside.sh" "$dir" "$V" "$B/e2e/driver/vecadd" "$journal" >"$dir/inside" 2>"$dir/inside.err"; st=$?
	if [ $st = 7 ]; then
		skip "fields in the journal: it does not come up here: $(tail -n 1 "$dir/journald" "$dir/inside.err" 2>/dev/null | tr '\n' ' ')"
	else
		cat >"$dir/check.py" <<'PY'
import json, sys
at, client = sys.argv[1], sys.argv[2]
lines = lambda f: [json.loads(l) for l in open(f"{at}/{f}.json")]
mine = lines("client")
assert [l["MESSAGE"].split()[2].rstrip(":") for l in mine] == ["comes", "goes"], mine
for l in mine:
    assert l["VGPU_CLIENT_COMMAND"] == "vecadd" and l["VGPU_CLIENT_UID"] == "0" and l["VGPU_CLIENT"] == l["MESSAGE"].split()[1], l
    assert l["PRIORITY"] == "6" and l["SYSLOG_IDENTIFIER"] == "vgpu-agent" and l["_COMM"] == "vgpu-agent" and l["_TRANSPORT"] == "journal", l
lost = lines("device")
assert len(lost) == 1 and lost[0]["MESSAGE"].startswith("error: device 0 ("), lost
by = lines("by")
assert [l["MESSAGE"].split()[2] for l in by] == ["ends", "drains"] and "VGPU_CLIENT" in by[0] and by[1]["VGPU_DEVICE"] == "0", by
every = [l for l in lines("journal") if l.get("_COMM") == "vgpu-agent"]
assert len(every) > 4 and not [l for l in every if l["MESSAGE"].startswith("<")], every
assert not [l for l in every if "VGPU_CLIENT" in l and "client" not in l["MESSAGE"]], "fields of the line before"
PY
		out=$(python3 "$dir/check.py" "$dir" "$(sed -n 's/^client //p' "$dir/inside")" 2>&1) && ok "the journal has clients, devices and who asked as fields" || fail "fields: $(tail -n 1 <<<"$out"), $(tail -n 2 "$dir/inside.err")"
		grep -qx again "$dir/inside" && ok "a journal that starts anew is met" || fail "a journal that starts anew: $(cat "$dir/inside" "$dir/inside.err" | tail -n 3)"
	fi
fi

# elsewhere than in the journal nothing changes, though the variable is inherited
JOURNAL_STREAM=1:1 "$V/vgpu-agent" --device vfio-user:/nowhere --listen "$dir/agent4" --pidfile "$dir/pid4" 2>"$dir/plain"
grep -qE '^[0-9]{4}-[0-9-]+ [0-9:.]+ vgpu-agent: ' "$dir/plain" && ok "a file gets lines with time and name" || fail "in a file: $(cat "$dir/plain")"
