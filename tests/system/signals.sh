#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Signals: what ends agent and device in order, what does nothing, and that vgpu run passes on what it gets at any moment.
. "$(dirname "$0")/lib.sh"
export XDG_RUNTIME_DIR=$dir
start_stub
start_agent
for s in HUP USR1 USR2 ALRM VTALRM PROF IO STKFLT XCPU XFSZ $(seq 32 64); do
	kill -s $s "$stub"
	[ $s = 40 ] || kill -s $s "$agent"      # that one is --replace: who is drained ends
done
"$V/vgpu" smi -j >"$dir/out" 2>&1 && timeout 100 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "HUP, USR1, USR2, ALRM, VTALRM, PROF, IO, STKFLT, XCPU, XFSZ and those of real time end nothing" || fail "after HUP and others: $(tail -n 1 "$dir/out")"
grep -q 'SIGHUP' "$dir/stub.log" && ok "the device says what HUP does" || fail "the device says nothing of HUP"
# what a context does with them is a context's default: they are not ignored there
"$B/e2e/driver/endless" hang >"$dir/hang" 2>&1 & hang=$!
until_true grep -q running "$dir/hang"
context=$(pgrep -P "$stub" -x vgpu-context)
grep -q '^SigIgn:[[:space:]]*0*$' "/proc/$context/status" && ok "a context ignores none" || fail "a context ignores $(grep SigIgn "/proc/$context/status")"
kill -9 $hang; wait $hang 2>/dev/null
# no file may grow any more, the log and a client's window neither: an error for who asks, and nobody's end
for p in "$agent" "$stub"; do prlimit --pid "$p" --fsize=4096:unlimited; done
timeout 100 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1; st=$?
[ $st != 0 ] && [ $st != 124 ] && kill -0 "$stub" && kill -0 "$agent" && ok "files that may not grow: an error, and nobody ends" || fail "files that may not grow: $st, $(tail -n 1 "$dir/out")"
for p in "$agent" "$stub"; do prlimit --pid "$p" --fsize=unlimited:unlimited; done
timeout 100 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "and may again" || fail "files that may grow again: $(tail -n 1 "$dir/out")"
kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null
for s in TERM INT QUIT; do
	start_stub
	start_agent
	kill -s $s "$agent"; wait "$agent"
	kill -s $s "$stub"; wait "$stub"
	[ ! -e "$dir/stub" ] && [ ! -e "$dir/agent" ] && [ ! -e "$dir/pid" ] && ok "$s: socket and pid file go" || fail "$s leaves $(ls "$dir" | tr '\n' ' ')"
done 2>/dev/null
# the first process of a container is a service, and no machine's: its socket is not everybody's, and it ends
start_stub
unshare -p -f --mount-proc -- "$V/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/agent" --pidfile "$dir/pid" 2>"$dir/first.log" & agent=$!
if until_true grep -q 'ready: ' "$dir/first.log"; then
	[ "$(stat -c %a "$dir/agent")" = 660 ] && ok "in a container: the socket's mode" || fail "in a container: the socket has mode $(stat -c %a "$dir/agent")"
	first=$(pgrep -P "$agent" -x vgpu-agent)
	kill -TERM "$first"
	gone() { ! kill -0 "$first"; }
	until_true gone && ok "in a container: it ends" || { fail "in a container: it does not end by TERM: $(tail -n 1 "$dir/first.log")"; kill -9 "$first"; }
	grep -q 'powering off' "$dir/first.log" && fail "in a container: it powers off" || ok "in a container: it powers nothing off"
else
	skip "in a container: $(tail -n 1 "$dir/first.log")"
fi
kill "$agent" "$stub" 2>/dev/null; wait "$agent" "$stub" 2>/dev/null
# one at any moment of its start
left=0
for ms in 0 1 2 3 5 7 10 15 20 30; do
	"$V/vgpu-agent" --device "vfio-user:$dir/none" --listen "$dir/a2" --pidfile "$dir/p2" >/dev/null 2>&1 & a=$!
	sleep "$(printf '0.%03d' $ms)"
	kill -TERM $a 2>/dev/null; wait $a 2>/dev/null
	[ ! -e "$dir/a2" ] && [ ! -e "$dir/p2" ] || left=$((left + 1))
	rm -f "$dir/a2" "$dir/p2"
done
[ $left = 0 ] && ok "TERM while the agent starts leaves nothing" || fail "TERM while the agent starts: something stayed $left times"

# vgpu run: at any moment, TERM ends all of it. Not before timeout stands: a script's & makes INT ignored there
begun() { p=$(pgrep -P $t | head -n 1); [ -n "$p" ]; }
for s in TERM INT HUP; do
	bad=
	for ms in 0 1 3 6 10 15 20 30 40 60 80 120; do
		setsid timeout -s KILL 200 "$V/vgpu" run --private -- sleep 150 >/dev/null 2>&1 & t=$!
		sleep "$(printf '0.%03d' $ms)"
		until_true begun && kill -s $s "$p"
		wait $t 2>/dev/null; st=$?
		# 0: it slept to its end; 137: not even that ended it
		[ $st != 137 ] && [ $st != 0 ] || bad="$bad $ms"
	done
	[ -z "$bad" ] && ok "vgpu run ends by $s at any moment" || fail "vgpu run did not end by $s sent after (ms)$bad"
done
left=$(find "$dir" -mindepth 1 -maxdepth 1 -name 'vgpu-*' | wc -l)
[ "$left" = 0 ] && ok "its folders go" || fail "$left folders of vgpu run stay"
"$V/vgpu" run --private -- bash -c 'sleep 100 & trap "kill $!; exit 7" TERM; kill -TERM $PPID; wait'; st=$?
[ $st = 7 ] && ok "the program gets it and answers" || fail "the program got no TERM: $st"
VGPU_ENGINE=fast timeout 100 "$V/vgpu" run --private -- true 2>"$dir/out"; st=$?
[ $st = 125 ] && grep -q 'jit, interp, memcheck, ops, verify or debug' "$dir/out" && ok "an engine that is none" || fail "an engine that is none: $st"
VGPU_ENGINE=fast timeout 100 "$V/vgpu-stub" --socket "$dir/s3" 2>"$dir/out"; st=$?
[ $st = 2 ] && grep -q 'jit, interp, memcheck, ops, verify or debug' "$dir/out" && ok "a device of no engine" || fail "a device of no engine: $st"
