#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shares of the device by weight and priority: blocks that hogs get done beside each other, not time; also of contexts that do not listen.
# A most of the device's time: the processor time that its one context takes.
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
# shares NAME [I LOW HIGH]...: the part of the blocks that each is to have, in percent. A machine that others load is even over
# time only, so who is not there yet is given more blocks, thirty times as many at most; a wrong weight is never there: a thousand blocks are
# a hundred slices. What the mechanism decides, to 2 %, is tests/unit/test_fair.c's.
shares() {
	local name=$1 n sum wrong round have=() i
	shift
	for ((round = 0; round < 30; round++)); do
		blocks "$total"
		sum=0 wrong=
		for i in "${!got[@]}"; do
			have[i]=$((${have[i]:-0} + got[i])) sum=$((sum + have[i]))
		done
		for ((i = 1; i < $#; i += 3)); do
			n=$((sum ? 100 * have[${*:i:1}] / sum : 0))
			[ $n -ge "${*:i+1:1}" ] && [ $n -le "${*:i+2:1}" ] || wrong+=" $n % not ${*:i+1:1} to ${*:i+2:1}"
		done
		[ -n "$wrong" ] || break
	done
	[ -z "$wrong" ] && ok "$name: ${have[*]} of $sum blocks" || fail "$name: $wrong of $sum blocks: ${have[*]}"
}
total=${FAIR_BLOCKS:-1000}

hog
# processor time of the only context within a second, in thousandths of a processor
took() { local pid; pid=$(pgrep -P "$stub") && awk '{sub(/.*\) /, ""); print ($12 + $13)}' "/proc/$pid/stat"; }
rate() { local t0=${EPOCHREALTIME/./} u0 u1; u0=$(took); sleep 1; u1=$(took); echo $(((u1 - u0) * 1000 * 1000000 / $(getconf CLK_TCK) / (${EPOCHREALTIME/./} - t0))); }
most=$((30 * $(nproc) * 3 / 2))
under() { [ "$(rate)" -le $most ]; }
over() { [ "$(rate)" -gt $most ]; }
until_true over && ok "a hog takes more than 3 % of the device" || fail "a hog takes little: $(rate)"
"$V/vgpu" ctl set "client:$(client "${hogs[0]}")" compute 3% && until_true under && ok "a client's 3 % of the device" || fail "compute 3%: $(rate) of $most"
"$V/vgpu" ctl set "client:$(client "${hogs[0]}")" compute default && "$V/vgpu" ctl set "$(id -u)" compute 3% && until_true under && ok "a user's" || fail "a user's 3%: $(rate)"
"$V/vgpu" ctl set "$(id -u)" compute default && until_true over && ok "and all of it again" || fail "no limit: $(rate)"
hog
a=${hogs[0]} b=${hogs[1]}
blocks $((total / 4))
shares "1:1" 0 38 62
weigh "$b" 300 && until_true weighs "$b" 300 && ok "weight 300" || fail "vgpu ctl weight"
blocks $((total / 4))
shares "1:3, of 25 %" 0 14 40
"$V/vgpu" ctl set "client:$(client "$b")" priority low || fail "priority low"
blocks $((total / 4))
shares "normal beside low, whatever they weigh (25 % by weight)" 0 50 100
"$V/vgpu" ctl set "client:$(client "$b")" priority default
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
shares "1:1:2" 0 14 38 1 14 38 2 38 62
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
shares "1:3 of contexts that do not listen, of 25 %" 0 14 40
[ ! -s "$dir/hog.err" ] && ok "nobody noticed more" || fail "$(cat "$dir/hog.err")"
