#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent that has less memory than the machine, as in a container or behind MemoryMax=: who asks for a window too many is told
# so, and the others are served on. Without that the kernel kills the agent of all. Root and a cgroup of memory are needed.
. "$(dirname "$0")/lib.sh"
W=$B/test/soak/worker
group='' honest='' hog=''
undo() {
	kill -9 $honest $hog 2>/dev/null; wait $honest $hog 2>/dev/null
	cleanup
	[ -z "$group" ] || until_true rmdir "$group"
}
trap undo EXIT
MIB=$((1 << 20))
# of the first hierarchy, whose controllers are named, or of the unified one: below our own group
own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup | head -n 1)
for g in /sys/fs/cgroup/memory /sys/fs/cgroup/memory"$own" /sys/fs/cgroup"$(sed -n 's/^0:://p' /proc/self/cgroup)"; do
	for max in memory.limit_in_bytes memory.max; do
		[ -z "$group" ] && mkdir "$g/vgpu-room-$$" && { [ -w "$g/vgpu-room-$$/$max" ] && group=$g/vgpu-room-$$ limit=$max || rmdir "$g/vgpu-room-$$"; }
	done
done 2>/dev/null
[ -n "$group" ] && echo $((160 * MIB)) >"$group/$limit" || { skip "no cgroup of memory that this test may make"; exit 0; }

start_stub --memory 512M
(echo "$BASHPID" >"$group/cgroup.procs" && exec "$V/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/agent" --pidfile "$dir/pid" --no-hugepages 2>>"$dir/agent.log") & agent=$!
export VGPU_AGENT=$dir/agent
until_true "$V/vgpu" smi -j || { fail "agent: $(tail -n 1 "$dir/agent.log")"; exit; }
: >"$dir/honest"
"$W" on 1000 >"$dir/honest" 2>&1 & honest=$!
until_true grep -q running "$dir/honest"
"$W" windows 32 >"$dir/out" 2>&1 && ok "what there is room for" || fail "32 MiB: $(tail -n 1 "$dir/out")"
"$W" windows 400 >"$dir/out" 2>&1 && fail "400 MiB were given" || { grep -q OUT_OF_MEMORY "$dir/out" && ok "what there is no room for is refused" || fail "400 MiB: $(tail -n 1 "$dir/out")"; }
kill -0 "$agent" 2>/dev/null && ok "the agent lives" || fail "the agent is gone"
grep -q "cgroup has 160 MiB of memory" "$dir/agent.log" && ok "and says why" || fail "the agent says nothing: $(tail -n 1 "$dir/agent.log")"
# files that were read lie in the group, too, until somebody needs the room: they do not count
if [ "$(stat -f -c %T "$dir")" != tmpfs ]; then
	(echo "$BASHPID" >"$group/cgroup.procs" && head -c $((300 * MIB)) /dev/zero >"$dir/file" && cat "$dir/file" >/dev/null)
	"$W" windows 32 >"$dir/out" 2>&1 && ok "cached files do not count" || fail "32 MiB behind cached files: $(tail -n 1 "$dir/out")"
	rm -f "$dir/file"
fi
echo $((600 * MIB)) >"$group/$limit"
"$W" windows 400 >"$dir/out" 2>&1 && ok "a limit that is raised counts at once" || fail "400 MiB of 600: $(tail -n 1 "$dir/out")"
kill "$honest"; wait "$honest" && ok "results are right all the while" || fail "$(tail -n 1 "$dir/honest")"
grep -q '^again' "$dir/honest" && fail "the honest client had to begin again" || ok "nobody else noticed"
