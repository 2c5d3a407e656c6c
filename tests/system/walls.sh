#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Walls that are required: the device does not start without, says which is missing and why, and leaves nothing; with those that stand it
# starts. What stands is the same in the log and in vgpu smi.
. "$(dirname "$0")/lib.sh"
try() { timeout 20 "$V/vgpu-stub" --socket "$dir/try" --memory 256M "$@" >"$dir/out" 2>&1; }

start_stub --memory 256M
start_agent
stand=$("$V/vgpu" smi -j | tr -d ' \n' | grep -o '"walls":\[[^]]*\]' | grep -o '[a-z]*' | grep -v walls | tr '\n' ' ')
missing=$("$V/vgpu" smi -j | tr -d ' \n' | grep -o '"walls_missing":\[[^]]*\]' | grep -o '[a-z]*' | grep -v -e walls -e missing | tr '\n' ' ')
log=$(sed -n 's/^vgpu-stub: walls around contexts: //p' "$dir/stub.log" | tr '\n' ' ')
[ -n "$stand" ] && [ "$stand" = "$log" ] && ok "vgpu smi and the log say the same: $stand" || fail "smi: $stand, the log: $log"
for w in $missing; do
	grep -q "^vgpu-stub: no wall \"$w\": ." "$dir/stub.log" || { fail "nobody says why $w does not stand"; w=; break; }
done
[ -z "$missing" ] || { [ -n "$w" ] && ok "a wall that does not stand is a line with its reason"; }

# without the namespaces, in which there is always something missing
if unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' 2>/dev/null; then
	alone() { unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$@"' sh \
		timeout 20 "$V/vgpu-stub" --socket "$dir/try" --memory 256M "$@" >"$dir/out" 2>&1; }
	alone --require-walls
	st=$?
	[ $st = 1 ] && grep -q 'require-walls: not all of them stand.*user' "$dir/out" && ok "--require-walls refuses to start, and names what is missing" ||
		fail "--require-walls: status $st, $(tail -n 1 "$dir/out")"
	[ ! -e "$dir/try" ] && ok "and leaves no socket" || fail "it leaves its socket"
	alone --require-walls=mount,pid
	st=$?
	[ $st = 1 ] && grep -q 'mount' "$dir/out" && ok "--require-walls=LIST too" || fail "--require-walls=mount,pid: status $st, $(tail -n 1 "$dir/out")"
else
	skip "what is missing: every wall stands, and none can be taken away"
fi
try --require-walls=nonsense
st=$?
[ $st = 2 ] && ok "a wall that is none" || fail "a wall that is none: status $st, $(tail -n 1 "$dir/out")"
list=$(echo $stand | tr ' ' '\n' | grep -v seccomp | paste -sd,)
"$V/vgpu-stub" --socket "$dir/try" --memory 256M --require-walls="$list" >"$dir/out" 2>&1 &
pid=$!
until_true test -S "$dir/try" && ok "with those that stand it starts" || fail "--require-walls=$list: $(tail -n 1 "$dir/out")"
kill $pid; wait $pid 2>/dev/null
