#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A slow neighbour keeps nobody waiting. What is looked at is order, not time: while a neighbour's request is not answered yet,
# because his context is stopped or compiles, an honest client connects, computes, checks, and is gone. So do the other threads of a program
# whose first one compiles; there it is longest launch against compilation, which a busy machine makes longer alike. One line a scenario.
#   beside.sh BUILD
. "$(dirname "$0")/../system/lib.sh"
W=$B/test/soak/worker

# NAME FILE WORD: honest clients come and go while FILE has no WORD
honest_before() {
	local name=$1 out=$2 word=$3 n=0
	while ! grep -q "$word" "$out" && [ $n -lt 5 ]; do
		"$W" first >"$dir/first" 2>&1 || { fail "$name: the honest client: $(cat "$dir/first")"; return 2; }
		grep -q "$word" "$out" && break
		n=$((n + 1))
	done
	[ $n -ge 1 ]
}
# NAME COMMAND...: three tries, for a machine that is busy with others; the last line of $dir/why says why not
tries() {
	local name=$1
	shift
	for _ in 1 2 3; do
		"$@" && { ok "$name"; return; }
		[ $? = 2 ] && return
	done
	fail "$name: nobody was served before the neighbour was. $(tail -n 1 "$dir/compile" 2>/dev/null)"
}

start_stub --memory 512M
start_agent

# ---- a context that is stopped does not map the segment that its client asks for, until the device's patience ends
stopped() {
	local pid st
	mkfifo "$dir/go"
	: >"$dir/grow"          # what is behind & opens it when it gets to run
	"$W" grow <"$dir/go" >"$dir/grow" 2>&1 &
	pid=$!
	exec 3>"$dir/go"
	rm "$dir/go"
	until_true grep -q running "$dir/grow"
	pkill -STOP -P "$stub" -x vgpu-context
	echo go >&3
	exec 3>&-
	sleep 0.2
	honest_before "beside a stopped context" "$dir/grow" answered
	st=$?
	until_true grep -q answered "$dir/grow"
	pkill -CONT -P "$stub" -x vgpu-context
	wait $pid
	return $st
}
tries "beside a stopped context others connect, compute and go" stopped

# ---- a context that compiles. How large the kernel must be depends on the machine: until it lasts
compiling() {
	local pid st blocks=${1:-4000}
	: >"$dir/compile"
	"$W" compile "$blocks" >"$dir/compile" 2>&1 &
	pid=$!
	until_true grep -q running "$dir/compile"
	sleep 0.2
	honest_before "beside a compiling context" "$dir/compile" compiled
	st=$?
	wait $pid
	return $st
}
grown() { # COMMAND: with ever larger kernels
	"$1" 4000 || { [ $? = 2 ] && return 2; "$1" 16000; } || { [ $? = 2 ] && return 2; "$1" 60000; }
}
tries "beside a context that compiles others connect, compute and go" grown compiling
# what is no compilation goes on in that context too
own() {
	timeout 100 "$W" compile "$1" >"$dir/compile" 2>&1 || { fail "a context that compiles: $(tail -n 1 "$dir/compile")"; return 2; }
	grep -q '^beside: code 0, memory meanwhile, .*, meanwhile$' "$dir/compile"
}
tries "while one thread of a program compiles, its others get memory and launch" grown own

# ---- and one whose client is killed while it is stopped: its place comes back
mkfifo "$dir/go"
exec 4<>"$dir/go"
: >"$dir/grow"
"$W" grow <&4 >"$dir/grow" 2>&1 &
pid=$!
until_true grep -q running "$dir/grow"
pkill -STOP -P "$stub" -x vgpu-context
kill -9 $pid
wait $pid 2>/dev/null
gone() { "$V/vgpu" smi -j | grep -q '"clients": *\[\]'; }
until_true gone && ok "a stopped context of a killed client is gone" || fail "a stopped context of a killed client stays: $("$V/vgpu" smi -j)"
