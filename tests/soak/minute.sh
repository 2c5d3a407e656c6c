#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each party is stopped for a minute (SIGSTOP) beside two honest clients: their context, the agent, the device, one of them, agent and
# device together. Who does not depend on the stopped one works on meanwhile; when it goes on all is well again, and no result was wrong.
#   minute.sh BUILD [SECONDS]       by hand: it takes SECONDS, 60, five times over
. "$(dirname "$0")/../system/lib.sh"
seconds=${2:-60}
W=$B/test/soak/worker
honest=()
trap 'kill -CONT "$agent" "$stub" "${honest[@]}" 2>/dev/null; kill -9 "${honest[@]}" 2>/dev/null; cleanup' EXIT

start_stub --memory 512M
start_agent
for i in 1 2; do
	: >"$dir/honest.$i"
	"$W" on 100000 >"$dir/honest.$i" 2>&1 &
	honest+=($!)
	until_true grep -q running "$dir/honest.$i" || fail "honest client $i: $(tail -n 1 "$dir/honest.$i")"
done
commands() { "$V/vgpu" smi -j | tr -d ' \n' | grep -o "\"pid\":$1,.*" | sed 's/.*[^-]"commands":\([0-9]*\)}.*/\1/' | head -n 1; }
works() { # PID: it has done something since it was asked last
	local now
	now=$(commands "$1")
	[ -n "$now" ] && [ "$now" != "$last" ]
}
alive() { kill -0 "$agent" && kill -0 "$stub" && kill -0 "${honest[0]}" && kill -0 "${honest[1]}"; } 2>/dev/null
well() { timeout 50 "$W" first; }

for what in context agent device client both; do
	case $what in
	context) stopped=$(pgrep -P "$stub" -x vgpu-context | head -n 1) ;;
	agent) stopped=$agent ;;
	device) stopped=$stub ;;
	client) stopped=${honest[0]} ;;
	both) stopped="$agent $stub" ;;
	esac
	# shellcheck disable=SC2086
	kill -STOP $stopped
	case $what in context | client)
		until_true well && ok "$what stopped: others come, compute and go" || fail "$what stopped: nobody else is served"
		last=$(commands "${honest[1]}")
		[ $what = context ] || { until_true works "${honest[1]}" && ok "$what stopped: the other one works" || fail "$what stopped: the other one waits"; }
	esac
	sleep "$seconds"
	# shellcheck disable=SC2086
	kill -CONT $stopped
	until_true well || until_true well && ok "$what goes on: all is well" || fail "$what goes on: $(tail -n 1 "$dir/agent.log")"
	alive && ok "$what goes on: nobody has ended" || fail "$what goes on: somebody has ended"
done
for i in 1 2; do
	kill "${honest[$((i - 1))]}"
	gone() { ! kill -0 "${honest[$((i - 1))]}" 2>/dev/null; }
	until_true gone || until_true gone || { fail "client $i hangs"; continue; }
	wait "${honest[$((i - 1))]}" && ok "client $i: $(grep '^checked' "$dir/honest.$i")" || fail "client $i: $(tail -n 1 "$dir/honest.$i")"
done
