#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a compiling neighbour costs an honest client: from cuInit to the first checked result, alone, and while other contexts
# compile kernels without end. The two are taken in turns, so that a busy machine makes both longer; the figure is the medians' ratio.
#   latency.sh BUILD [PAIRS [NEIGHBOURS [BLOCKS]]]      21 pairs beside 1 compilation of 16000 blocks; by hand, it is about time
. "$(dirname "$0")/../system/lib.sh"
pairs=${2:-21} neighbours=${3:-1} blocks=${4:-16000}
W=$B/test/soak/worker
loops=()
trap 'quiet_down; cleanup' EXIT
quiet_down() {
	[ ${#loops[@]} -gt 0 ] || return
	kill -9 "${loops[@]}" 2>/dev/null
	wait "${loops[@]}" 2>/dev/null
	loops=()
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
gone() { ! pgrep -P "$stub" -x vgpu-context >/dev/null; }
first() { # FILE: one line more
	"$W" first >"$dir/first" 2>&1 && sed -n 's/ ms$//p' "$dir/first" >>"$1"
}
compiling() {
	for i in $(seq "$neighbours"); do
		: >"$dir/compile.$i"
		"$W" compiles "$blocks" >"$dir/compile.$i" 2>&1 &
		loops+=($!)
		until_true grep -q running "$dir/compile.$i" || return 1
	done
}

start_stub --memory 512M
start_agent
first "$dir/warm" || fail "the first client: $(cat "$dir/first")"
n=0 late=0
while [ $n -lt "$pairs" ] && [ $late -lt "$pairs" ]; do
	until_true gone
	first "$dir/alone" || { fail "alone: $(cat "$dir/first")"; break; }
	compiling || { fail "the neighbour: $(cat "$dir"/compile.*)"; break; }
	first "$dir/one" || { fail "beside a compilation: $(cat "$dir/first")"; break; }
	# it counts when every neighbour was still at it
	if grep -q compiled "$dir"/compile.*; then
		late=$((late + 1))
		sed -i '$d' "$dir/alone"
	else
		cat "$dir/one" >>"$dir/beside"
		n=$((n + 1))
	fi
	rm "$dir/one"
	quiet_down
done
[ $n -gt 0 ] || { fail "no client came while $neighbours compiled: larger kernels are needed"; exit; }
a=$(median "$dir/alone") b=$(median "$dir/beside")
text="connect to first result: $a ms alone, $b ms beside $neighbours that compile $blocks blocks, on $(nproc) cores ($n pairs, medians): $(awk "BEGIN { printf \"%.2f\", $b / $a }") x"
awk "BEGIN { exit !($b <= 2 * $a) }" && ok "$text" || fail "$text"
