#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A kill storm: clients, agent, device and contexts are killed or stopped at random moments, beside honest clients that check
# every result and go on after each fault. One line of figures, and a verdict on each of them.
#   storm.sh BUILD [EVENTS [SEED]]      60 events in half a minute; 10000 by hand
# STORM_KEEP=DIR: there is left when each event began and ended, what the clients say (each step of going on that took over
# a second, with the time of day), and both logs.
. "$(dirname "$0")/../system/lib.sh"
events=${2:-60} seed=${3:-$(date +%N)}
RANDOM=$((10#$seed % 32768))
W=$B/test/soak/worker
honest=() victim='' n=0
keep() { [ -z "${STORM_KEEP:-}" ] || { mkdir -p "$STORM_KEEP" && cp "$dir"/honest.? "$dir"/*.log "$dir/events" "$STORM_KEEP"; }; }
trap 'kill -9 "${honest[@]}" "$victim" 2>/dev/null; keep; cleanup' EXIT
declare -A count
count=()

back() { # what is not there any more comes back, as a service manager would bring it
	if ! kill -0 "$stub" 2>/dev/null; then
		wait "$stub" 2>/dev/null
		rm -f "$dir/stub"
		start_stub --memory 512M
	fi
	if ! kill -0 "$agent" 2>/dev/null; then
		wait "$agent" 2>/dev/null
		start_agent
	fi
}
context() { pgrep -P "$stub" -x vgpu-context | shuf -n 1 --random-source=<(yes $RANDOM); }
# STATUS: how an honest client ended, and what it says
nap() { sleep "0.$(printf '%03d' $((RANDOM % ${1:-300})))"; }
fds() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
# what it has written: windows and queues of clients are files, and of a file's clean pages (a MiB of programs and libraries) each is its own
# whenever nobody else happens to have touched it
memory() { awk '/^Private_Dirty/ { n += $2 } END { print n }' "/proc/$1/smaps_rollup"; }
quiet() { "$V/vgpu" smi -j | grep -q '"memory_used_bytes": *0,*.*"clients": *\[\]'; }

start_stub --memory 512M
start_agent
"$W" first >/dev/null || fail "the first client"
until_true quiet
for i in 1 2 3; do
	"$W" on 100000 >"$dir/honest.$i" 2>&1 &
	honest+=($!)
	until_true grep -q running "$dir/honest.$i" || fail "honest client $i: $(tail -n 1 "$dir/honest.$i")"
done
t0=$SECONDS
while [ $n -lt "$events" ]; do
	n=$((n + 1))
	kill -0 "$victim" 2>/dev/null || { "$W" on 100 >/dev/null 2>&1 & victim=$!; }
	nap 400
	at=$EPOCHREALTIME
	case $((RANDOM % 12)) in
	0 | 1 | 2) what=client; kill -9 "$victim" 2>/dev/null ;;
	3 | 4) what=context; c=$(context); [ -n "$c" ] && kill -9 "$c" 2>/dev/null ;;
	5 | 6) what=context-stopped; c=$(context); [ -n "$c" ] && kill -STOP "$c" 2>/dev/null && nap && kill -CONT "$c" 2>/dev/null ;;
	7) what=agent; kill -9 "$agent"; wait "$agent" ;;
	8) what=agent-ended; kill "$agent"; wait "$agent" ;;
	9) what=agent-stopped; kill -STOP "$agent"; nap; kill -CONT "$agent" ;;
	10) what=device; kill -9 "$stub"; wait "$stub" ;;
	11) what=device-stopped; kill -STOP "$stub"; nap; kill -CONT "$stub" ;;
	esac 2>/dev/null
	echo "$at $EPOCHREALTIME $what" >>"$dir/events"
	count[$what]=$((${count[$what]:-0} + 1))
	sleep 0.02
	back
done
took=$((SECONDS - t0))
kill -9 "$victim" 2>/dev/null; wait "$victim" 2>/dev/null
hangs=0 checked=0 bad=0 faults=0 slowest=0 what_for=none
# of the client that kept the most
kept_fds=0 kept_maps=0 kept_kib=0
kill "${honest[@]}" 2>/dev/null
for i in 1 2 3; do
	gone() { ! kill -0 "${honest[$((i - 1))]}" 2>/dev/null; }
	# it gives up by itself when a minute has not brought its device back
	if ! until_true gone && ! until_true gone; then
		hangs=$((hangs + 1))
		kill -9 "${honest[$((i - 1))]}"
	fi
	wait "${honest[$((i - 1))]}" || bad=$((bad + 1))
	read -r c w f s < <(sed -n 's/^checked \([0-9]*\) wrong \([0-9]*\) faults \([0-9]*\) slowest_ms \([0-9]*\).*/\1 \2 \3 \4/p' "$dir/honest.$i")
	read -r kf km kk < <(sed -n 's/^kept \(-*[0-9]*\) descriptors \(-*[0-9]*\) mappings \(-*[0-9]*\) KiB/\1 \2 \3/p' "$dir/honest.$i")
	[ "${kf:-0}" -le $kept_fds ] || kept_fds=$kf
	[ "${km:-0}" -le $kept_maps ] || kept_maps=$km
	[ "${kk:-0}" -le $kept_kib ] || kept_kib=$kk
	checked=$((checked + ${c:-0})) bad=$((bad + ${w:-1})) faults=$((faults + ${f:-0}))
	[ "${s:-0}" -gt $slowest ] && slowest=$s what_for=$(sed -n 's/^checked .* (\(.*\))$/\1/p' "$dir/honest.$i")
done
# what is left when all have gone: against a device and an agent that have served one client
until_true quiet && left=0 || left=1
contexts() { ! pgrep -P "$stub" -x vgpu-context; }
until_true contexts || left=$((left + 1))
agent_fds=$(fds "$agent") stub_fds=$(fds "$stub") agent_kib=$(memory "$agent") stub_kib=$(memory "$stub")
kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null
start_stub --memory 512M
start_agent
"$W" first >/dev/null
until_true quiet
agent_fds=$((agent_fds - $(fds "$agent"))) stub_fds=$((stub_fds - $(fds "$stub")))
agent_kib=$((agent_kib - $(memory "$agent"))) stub_kib=$((stub_kib - $(memory "$stub")))
what=
for k in "${!count[@]}"; do what="$what $k ${count[$k]}"; done
echo "seed $seed: $n events in $took s ($what ): $checked results checked, $bad wrong, $hangs hangs, $faults faults survived, slowest $slowest ms ($what_for);" \
	"left: $left clients or processes, $agent_fds descriptors and $agent_kib KiB of the agent, $stub_fds and $stub_kib of the device;" \
	"kept by an honest client: $kept_fds descriptors, $kept_maps mappings, $kept_kib KiB"
[ $checked -gt 0 ] && [ $bad = 0 ] && ok "$checked results are right ($faults faults survived)" || fail "$bad of $checked results: $(tail -qn 2 "$dir"/honest.* | tr '\n' ' ')"
[ $hangs = 0 ] && ok "nothing hangs" || fail "$hangs clients hang"
# of a session that is over a program keeps nothing: a hundredth of a KiB a fault would be 10 bytes of each; malloc takes 132 KiB at once
most=$((192 + faults / 100))
[ $kept_fds -le 0 ] && [ $kept_maps -le 64 ] && [ $kept_kib -le $most ] && [ $agent_kib -le 160 ] && [ $stub_kib -le 160 ] && ok "nor does memory stay" ||
	fail "kept by an honest client: $kept_fds descriptors, $kept_maps mappings, $kept_kib KiB of $most at most; the agent $agent_kib KiB, the device $stub_kib KiB"
[ $left = 0 ] && [ $agent_fds -le 0 ] && [ $stub_fds -le 0 ] && ok "nothing is left" ||
	fail "left: $left clients or processes, $agent_fds descriptors of the agent, $stub_fds of the device: $("$V/vgpu" smi -j)"
