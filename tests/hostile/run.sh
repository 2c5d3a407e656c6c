#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hostile clients, and sudden deaths of every part, beside an honest client. One line a scenario:
#   ok NAME | FAIL NAME reason | skip NAME reason
#
#   run.sh BUILD [PATTERN]      BUILD holds bin/, lib/, e2e/driver/ and test/hostile/hostile; PATTERN picks scenarios
# Starts a device and an agent of its own in a temporary folder; a scenario that kills one of them
# gets new ones afterwards. Ends only what it started.
set -u
. "$(dirname "$0")/huge.sh"
B=$(cd "$1" && pwd)
only=${2:-}
T=$(mktemp -d /tmp/vgpu-hostile.XXXXXX)
export VGPU_AGENT=$T/agent.sock LD_LIBRARY_PATH=$B/lib
unset LD_PRELOAD
stub_pid='' agent_pid='' nr_was='' bad=0
hostile=$B/test/hostile/hostile vecadd=$B/e2e/driver/vecadd endless=$B/e2e/driver/endless

for f in "$hostile" "$vecadd" "$endless" "$B/bin/vgpu-stub" "$B/bin/vgpu-agent" "$B/bin/vgpu"; do
	[ -x "$f" ] || { echo "FAIL start $f is not built"; exit 1; }
done

smi() { timeout 20 "$B/bin/vgpu" smi -j 2>/dev/null; }
# of the JSON on stdin: how many clients (of command $1), bytes of device memory in use
clients() { grep -o "\"command\": *\"${1:-[^\"]*}\"" | wc -l; }
memory() { grep -o '"memory_used_bytes": *[0-9]*' | head -n 1 | grep -o '[0-9]*$'; }
alive() { [ -n "$1" ] && kill -0 "$1" 2>/dev/null && [ "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1)" != Z ]; }
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }
# processor time of all its threads, ns
busy_ns() { cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ n += $1 } END { printf "%d", n }'; }

