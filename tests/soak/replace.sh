#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent takes over from another one while clients work: the old ones finish where they are, the new ones come to the new one,
# and at no moment is nobody there. And a socket that the service manager holds outlives the agent.
#   replace.sh BUILD
. "$(dirname "$0")/../system/lib.sh"
W=$B/test/soak/worker
start_stub --memory 512M
start_agent
old_stub=$stub old_agent=$agent
"$W" on 600 >"$dir/old" 2>&1 &
old=$!
served() { "$V/vgpu" smi -j | grep -q '"command":"worker"'; }
until_true served
# who comes meanwhile, one after the other
(while [ ! -e "$dir/enough" ]; do "$W" first || echo bad; done) >"$dir/comers" 2>&1 &
comers=$!

"$V/vgpu-stub" --socket "$dir/stub2" --memory 512M 2>>"$dir/stub.log" &
stub=$!
until_true test -S "$dir/stub2"
"$V/vgpu-agent" --device "vfio-user:$dir/stub2" --listen "$dir/agent" --pidfile "$dir/pid" 2>"$dir/second" && fail "a second agent starts without --replace" ||
	{ grep -q 'already running' "$dir/second" && ok "without --replace a second agent is refused"; }
"$V/vgpu-agent" --device "vfio-user:$dir/stub2" --listen "$dir/agent" --pidfile "$dir/pid" --replace 2>>"$dir/agent.log" &
agent=$!
says() { grep -q "$1" "$dir/agent.log"; }
until_true says "took over from pid $old_agent" && until_true says 'another vgpu-agent has taken over' && ok "both say so" || fail "$(tail -n 3 "$dir/agent.log")"
of_new() { [ "$(cat "$dir/pid")" = "$agent" ] && "$V/vgpu" smi -j | grep -q "\"pid\":$agent"; }
until_true of_new && ok "socket and pid file are the new one's" || fail "pid file: $(cat "$dir/pid"), new agent $agent"
"$W" first >"$dir/new" 2>&1 && ok "a new client is served" || fail "a new client: $(cat "$dir/new")"
kill -0 "$old_agent" 2>/dev/null && kill -0 $old && ok "the old client is still served by the old one" || fail "the old agent is gone: $(tail -n 2 "$dir/agent.log")"
touch "$dir/enough"; wait $comers
[ -s "$dir/comers" ] && ! grep -qv ' ms$' "$dir/comers" && ok "who came meanwhile was served ($(wc -l <"$dir/comers"))" || fail "meanwhile: $(grep -v ' ms$' "$dir/comers" | sort | uniq -c | head -n 3)"
kill $old; wait $old; st=$?
[ $st = 0 ] && grep -q 'wrong 0 faults 0' "$dir/old" && ok "the old client noticed nothing ($(tail -n 1 "$dir/old"))" || fail "the old client: $(tail -n 2 "$dir/old")"
wait "$old_agent"; st=$?
[ $st = 0 ] && [ -S "$dir/agent" ] && [ "$(cat "$dir/pid")" = "$agent" ] && "$W" first >/dev/null && ok "then the old one ends, and takes nothing with it" || fail "the old agent: $st"
kill "$old_stub"; wait "$old_stub" 2>/dev/null
kill "$agent"; wait "$agent"
[ ! -e "$dir/agent" ] && [ ! -e "$dir/pid" ] && ok "the new one takes its own away" || fail "left: $(ls "$dir")"

# the service manager's socket: held by python here, as sd_listen_fds(3) says
cat >"$dir/manager.py" <<'P'
import os, socket, subprocess, sys, time
path, cmd = sys.argv[1], sys.argv[2:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(path); s.listen(64)
def go():
    os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
    os.environ["LISTEN_FDS"] = "1"; os.environ["LISTEN_PID"] = str(os.getpid())
for turn in range(2):
    p = subprocess.Popen(cmd, preexec_fn=go, close_fds=False)
    print("up", p.pid, flush=True)
    sys.stdin.readline()
    p.terminate(); print("ended", p.wait(), os.path.exists(path), flush=True)
    sys.stdin.readline()
P
mkfifo "$dir/go"
exec 4<>"$dir/go"
python3 "$dir/manager.py" "$dir/agent" "$V/vgpu-agent" --device "vfio-user:$dir/stub2" --listen "$dir/agent" --pidfile "$dir/pid" <&4 >"$dir/manager" 2>>"$dir/agent.log" &
manager=$!
until_true "$V/vgpu" smi -j
"$W" first >"$dir/out" 2>&1 && ok "a socket of the service manager's is served" || fail "a given socket: $(cat "$dir/out")"
echo >&4
until_true grep -q 'ended 0 True' "$dir/manager" && ok "it stays when the agent ends" || fail "$(cat "$dir/manager")"
"$W" first >"$dir/out" 2>&1 &
waits=$!
sleep 0.3
echo >&4
wait $waits && ok "who comes between two agents waits for the second" || fail "between two agents: $(cat "$dir/out")"
echo >&4; echo >&4
wait $manager
agent=''
