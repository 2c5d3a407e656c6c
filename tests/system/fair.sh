#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shares of the device by weight: blocks that hogs get done beside each other, not time; also of contexts that do not listen.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
$CC -O1 -w -Ilibcuda-lite/include -o "$dir/hog" tests/system/fair/hog.c "$B/lib/libcuda.so.1" || { fail "does not build"; exit 1; }
start_stub
start_agent
hogs=()
trap 'for p in "${hogs[@]}"; do kill -9 $p; wait $p; done 2>/dev/null; cleanup' EXIT
count() { od -An -tu4 "$dir/count.$1" | tr -d ' '; }
hog() { (cd "$dir" && exec ./hog "$@" 2>>hog.err) & hogs+=($!); until_true works $!; }
works() { [ "$(count "$1" 2>/dev/null || echo 0)" -gt 0 ]; }
client() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
for c in json.load(sys.stdin)["contexts"]:
    if c["pid"] == int(sys.argv[1]): print(c["client"])' "$1"; }
weigh() { "$V/vgpu" ctl weight "$(client "$1")" "$2"; }
weighs() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
sys.exit(not any(c["pid"] == int(sys.argv[1]) and c["weight"] == int(sys.argv[2]) for c in json.load(sys.stdin)["contexts"]))' "$1" "$2"; }
# blocks BLOCKS: waits until the hogs have done so many more together; what each has done, in got
blocks() {
	local from=() to sum until=$((SECONDS + 200)) i
	for i in "${!hogs[@]}"; do from[i]=$(count "${hogs[i]}"); done
	while :; do
		sum=0
		for i in "${!hogs[@]}"; do
			to=$(count "${hogs[i]}")
			got[i]=$((to - from[i])) sum=$((sum + got[i]))
		done
		[ $sum -lt "$1" ] && [ $SECONDS -lt $until ] || break
		sleep 0.1
	done
}
got=()
# share NAME I PERCENT-LOW PERCENT-HIGH: of all the blocks
share() {
	local sum=0 n
	for n in "${got[@]}"; do sum=$((sum + n)); done
	n=$((sum ? 100 * got[$2] / sum : 0))
	[ $n -ge "$3" ] && [ $n -le "$4" ] && ok "$1: $n % of $sum blocks" || fail "$1: $n % of $sum blocks, not $3 to $4: ${got[*]}"
}
total=${FAIR_BLOCKS:-3000}

hog; hog
a=${hogs[0]} b=${hogs[1]}
blocks $((total / 4))
blocks "$total"
share "1:1" 0 38 62
weigh "$b" 300 && until_true weighs "$b" 300 && ok "weight 300" || fail "vgpu ctl weight"
blocks $((total / 4))
blocks "$total"
share "1:3, of 25 %" 0 14 40
# it works alone: the device is its own, whatever it weighs
kill -STOP "$b"
blocks 300
n=${got[0]}
[ "$n" -ge 150 ] && ok "the one with the small weight, alone: $n blocks" || fail "alone: ${got[*]}"
kill -CONT "$b"
weigh "$b" 100
hog
weigh "${hogs[2]}" 200
until_true weighs "${hogs[2]}" 200 && until_true weighs "$b" 100 || fail "weights 1:1:2"
blocks $((total / 4))
blocks "$total"
share "1:1:2, first of 25 %" 0 14 38
share "1:1:2, second of 25 %" 1 14 38
share "1:1:2, third of 50 %" 2 38 62
for p in 0 1001 x ''; do
	out=$("$V/vgpu" ctl weight "$(client "$a")" $p 2>&1); st=$?
	[ $st = 2 ] || fail "weight \"$p\": exit $st: $out"
done
ok "what is no weight is refused"
grep -q "gives client $(client "$b") .* weight 300" "$dir/agent.log" && ok "in the log" || fail "not in the log: $(cat "$dir/agent.log")"
# contexts that do not listen, as hostile code would not: the parent stops them by signal
for p in "${hogs[@]}"; do kill -9 "$p"; wait "$p"; done 2>/dev/null
hogs=() got=()
kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null
rm -f "$dir/stub" "$dir/agent"
export VGPU_STUB_DEAF=1
start_stub
start_agent
unset VGPU_STUB_DEAF
hog; hog
weigh "${hogs[1]}" 300 && until_true weighs "${hogs[1]}" 300 || fail "vgpu ctl weight"
blocks $((total / 4))
blocks "$total"
share "1:3 of contexts that do not listen, of 25 %" 0 14 40
[ ! -s "$dir/hog.err" ] && ok "nobody noticed more" || fail "$(cat "$dir/hog.err")"
