#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Descriptors that another program of the same user leaves unread in a socket (unix(7), ETOOMANYREFS): contexts are made all
# the same, what cannot go at once goes later, and what cannot go at all fails with the reason.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { skip "descriptors in flight: no python3"; exit 0; }
# a root's CAP_SYS_RESOURCE would let everything pass
weak=()
if [ "$(id -u)" = 0 ]; then
	weak=(setpriv "--bounding-set=-sys_resource,-sys_admin")
	"${weak[@]}" true 2>/dev/null || { skip "descriptors in flight: root, and setpriv cannot take its capabilities"; exit 0; }
fi

# leave N SECONDS: N descriptors in flight for that long
leave() {
	rm -f "$dir/left"
	python3 - "$@" >"$dir/left" <<'P' &
import array, os, resource, socket, sys, time
n = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
fd, keep = os.open("/dev/null", os.O_RDONLY), []
while n > 0:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd] * min(n, 200)))])
    keep += [a, b]
    n -= 200
print("left", flush=True)
time.sleep(float(sys.argv[2]))
P
	left=$!
	until_true grep -q left "$dir/left"
}
unleave() { kill "$left" 2>/dev/null; wait "$left" 2>/dev/null; }

start_stub
start_agent
leave 40 60
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "forty in flight are nothing" || fail "forty in flight: $(head -n 1 "$dir/out")"
unleave
kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null

# A device and an agent with little room of their own. Each in turn meets a wall that goes away, and one that stays.
limited=400
# narrow COMMAND...: in the background only, its process is the command's
narrow() { ulimit -n $limited; exec ${weak[@]+"${weak[@]}"} "$@"; }
narrow "$V/vgpu-stub" --socket "$dir/stub" 2>>"$dir/stub.log" & stub=$!
until_true test -S "$dir/stub"
narrow "$V/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/agent" --pidfile "$dir/pid" 2>>"$dir/agent.log" & agent=$!
until_true "$V/vgpu" smi -j || { fail "an agent with $limited files: $(tail -n 1 "$dir/agent.log")"; exit 1; }

leave $((limited + 100)) 60
(sleep 1.5; kill "$left") &
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "a wall that goes: everything waits for it" || fail "a wall that goes: $(head -n 1 "$dir/out")"
wait "$left" 2>/dev/null

leave $((limited + 100)) 60
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && fail "a wall that stays is not seen"
grep -q 'ETOOMANYREFS' "$dir/agent.log" && grep -q 'ETOOMANYREFS' "$dir/out" && ok "a wall that stays at HELLO: both say the reason" || fail "a wall that stays at HELLO: $(tail -n 1 "$dir/agent.log"), $(head -n 1 "$dir/out")"
unleave
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "and afterwards all is well" || fail "afterwards: $(head -n 1 "$dir/out")"

# only the device's side: the agent has room
kill "$agent"; wait "$agent" 2>/dev/null
start_agent
leave $((limited + 100)) 60
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && fail "a wall before the device is not seen"
grep -q 'ETOOMANYREFS' "$dir/out" && ok "a wall that stays at the device: the program hears the reason" || fail "a wall that stays at the device: $(head -n 2 "$dir/out")"
unleave
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "and the device is still there" || fail "the device afterwards: $(head -n 1 "$dir/out")"

# a context that dies as it begins, here because its user may not run the program any more: the reason is said, on both sides
kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null
chmod 711 "$dir"; mkdir "$dir/bin"; cp "$V/vgpu-stub" "$dir/bin/"; chmod 755 "$dir/bin" "$dir/bin/vgpu-stub"
: >"$dir/stub.log"
"$dir/bin/vgpu-stub" --socket "$dir/stub" 2>>"$dir/stub.log" & stub=$!
until_true test -S "$dir/stub"
start_agent
timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 || fail "a device beside the others: $(head -n 1 "$dir/out")"
if grep -q 'walls around contexts:.* uid' "$dir/stub.log"; then
	chmod 700 "$dir/bin/vgpu-stub"
	timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && fail "a context of a program that may not be run"
	grep -q "no context: the context's process died as it began" "$dir/out" && grep -q 'exit status 127' "$dir/stub.log" &&
		ok "a context that dies as it begins: both say so" || fail "a context that dies as it begins: $(head -n 1 "$dir/out"); $(tail -n 1 "$dir/stub.log")"
else
	skip "a context that dies as it begins: contexts have no user of their own here"
fi
