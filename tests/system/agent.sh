#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The agent as a program: what its binary is, how it starts, what it costs when busy and when idle.
. "$(dirname "$0")/lib.sh"

bin=$V/vgpu-agent
f=$(file -b "$bin")
case $f in *"static-pie linked"*stripped*) ok "agent is static-pie and stripped" ;; *) fail "agent is not a stripped static-pie: $f" ;; esac
size=$(stat -c %s "$bin")
[ "$size" -le 524288 ] && ok "agent has $size bytes (at most 524288)" || fail "agent has $size bytes"
readelf -lW "$bin" | grep -q INTERP && fail "agent wants an interpreter" || ok "agent has no interpreter"
readelf -lW "$bin" | grep -q GNU_RELRO && ok "agent has RELRO" || fail "agent lacks RELRO"
readelf -lW "$bin" | awk '/GNU_STACK/ {exit $0 ~ /RWE/}' && ok "agent's stack is not executable" || fail "agent's stack is executable"
readelf -lW "$bin" | awk '/LOAD/ && /RWE/ {bad=1} END {exit bad}' && ok "no segment of the agent is writable and executable" || fail "agent has an RWX segment"

start_stub
start_agent
out=$("$bin" --device "vfio-user:$dir/stub" --listen "$dir/agent2" --pidfile "$dir/pid" 2>&1)
st=$?
[ $st != 0 ] && grep -q "$agent" <<<"$out" && ok "a second start is refused and names pid $agent" || fail "second start: exit $st: $out"
out=$("$bin" --device 0000:ff:1f.7 --listen "$dir/agent3" --pidfile "$dir/pid3" 2>&1) &&
	fail "agent started without a device" || { [ -n "$out" ] && ok "no such PCI device: refused with a reason"; }
out=$("$bin" --nonsense 2>&1) && fail "agent took --nonsense" || ok "unknown flags are refused"

# idle: how often its threads wake in 4 s, the last looks after its start among them, and what that costs: 2 ms. It was 16, and 33 beside
# others, while the control thread looked for clients in 256 places of 26 KiB, none of which was in a cache any more.
busy() { cat "/proc/$1"/task/*/schedstat | awk '{n += $1} END {printf "%d", n / 1000}'; }
switches() { cat "/proc/$1"/task/*/status | awk '/^voluntary/ {n += $2} END {print n}'; }
t0=$(busy "$agent") s0=$(switches "$agent")
sleep 4
used=$(($(busy "$agent") - t0)) slept=$(($(switches "$agent") - s0))
[ "$slept" -lt 40 ] && [ "$used" -lt 20000 ] && ok "idle for 4 s: $slept wake-ups, $used us of processor time" ||
	fail "idle for 4 s: $slept wake-ups, $used us of processor time"

# busy: system calls of the agent, sched_yield apart (there it makes room for the device). It makes them to go to sleep and to wake
# who sleeps, some for each of its own sleeps, and none for a launch; how often it sleeps is a matter of who else works here. So
# they are held to its sleeps, and there must be many more launches; the best of some looks counts.
forwarded() { "$V/vgpu" smi -j | sed 's/.*"commands":\([0-9]*\).*/\1/'; }
look() {
	: >"$dir/hot"           # what is behind & opens it when it gets to run
	"$B/test/system/hotloop" 2 >"$dir/hot" 2>&1 &
	local hot=$! n0
	until_true grep -q started "$dir/hot"
	n0=$(forwarded)
	timeout -s INT 1 strace -c -f -p "$agent" -o "$dir/strace" >/dev/null 2>&1
	n=$(($(forwarded) - n0))
	wait $hot || fail "hot loop: $(cat "$dir/hot")"
	calls=$(awk '$NF != "sched_yield" && $NF != "total" && $4 ~ /^[0-9]+$/ {n += $4} END {print n + 0}' "$dir/strace")
	sleeps=$(awk '$NF == "epoll_pwait" {print $4}' "$dir/strace")
	grep -q 'usecs/call' "$dir/strace" && few
}
few() { [ "$n" -gt 1000 ] && [ "$calls" -le $((6 * ${sleeps:-0} + 100)) ] && [ $((10 * calls)) -lt "$n" ]; }
if command -v strace >/dev/null; then
	seen=
	for i in 1 2 3 4 5 6 7 8; do
		look && break
		seen="$seen $calls/$n (${sleeps:-0} sleeps)"
		sleep 0.5
	done
	if ! grep -q 'usecs/call' "$dir/strace"; then
		skip "strace cannot attach here: $(head -n 1 "$dir/strace")"
	elif few; then
		ok "$calls system calls, of ${sleeps:-0} sleeps, while $n launches went by (look $i)"
	else
		fail "system calls per launches:$seen"
		cat "$dir/strace"
	fi
else
	skip "system calls per launch: no strace"
fi

kill "$agent"; wait "$agent"; st=$?
[ $st = 0 ] && ok "SIGTERM ends the agent with status 0" || fail "SIGTERM: exit $st"
[ ! -e "$dir/agent" ] && [ ! -e "$dir/pid" ] && ok "socket and pid file are gone" || fail "left behind: $(ls "$dir")"
agent=
kill "$stub"; wait "$stub"; st=$?
[ $st = 0 ] && ok "SIGTERM ends the device with status 0" || fail "device: exit $st"
[ ! -e "$dir/stub" ] && ok "the device's socket is gone" || fail "the device left its socket"
stub=