# soon COMMAND...: until it succeeds; a minute is patience with a busy machine, and no measure of anything
soon() {
	local end=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

answers() { [ -S "$VGPU_AGENT" ] && smi >/dev/null; }

stop_gpu() {
	[ -n "$agent_pid" ] && kill "$agent_pid" 2>/dev/null && soon dead "$agent_pid"
	[ -n "$stub_pid" ] && kill "$stub_pid" 2>/dev/null && soon dead "$stub_pid"
	[ -n "$agent_pid" ] && kill -9 "$agent_pid" 2>/dev/null
	[ -n "$stub_pid" ] && kill -9 "$stub_pid" 2>/dev/null
	wait 2>/dev/null
	agent_pid='' stub_pid=''
	rm -f "$T"/*.sock "$T/agent.pid"
}
dead() { ! alive "$1"; }

start_gpu() {
	alive "$stub_pid" && alive "$agent_pid" && return 0
	stop_gpu
	"$B/bin/vgpu-stub" --socket "$T/stub.sock" --memory 512M >>"$T/stub.log" 2>&1 &
	stub_pid=$!
	soon test -S "$T/stub.sock" || { echo "FAIL start the device does not start: $(tail -n 1 "$T/stub.log")"; exit 1; }
	"$B/bin/vgpu-agent" --device "vfio-user:$T/stub.sock" --listen "$VGPU_AGENT" --pidfile "$T/agent.pid" \
		>>"$T/agent.log" 2>&1 &
	agent_pid=$!
	soon answers || { echo "FAIL start the agent does not answer: $(tail -n 1 "$T/agent.log")"; exit 1; }
}

cleanup() {
	stop_gpu
	[ -z "$nr_was" ] || echo "$nr_was" >/proc/sys/vm/nr_hugepages
	rm -rf "$T"
}
trap cleanup EXIT

# ---- verdicts ---------------------------------------------------------------------------------
ok() { echo "ok $1"; }
fail() {
	bad=1
	echo "FAIL $*"
	tail -n 5 "$T/agent.log" | sed 's/^/  agent | /'
	tail -n 3 "$T/stub.log" | sed 's/^/  stub  | /'
}
wanted() { [ -z "$only" ] || [[ $1 =~ $only ]]; }

all_gone() {
	local j
	j=$(smi) || return 1
	[ "$(clients <<<"$j")" = 0 ] && [ "$(memory <<<"$j")" = 0 ]
}
gone() {	# COMMAND: no client of that name
	local j
	j=$(smi) || return 1
	[ "$(clients "$1" <<<"$j")" = 0 ]
}

# Everybody well? NAME HONEST_STATUS HONEST_OUTPUT_FILE
health() {
	local name=$1 st=$2 out=$3
	[ "$st" = 0 ] || { fail "$name the honest client ended with $st: $(grep -m 1 FAIL "$out" || tail -n 1 "$out")"; return 1; }
	alive "$agent_pid" || { fail "$name the agent is dead"; return 1; }
	alive "$stub_pid" || { fail "$name the device is dead"; return 1; }
	soon all_gone || { fail "$name still there after a minute: $(smi | tr -d '\n' | grep -o '"clients.*' | head -c 300)"; return 1; }
	soon agent_idle || { fail "$name the agent does not come to rest"; return 1; }
}
# at most a tenth of the time, of which what a look at it costs is no small part
agent_idle() {
	local before after
	before=$(busy_ns "$agent_pid"); sleep 0.15; after=$(busy_ns "$agent_pid")
	[ $((after - before)) -le 15000000 ]
}

# for as long as it takes: who starts it ends it. What is behind & opens its file when it gets to run: what the one before said
# must not be taken for its own until then.
honest() {
	: >"$T/honest.out"
	"$vecadd" loop 600 >"$T/honest.out" 2>&1 &
	honest_pid=$!
	soon grep -q running "$T/honest.out"
}

# ---- hostile modes ----------------------------------------------------------------------------
# MODE [NAME OF THE SCENARIO]
mode() {
	local mode=$1 name=${2:-$1} st hst
	wanted "$name" || return 0
	start_gpu
	honest || { fail "$name the honest client does not start: $(tail -n 1 "$T/honest.out")"; wait $honest_pid; return; }
	timeout -k 1 45 "$hostile" "$mode" >"$T/hostile.out" 2>&1
	st=$?
	if [ "$mode" = die-forked ]; then
		# Its forked child is alive now; the client must be gone all the same.
		soon gone hostile && outlived "$T/hostile.out" || fail "$name: the dead client is still served while its forked child lives"
	fi
	# It goes on for a hundred rounds, so harm that comes late meets it too.
	kill -TERM $honest_pid
	wait $honest_pid
	hst=$?
	# 1: a breach; 2, 3: nothing was done. A signal (its own memory taken away, SIGKILL) or being cut off is its affair.
	if [ $st -ge 1 ] && [ $st -le 3 ]; then
		fail "$name $(grep -m 1 BREACH "$T/hostile.out" || grep -m 1 nothing "$T/hostile.out" || tail -n 1 "$T/hostile.out")"
		health "$name" "$hst" "$T/honest.out"
		return
	fi
	health "$name" "$hst" "$T/honest.out" && ok "$name"
}

# FILE: the forked child that it names is still there; it need not be any more
outlived() {
	local child
	child=$(sed -n 's/.*child \([0-9][0-9]*\).*/\1/p' "$1" | head -n 1)
	[ -n "$child" ] && kill -9 "$child"
}

# ---- sudden deaths ----------------------------------------------------------------------------
# A victim in the given way of endless.c: victim_pid
victim() {
	: >"$T/victim.out"
	"$endless" "$1" >"$T/victim.out" 2>&1 &
	victim_pid=$!
	soon grep -qs running "$T/victim.out"
}

kill_client() {	# NAME WAY
	wanted "$1" || return 0
	start_gpu
	honest || { fail "$1 the honest client does not start"; return; }
	victim "$2" || { fail "$1 the victim does not start: $(tail -n 1 "$T/victim.out")"; kill -9 $honest_pid; return; }
	kill -9 $victim_pid
	if ! soon gone endless; then
		fail "$1 context and memory are still there a minute after kill -9"
		kill -9 $honest_pid
		return
	fi
	[ "$2" != fork ] || outlived "$T/victim.out" || { fail "$1 its forked child did not outlive it: this proved nothing"; kill -9 $honest_pid; return; }
	kill -TERM $honest_pid
	wait $honest_pid
	health "$1" $? "$T/honest.out" && ok "$1"
}

kill_stub() {
	local t0 ms st
	wanted kill-stub || return 0
	start_gpu
	honest && victim wait || { fail "kill-stub the clients do not start"; return; }
	t0=$(date +%s%N)
	kill -9 "$stub_pid"
	soon dead $honest_pid || { fail "kill-stub the busy client notices nothing"; kill -9 $honest_pid $victim_pid; return; }
	soon dead $victim_pid || { fail "kill-stub the waiting client waits for ever"; kill -9 $victim_pid; return; }
	ms=$((($(date +%s%N) - t0) / 1000000))
	wait $honest_pid && { fail "kill-stub the busy client ends without an error"; return; }
	wait $victim_pid; st=$?
	[ $st = 0 ] || { fail "kill-stub the waiting client got no error: $(tail -n 1 "$T/victim.out")"; return; }
	# The agent says so, and is either there to be asked or has ended by itself.
	grep -qi 'device' "$T/agent.log" || { fail "kill-stub the agent says nothing"; return; }
	if alive "$agent_pid"; then
		soon smi >/dev/null || { fail "kill-stub the agent hangs"; return; }
	fi
	ok "kill-stub (both clients told within $ms ms: $(tail -n 1 "$T/victim.out"))"
}

kill_agent() {
	local t0 ms err
	wanted kill-agent || return 0
	start_gpu
	honest && victim wait || { fail "kill-agent the clients do not start"; return; }
	t0=$(date +%s%N)
	kill -9 "$agent_pid"
	if ! { soon dead $honest_pid && soon dead $victim_pid; }; then
		fail "kill-agent a client notices nothing"
		kill -9 $honest_pid $victim_pid 2>/dev/null
		return
	fi
	ms=$((($(date +%s%N) - t0) / 1000000))
	wait $honest_pid && { fail "kill-agent the busy client ends without an error"; return; }
	wait $victim_pid || { fail "kill-agent the waiting client got no error: $(tail -n 2 "$T/victim.out" | tr "\n" " ")"; return; }
	err=$(tail -n 1 "$T/victim.out")
	case $err in
	CUDA_ERROR_DEVICE_UNAVAILABLE | CUDA_ERROR_SYSTEM_NOT_READY | CUDA_ERROR_OPERATING_SYSTEM) ;;
	*) fail "kill-agent the waiting client got $err"; return ;;
	esac
	soon dead_or_idle "$stub_pid" || { fail "kill-agent the device is not idle"; return; }
	ok "kill-agent (both clients told within $ms ms: $err)"
}
dead_or_idle() {
	local a
	alive "$1" || return 0
	a=$(ticks "$1"); sleep 0.3
	[ $(($(ticks "$1") - a)) -le 3 ]
}

