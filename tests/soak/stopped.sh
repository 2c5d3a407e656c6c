#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A device whose process is stopped (SIGSTOP) keeps nobody waiting but those who use it. One agent has two devices; while the first is
# stopped, programs connect, create contexts and compute on the second, others connect and ask, and memory of clients goes and comes. Order is looked
# at, not time: all of it is over before what was asked of the stopped device is answered, and that goes on when it does.
#   stopped.sh BUILD
. "$(dirname "$0")/../system/lib.sh"
W=$B/test/soak/worker
trap 'kill -CONT "$stub" 2>/dev/null; kill "$second" 2>/dev/null; cleanup' EXIT

start_stub --memory 512M
"$V/vgpu-stub" --socket "$dir/stub2" --memory 512M 2>>"$dir/stub2.log" &
second=$!
until_true test -S "$dir/stub2" || fail "the second device: $(cat "$dir/stub2.log")"
start_agent --device "vfio-user:$dir/stub2"
"$V/vgpu" smi -j >"$dir/smi" || fail "smi: $(cat "$dir/smi")"
# by their names: one that is lost has no number
read -r -d '' one two < <(grep -o '"uuid":"[^"]*"' "$dir/smi" | cut -d'"' -f4 | head -n 2)
CUDA_VISIBLE_DEVICES=$one "$W" first >"$dir/first" && CUDA_VISIBLE_DEVICES=$two "$W" first >"$dir/first" || { fail "both devices compute: $(cat "$dir/first")"; exit 1; }
lost() { grep -c "is lost" "$dir/agent.log"; }

# WHAT: a request that needs the stopped device, under way since before the others came
beside() {
	local what=$1 before n=0
	before=$(lost)
	for _ in 1 2 3; do
		CUDA_VISIBLE_DEVICES=$two "$W" first >"$dir/first" 2>&1 || { fail "$what: another device's program: $(cat "$dir/first")"; return 1; }
		"$V/vgpu" smi -j >"$dir/smi" 2>&1 || { fail "$what: smi: $(cat "$dir/smi")"; return 1; }
		# cuInit and the device's properties alone, of the one that is stopped
		CUDA_VISIBLE_DEVICES=$one "$W" connect >"$dir/connect" 2>&1 || { fail "$what: cuInit: $(cat "$dir/connect")"; return 1; }
		[ -s "$dir/answer" ] && break
		n=$((n + 1))
	done
	[ $n -ge 1 ] && [ "$(lost)" = "$before" ]
}
answer() { grep -q . "$dir/answer"; }
again() { CUDA_VISIBLE_DEVICES=$one "$W" first >"$dir/first" 2>&1; }

# ---- a context is asked of it
create() {
	: >"$dir/answer"
	kill -STOP "$stub"
	CUDA_VISIBLE_DEVICES=$one "$W" first >"$dir/answer" 2>&1 &
	local pid=$!
	sleep 0.2
	beside "a context of the stopped device"
	local st=$?
	kill -CONT "$stub"
	wait $pid
	[ $st = 0 ] && grep -q ' ms$' "$dir/answer"
}
# ---- a client of it goes, whose window it has
leaves() {
	local pid st
	: >"$dir/answer"
	: >"$dir/on"
	CUDA_VISIBLE_DEVICES=$one "$W" on 100 >"$dir/on" 2>&1 &
	pid=$!
	until_true grep -q running "$dir/on"
	kill -STOP "$stub"
	sleep 0.1
	kill -9 $pid
	wait $pid 2>/dev/null
	beside "a client of the stopped device that was killed"
	st=$?
	kill -CONT "$stub"
	gone() { "$V/vgpu" smi -j | grep -q '"clients": *\[\]'; }
	until_true gone || { fail "its client stays: $("$V/vgpu" smi -j)"; return 1; }
	return $st
}
# ---- a client of it asks for pinned memory, which the device is to map
grows() {
	local pid st
	: >"$dir/answer"
	: >"$dir/grow"
	rm -f "$dir/go"
	mkfifo "$dir/go"
	CUDA_VISIBLE_DEVICES=$one "$W" grow <"$dir/go" >"$dir/grow" 2>&1 &
	pid=$!
	exec 3>"$dir/go"
	until_true grep -q running "$dir/grow"
	kill -STOP "$stub"
	echo go >&3
	exec 3>&-
	sleep 0.2
	beside "memory for the stopped device"
	st=$?
	grep -q answered "$dir/grow" && { echo "it was answered too early" >&2; st=1; }
	kill -CONT "$stub"
	wait $pid
	[ $st = 0 ] && grep -q 'answered 0' "$dir/grow"
}
tries() {
	local name=$1
	shift
	for _ in 1 2 3; do
		"$@" && { ok "$name"; return; }
		until_true again
	done
	fail "$name: nobody was served before the device was: $(cat "$dir/answer" "$dir/first"; tail -n 3 "$dir/agent.log")"
}
tries "a context is asked of a stopped device: all others are served, and it is made when the device goes on" create
tries "a client of a stopped device is killed: all others are served, and it is gone when the device goes on" leaves
tries "a client of a stopped device asks for memory: all others are served, and it gets it when the device goes on" grows

# ---- for longer than anybody's patience: it is lost, the others do not notice, and it comes back
kill -STOP "$stub"
CUDA_VISIBLE_DEVICES=$one "$W" first >"$dir/answer" 2>&1 &
pid=$!
noticed() { [ "$(lost)" -gt 0 ]; }
until_true noticed && ok "stopped for good it is lost" || fail "it is never lost: $(cat "$dir/agent.log")"
wait $pid && fail "its client got an answer: $(cat "$dir/answer")"
# the agent is at attaching it: that takes as long as the device likes
for _ in 1 2 3; do
	CUDA_VISIBLE_DEVICES=$two "$W" first >"$dir/first" 2>&1 && "$V/vgpu" smi -j >"$dir/smi" || fail "while it is attached anew: $(cat "$dir/first" "$dir/smi")"
	sleep 0.4
done
kill -CONT "$stub"
until_true again && ok "and it is back when it goes on" || fail "it does not come back: $(cat "$dir/first"; tail -n 3 "$dir/agent.log")"

# ---- the agent ends in order, whoever is stopped
kill -STOP "$stub"
kill "$agent"
ended() { ! kill -0 "$agent" 2>/dev/null; }
until_true ended && ok "the agent ends beside a stopped device" || fail "the agent does not end"
kill -CONT "$stub"
[ ! -e "$dir/agent" ] && [ ! -e "$dir/pid" ] && ok "and leaves nothing" || fail "it leaves $(ls "$dir")"
