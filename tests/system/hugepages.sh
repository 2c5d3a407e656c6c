#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The DMA pool on real 2 MiB hugetlb pages, then without any: reserves some as root and gives them back.
. "$(dirname "$0")/lib.sh"

exec 9>/tmp/vgpu-test-hugepages.lock; flock 9     # one for the whole machine: whoever changes them is alone
n=/proc/sys/vm/nr_hugepages
was=$(cat $n 2>/dev/null) || { skip "no hugetlb in this kernel"; exit 0; }
if [ "$(id -u)" != 0 ] || ! { echo $((was + 64)) >$n; } 2>/dev/null || [ "$(cat $n)" -lt $((was + 32)) ]; then
	skip "cannot reserve hugepages here (not root, or no contiguous memory)"
	exit 0
fi
trap 'cleanup; echo "$was" >$n' EXIT
start_stub
start_agent
# the agent's own: other tests have agents, too
huge() { awk '/^Private_Hugetlb|^Shared_Hugetlb/ { n += $2 } END { print n / 2048 }' "/proc/$agent/smaps"; }
before=$(huge)
"$B/test/system/hotloop" 1 >"$dir/hot" 2>&1 &
hot=$!
until_true grep -q started "$dir/hot"
during=$(huge)
wait $hot && [ "$during" -gt "$before" ] && ok "a client runs on $((during - before)) hugepages" ||
	fail "$before hugepages, then $during; $(cat "$dir/hot")"
back() { [ "$(huge)" = "$before" ]; }
until_true back && ok "its hugepages are back after its end" || fail "hugepages are not given back: $(huge), $before before"
kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null; agent='' stub=''
grep -qi hugepage "$dir/agent.log" && grep -qi warn "$dir/agent.log" && fail "warned about hugepages although there were some: $(cat "$dir/agent.log")"

echo 0 >$n
: >"$dir/agent.log"
start_stub
start_agent
"$B/test/system/hotloop" 0.2 >"$dir/hot" 2>&1 && "$B/test/system/hotloop" 0.2 >>"$dir/hot" 2>&1 &&
	ok "clients run without hugetlb pages" || fail "without hugetlb pages: $(cat "$dir/hot")"
[ "$(grep -ci 'nr_hugepages' "$dir/agent.log")" -le 1 ] && ok "at most one warning names the fix" ||
	fail "more than one warning: $(cat "$dir/agent.log")"
