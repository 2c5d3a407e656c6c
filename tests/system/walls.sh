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

# Contexts of two programs: each a user of its own, out of the range; and in a cgroup of its client, where one is delegated.
W=$B/test/soak/worker
workers=()
two_work() { # two_work: sets contexts, the processes
	contexts=()
	for i in 1 2; do
		: >"$dir/work.$i"
		"$W" on 100 >"$dir/work.$i" 2>&1 &
		workers+=($!)
		until_true grep -q running "$dir/work.$i" || { fail "a worker: $(tail -n 1 "$dir/work.$i")"; return 1; }
	done
	mapfile -t contexts < <(pgrep -P "$stub" -x vgpu-context)
	[ ${#contexts[@]} -ge 2 ] || { fail "${#contexts[@]} contexts"; return 1; }
}
workers_end() { [ ${#workers[@]} = 0 ] || { kill "${workers[@]}" 2>/dev/null; wait "${workers[@]}" 2>/dev/null; workers=(); }; }
again() { # the device and agent anew, with these options of the device
	workers_end
	kill "$agent" "$stub"; wait "$agent" "$stub" 2>/dev/null
	start_stub --memory 256M "$@"
	start_agent
}
trap 'workers_end; cleanup' EXIT
if [ "$(id -u)" != 0 ]; then
	skip "users of a range: not root"
else
	# where the build is nobody else's to run, a copy is
	reachable "$V/vgpu-stub" || { chmod 711 "$dir" && alike "$V" "$dir/bin" && chmod 755 "$dir/bin" && V=$dir/bin; }
	: >"$dir/stub.log"
	again --context-uids 1900000000
	none=$(sed -n 's/^vgpu-stub: no wall "uid": //p' "$dir/stub.log")
	if [ -n "$none" ]; then
		skip "users of a range: $none"
	elif two_work; then
		uids=() out=0
		for c in "${contexts[@]}"; do
			# real, effective, saved and file system's
			read -r _ a b c d < <(grep '^Uid:' "/proc/$c/status")
			[ "$a" = "$b" ] && [ "$a" = "$c" ] && [ "$a" = "$d" ] && [ "$a" -ge 1900000000 ] && [ "$a" -le 1900000128 ] || out=1
			uids+=("$a")
		done
		different=$(printf '%s\n' "${uids[@]}" | sort -u | grep -c .)
		[ $out = 0 ] && [ "$different" = ${#contexts[@]} ] && ok "${#contexts[@]} contexts are ${#contexts[@]} users of the range" || fail "users: ${uids[*]}"
	fi
fi
# a cgroup v2 for tests: with its controllers, or (in a mount namespace) without
group=''
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ "$(id -u)" = 0 ] && [ -n "$root" ] && grep -qw memory "$root/cgroup.controllers" && grep -qw pids "$root/cgroup.controllers" && grep -qw cpu "$root/cgroup.controllers" &&
	for c in memory pids cpu; do echo "+$c" >"$root/cgroup.subtree_control" 2>/dev/null || break; done && mkdir "$root/vgpu-test-$$" 2>/dev/null; then
	group=$root/vgpu-test-$$
	trap 'workers_end; cleanup; rmdir "$group"/* "$group" 2>/dev/null' EXIT
	again --context-uids 1900000000 --cgroup "$group" --overhead 512M --require-walls=cgroup
	if two_work; then
		wrong=''
		for c in "${contexts[@]}"; do
			g=$root$(sed -n 's/^0:://p' "/proc/$c/cgroup")
			case $g in "$group"/client-*) ;; *) wrong="$c is in $g" ;; esac
			max=$(cat "$g/memory.max")
			[ "$max" -ge $(((256 + 512) << 20)) ] && [ "$max" -le $(((256 + 768) << 20)) ] && [ "$(cat "$g/pids.max")" -gt 1 ] && [ "$(cat "$g/cpu.weight")" = 100 ] ||
				wrong="$g: memory.max $max, pids.max $(cat "$g/pids.max"), cpu.weight $(cat "$g/cpu.weight")"
		done
		[ -z "$wrong" ] && ok "each client's contexts are in a cgroup of its own, with limits" || fail "cgroups: $wrong"
		workers_end
		empty() { ! ls -d "$group"/client-* >/dev/null 2>&1; }
		until_true empty && ok "which goes with them" || fail "left: $(ls "$group")"
	fi
else
	skip "a delegated cgroup: no cgroup v2 with memory, pids and cpu is this test's to give"
	if unshare -m true 2>/dev/null && mkdir "$dir/cg" && unshare -m sh -c 'mount -t cgroup2 none "$1" && ! grep -qw memory "$1/cgroup.controllers"' - "$dir/cg" 2>/dev/null; then
		# shellcheck disable=SC2016
		unshare -m sh -c 'mount -t cgroup2 none "$1/cg" && shift && exec timeout 20 "$@"' - "$dir" "$V/vgpu-stub" --socket "$dir/try" --memory 256M --cgroup "$dir/cg" \
			--require-walls=cgroup >"$dir/out" 2>&1
		st=$?
		[ $st = 1 ] && grep -q 'no controller "memory" for groups below it' "$dir/out" && ok "a cgroup without its controllers is no wall, and says so" ||
			fail "a cgroup without controllers: status $st, $(tail -n 2 "$dir/out")"
	fi
fi