# ---- the same on real hugepages, of which there are few: a punched hole cannot be filled again -----
huge() {
	local n=/proc/sys/vm/nr_hugepages m any= huge_now=
	for m in segments punch drain never-drained; do
		wanted "huge/$m" && any=1
	done
	[ -n "$any" ] || return 0
	exec 9>/tmp/vgpu-test-hugepages.lock; flock 9      # one for the whole machine: whoever changes them is alone
	nr_was=$(cat $n 2>/dev/null) || { echo "skip huge no hugetlb in this kernel"; return; }
	if ! { echo $((nr_was + 24)) >$n; } 2>/dev/null || [ "$(cat $n)" -lt $((nr_was + 24)) ]; then
		{ echo "$nr_was" >$n; } 2>/dev/null
		nr_was=
		echo "skip huge cannot reserve hugepages here (not root, or no contiguous memory)"
		return
	fi
	stop_gpu
	for m in segments punch drain never-drained; do
		mode "$m" "huge/$m"
	done
	if wanted huge/drain; then
		# Beside an honest client the agent may have been the faster one every time: again, alone.
		for _ in 1 2 3 4 5 6 7 8; do
			grep -qi "taken away" "$T/agent.log" && break
			stop_gpu
			few_free
			start_gpu
			slowly "$agent_pid" timeout -k 1 45 "$hostile" drain >/dev/null 2>&1
			huge_now=$(huge_of "$agent_pid")
		done
		grep -qi "taken away" "$T/agent.log" && ok huge/drained-window-found ||
			fail "huge/drained-window-found the agent never met a drained page: this proved nothing ($huge_now)"
	fi
	stop_gpu
	echo "$nr_was" >$n
	nr_was=
}

for m in $("$hostile" --list | cut -f 1); do
	mode "$m"
done
huge
kill_client kill-client hang
kill_client kill-client-forked fork
kill_stub
kill_agent
exit $bad
