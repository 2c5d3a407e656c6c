#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Agent and device end where they began: memory and descriptors after many allocations, module loads, contexts and clients, against
# what they were after a tenth as many. One line each.
# So do a program and its context in which something comes and goes again and again (churn.c).
#   leaks.sh BUILD [PERCENT [WHAT]]    100: 100,000 allocations, 10,000 modules, 2,000 contexts, 5,000 clients; 1 by default
#                                      WHAT: only those of allocs, modules, contexts, clients, stays (or stays/pools, say), live, crowd
. "$(dirname "$0")/../system/lib.sh"
percent=${2:-1} only=${3:-allocs modules contexts clients stays live crowd}
wanted() { [[ " $only " == *" $1 "* ]]; }
W=$B/test/soak/worker
start_stub --memory 512M
start_agent

fds() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
# what it has written: windows and queues of clients are files, and of a file's clean pages (a MiB of programs and libraries) each is its own
# whenever nobody else happens to have touched it, and none is there now
memory() { awk '/^Private_Dirty/ { n += $2 } END { print n }' "/proc/$1/smaps_rollup"; }
quiet() { "$V/vgpu" smi -j | grep -q '"memory_used_bytes": *0,*.*"clients": *\[\]' && ! pgrep -P "$stub" -x vgpu-context; }
# least: of some looks the least, of each; who asked whether it is quiet may still be on his way out in the first
least() {
	local n v
	a_kib=$(memory "$agent") s_kib=$(memory "$stub") a_fds=$(fds "$agent") s_fds=$(fds "$stub")
	for n in 1 2 3; do
		sleep 0.1
		v=$(memory "$agent"); [ "$v" -ge "$a_kib" ] || a_kib=$v
		v=$(memory "$stub"); [ "$v" -ge "$s_kib" ] || s_kib=$v
		v=$(fds "$agent"); [ "$v" -ge "$a_fds" ] || a_fds=$v
		v=$(fds "$stub"); [ "$v" -ge "$s_fds" ] || s_fds=$v
	done
}
# a page of the heap here and there is not a leak; of 10,000 a byte each would be one
little() { [ $((a_kib - am)) -le 64 ] && [ $((s_kib - sm)) -le 64 ] && [ $a_fds -le "$af" ] && [ $s_fds -le "$sf" ]; }
many() { # NAME HOW_MANY: as one client, or as so many
	wanted $1 || return 0
	local n=$(($2 * percent / 100))
	[ $n -ge 10 ] || n=10
	times $1 $((n / 10)) || return 1
	local am sm af sf text="" round wait
	# malloc takes 132 KiB of the kernel at once, when it happens to need them: a leak grows in every round
	for round in 1 2 3; do
		until_true quiet || { fail "$1: something stays"; return; }
		least
		am=$a_kib sm=$s_kib af=$a_fds sf=$s_fds
		times $1 $n || return 1
		until_true quiet || { fail "$1: something stays"; return; }
		# what is closed behind the agent's back, and smi's own connection, goes a little later; a leak does not
		for wait in 1 2 3 4 5 6; do
			least
			little && break
			sleep 0.5
		done
		text+="${text:+, then }agent $((a_kib - am)) KiB, $((a_fds - af)) descriptors, device $((s_kib - sm)) KiB, $((s_fds - sf)) descriptors"
		little && { ok "$n $1: $text"; return; }
	done
	fail "$n $1: $text"
}
times() {
	if [ "$1" != clients ]; then
		"$W" "$1" "$2" >"$dir/out" 2>&1 || { fail "$1: $(cat "$dir/out")"; return 1; }
		return
	fi
	for _ in $(seq "$2"); do
		"$W" first >"$dir/out" 2>&1 || { fail "a client: $(cat "$dir/out")"; return 1; }
	done
}
# a client may come while the one before is still going: what that takes is taken first
for _ in $(seq 8); do "$W" first >/dev/null 2>&1 & done
wait $(jobs -p | grep -v -x -e "$stub" -e "$agent")
many allocs 100000
many modules 10000
many contexts 2000
many clients 5000
# In one program, which goes on: its own memory and its context's. A round is so many that a tenth of a KiB each would show,
# less where it would take long.
mkfifo "$dir/go"
exec 4<>"$dir/go"
stays() { # WHAT HOW_MANY AT_LEAST
	local n=$(($2 * percent / 100)) round=0 c0 x0 c x text='' flat='' p context
	[ $n -ge "$3" ] || n=$3
	until_true quiet                # the one before has gone, and its context
	: >"$dir/churn"
	"$B/test/soak/churn" "$1" $n <&4 >"$dir/churn" 2>&1 &
	p=$!
	so_far() { grep -q "^so far $((n * (round + 1)))\$" "$dir/churn" || ! kill -0 $p; }
	while [ $round -lt 4 ]; do
		until_true so_far || until_true so_far || until_true so_far || break
		context=$(pgrep -P "$stub" -x vgpu-context) && c=$(memory $p) && x=$(memory "$context") && [ -n "$c" ] && [ -n "$x" ] || break
		[ $round = 0 ] || text+="${text:+, then }program $((c - c0)) KiB, context $((x - x0)) KiB"
		# The first round takes what is kept for the next ones. What leaks grows in each; what comes and goes (a heap's end, a table that is made
		# anew) does so in the program and in its context at other times: each is judged by itself
		if [ $round -gt 0 ]; then
			[ $((c - c0)) -gt 128 ] || flat=1$flat
			[ $((x - x0)) -gt 128 ] || flat=${flat}2
			[[ $flat != 1*2 ]] || { round=ok; break; }
		fi
		c0=$c x0=$x
		round=$((round + 1))
		echo >&4
	done
	kill $p 2>/dev/null; wait $p 2>/dev/null
	[ $round = ok ] && ok "$n $1 in one program: $text" || fail "$n $1 in one program: $text $(tail -n 1 "$dir/churn")"
}
kinds() { # HOW_MANY AT_LEAST WHAT...
	local what
	for what in "${@:3}"; do
		if wanted stays || wanted "stays/$what"; then stays "$what" "$1" "$2"; fi
	done
}
kinds 10000 2000 modules pools streams events graphs allocs
kinds 10000 700 libraries host captures links
kinds 4000 300 arrays mappings
kinds 400 40 contexts
if wanted live; then
	"$W" live 30000 >"$dir/out" 2>&1 && ok "$(cat "$dir/out")" || fail "30000 allocations that live at once: $(cat "$dir/out")"
fi
wanted crowd || exit 0
for i in $(seq 64); do "$W" first >"$dir/crowd.$i" 2>&1 & done
wait $(jobs -p | grep -v -x -e "$stub" -e "$agent")
n=$(grep -l ' ms$' "$dir"/crowd.* | wc -l)
[ "$n" = 64 ] && ok "64 clients that come at once are all served (the last in $(sort -n "$dir"/crowd.* | tail -n 1))" || fail "of 64 clients that come at once $n are served: $(grep -hv ' ms$' "$dir"/crowd.* | sort | uniq -c | head -n 3)"
