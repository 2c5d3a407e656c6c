#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A client is ended by the administrator while it is in the middle of a copy (stopped there, so that the agent takes its window
# back meanwhile): what it is told afterwards is an error, or the copy is right. Then one that stands still before, and one after, it
# asked for its context, or said HELLO: it is told, and does not go on as a client that nobody ended. A line each. And one whose window lies on huge pages.
#   ended.sh BUILD [TRIES]
. "$(dirname "$0")/../system/lib.sh"
W=$B/test/soak/worker tries=${2:-30}
start_stub --memory 512M
start_agent
running() { grep -qs '^running' "$dir/out"; }
id() { "$V/vgpu" smi -j | grep -o '"id": *[0-9]*, *"pid": *'"$1"'\b' | grep -o '[0-9]*' | head -n 1; }
# no page of the window is left in the stopped process: they are punched
punched() { [ "$(awk '/^[0-9a-f]+-/ { w = /vgpu-window/ } /^Rss:/ && w { n += $2 } END { print n + 0 }' "/proc/$1/smaps")" = 0 ]; }
told=0
for try in $(seq "$tries"); do
	rm -f "$dir/out"                # the one before said "running", too
	"$W" reads >"$dir/out" 2>"$dir/err" &
	w=$!
	until_true running || { fail "the worker does not start: $(tail -n 1 "$dir/err")"; kill -9 $w; exit; }
	sleep "0.0$((RANDOM % 10))"     # somewhere in the middle: no synchronisation
	kill -STOP $w
	who=$(id $w)
	[ -n "$who" ] && "$V/vgpu" ctl end "$who" >/dev/null || { fail "client of pid $w: $("$V/vgpu" smi -j | tr -d '\n' | head -c 400)"; kill -9 $w; exit; }
	until_true punched $w || { fail "its window is not taken back"; kill -9 $w; exit; }
	kill -CONT $w
	wait $w || { fail "try $try: $(tail -n 1 "$dir/out")"; exit; }
	grep -q '^told' "$dir/out" && told=$((told + 1))
done
[ $told = "$tries" ] && ok "ended in the middle of a copy, $tries times: never success for what was taken back" || fail "told $told times of $tries"
# The same on hugetlb pages that others have by then: a hole there is nothing that anybody can touch.
huge() {
	local n=/proc/sys/vm/nr_hugepages was w who
	free_pages() { awk '/^HugePages_Free/ { n = $2 } /^HugePages_Rsvd/ { n -= $2 } END { print n }' /proc/meminfo; }       # that anybody can have
	exec 9>/tmp/vgpu-test-hugepages.lock; flock 9   # one for the whole machine: whoever changes them is alone
	was=$(cat $n 2>/dev/null) || { skip "on huge pages: no hugetlb in this kernel"; return; }
	if [ $EUID != 0 ] || ! { echo $((was + 64)) >$n; } 2>/dev/null || [ "$(free_pages)" -lt 32 ]; then
		{ echo "$was" >$n; } 2>/dev/null
		skip "on huge pages: none can be reserved (not root, or no contiguous memory)"
		return
	fi
	trap 'cleanup; echo "$was" >/proc/sys/vm/nr_hugepages' EXIT
	rm -f "$dir/out"
	"$W" reads >"$dir/out" 2>"$dir/err" &
	w=$!
	until_true running || { fail "on huge pages: the worker does not start: $(tail -n 1 "$dir/err")"; kill -9 $w; return; }
	kill -STOP $w
	who=$(id $w)
	back() { [ "$(awk '/^Private_Hugetlb|^Shared_Hugetlb/ { n += $2 } END { print n + 0 }' "/proc/$w/smaps")" = 0 ]; }
	back && { fail "on huge pages: it has none"; kill -9 $w; return; }
	"$V/vgpu" ctl end "$who" >/dev/null
	until_true back || { fail "on huge pages: its window is not taken back"; kill -9 $w; return; }
	echo 0 >$n                      # whoever has them: they are gone
	[ "$(free_pages)" = 0 ] || { fail "on huge pages: there are some left"; kill -9 $w; return; }
	kill -CONT $w
	wait $w && grep -q '^told' "$dir/out" && ok "on huge pages that others have by then: it is told" ||
		fail "on huge pages that others have by then: $(tail -n 1 "$dir/out")"
	echo "$was" >$n
	trap cleanup EXIT
	exec 9>&-
}
huge
stopped() { grep -q '^State:.T' "/proc/$1/status"; }
gone() { [ -z "$(id "$1")" ]; }
over() { ! kill -0 $w 2>/dev/null || grep -q '^State:.Z' "/proc/$w/status"; }
silent() { [ "$(grep -c 'no HELLO within' "$dir/agent.log")" -gt "$said" ]; }
for when in before after "before hello" "after hello"; do
	what="ended ${when/hello/it said HELLO}"
	[ "$what" != "ended $when" ] || what="ended $when it asked for its context"
	said=$(grep -c 'no HELLO within' "$dir/agent.log")
	rm -f "$dir/out"
	# shellcheck disable=SC2086
	"$W" $when >"$dir/out" 2>"$dir/err" &
	w=$!
	until_true stopped $w || { fail "$what: the worker does not come to that: $(tail -n 1 "$dir/err")"; kill -9 $w; exit; }
	if [ "$when" = "before hello" ]; then
		# who has said nothing is no client whom an administrator could end: the agent does
		until_true silent || { fail "$what: its connection stays"; kill -9 $w; exit; }
	else
		who=$(id $w)
		[ -n "$who" ] && "$V/vgpu" ctl end "$who" >/dev/null && until_true gone $w || { fail "$what: client of pid $w is not ended"; kill -9 $w; exit; }
	fi
	kill -CONT $w
	until_true over || kill -9 $w
	wait $w && grep -q '^told' "$dir/out" && ok "$what: it is told" || fail "$what: $(tail -n 1 "$dir/out"); $(tail -n 1 "$dir/err")"
done
