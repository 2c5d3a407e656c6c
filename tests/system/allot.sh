#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu ctl set and limits: weight, memory, window, contexts and connections of a client, a user and a cgroup, while they run.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
# reads "m MIB" (device memory), "p MIB" (pinned), "c" (a context) and says each time what came of it
cat >"$dir/ask.c" <<'C'
#include <cuda.h>
#include <stdio.h>
int main(void)
{
	CUdevice d; CUcontext c; CUdeviceptr p; void *h; char line[64]; unsigned long n;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d))
		return puts("no context") < 0;
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "m %lu", &n) == 1)
			printf("m %d\n", cuMemAlloc(&p, n << 20));
		else if (sscanf(line, "p %lu", &n) == 1)
			printf("p %d\n", cuMemHostAlloc(&h, n << 20, 0));
		else if (*line == 'c')
			printf("c %d\n", (cuCtxCreate)(&c, NULL, 0, d));
	}
	return 0;
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/ask" "$dir/ask.c" "$B/lib/libcuda.so.1" || { fail "does not build"; exit 1; }
chmod 711 "$dir"
start_stub --memory 1G
: >"$dir/limits.conf"
start_agent --mode 0666 --windows 1G --limits "$dir/limits.conf"
me=$(id -u)
mkfifo "$dir/in"
"$dir/ask" <"$dir/in" >"$dir/out" 2>/dev/null & one=$!
exec 3>"$dir/in"
trap 'exec 3>&-; kill $one 2>/dev/null; cleanup' EXIT
until_true grep -q ready "$dir/out"
# says QUESTION: the answer
says() {
	local n
	n=$(wc -l <"$dir/out")
	echo "$1" >&3
	more() { [ "$(wc -l <"$dir/out")" -gt "$n" ]; }
	until_true more
	tail -n 1 "$dir/out" | cut -d' ' -f2
}
set_() { "$V/vgpu" ctl set "$@" 2>"$dir/err"; }
id=$("$V/vgpu" ctl list -j | python3 -c 'import json,sys; print(json.load(sys.stdin)["contexts"][0]["client"])')
# is NAME WANT QUESTION
is() {
	local got
	got=$(says "$3")
	[ "$got" = "$2" ] && ok "$1" || fail "$1: $got, not $2"
}
[ -z "$("$V/vgpu" ctl limits)" ] && ok "nothing is set at first" || fail "limits: $("$V/vgpu" ctl limits)"
set_ client:"$id" memory 100M || fail "set: $(cat "$dir/err")"
is "a client within its memory" 0 "m 60"
is "a client beyond its memory" 2 "m 60"
set_ client:"$id" memory default
is "without a limit of its own again" 0 "m 60"
set_ "$me" memory 150M
is "a user beyond its memory" 2 "m 60"
is "and within it" 0 "m 20"
set_ "$me" memory 400M
is "the user has more" 0 "m 60"
set_ "$me" memory default
set_ client:"$id" contexts 2
is "a second context" 0 c
is "a third of two" 2 c
set_ client:"$id" contexts default
is "a third of eight" 0 c
set_ "$me" window 64M
is "a user's pinned memory beyond its window" 2 "p 100"
set_ "$me" window default
is "and with the window of before" 0 "p 100"

set_ "$me" clients 1
out=$("$B/e2e/driver/vecadd" 2>&1)
grep -q 'connections already' <<<"$out" && ok "a second connection of one is refused, and told why" || fail "connections: $out"
set_ "$me" clients default
"$V/vgpu" metrics | grep -qx 'vgpu_agent_connections_refused_total{reason="limit"} 1' && ok "vgpu metrics counts it" || fail "metrics: $("$V/vgpu" metrics | grep refused_total)"
"$B/e2e/driver/vecadd" >/dev/null 2>&1 && ok "a second connection again" || fail "a second connection"

weight() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
print(*sorted({c["weight"] for c in json.load(sys.stdin)["contexts"]}))'; }
heavy() { [ "$(weight)" = "$1" ]; }
set_ "$me" weight 300 && until_true heavy 300 && ok "a user's weight" || fail "a user's weight: $(weight)"
set_ client:"$id" weight 50 && until_true heavy 50 && ok "a client's own weight comes first" || fail "a client's weight: $(weight)"
set_ client:"$id" weight default && until_true heavy 300 && ok "then its user's again" || fail "the user's weight: $(weight)"
set_ /nowhere/at/all weight 7
"$V/vgpu" ctl limits >"$dir/limits"
grep -qx "user $me: weight 300" "$dir/limits" && grep -qx 'cgroup /nowhere/at/all: weight 7' "$dir/limits" && ok "limits are listed" || fail "limits: $(cat "$dir/limits")"
set_ "$me" weight default && until_true heavy 100 && ok "everybody's weight again" || fail "weight: $(weight)"
box=$(sed -n 's/.*container \([^,]*\), vgpu.*/\1/p' "$dir/agent.log" | head -n 1)
if [ -n "$box" ] && [ "$box" != none ]; then
	set_ "$box" weight 40 && until_true heavy 40 && ok "a container's weight" || fail "a container's weight: $(weight)"
	set_ "$box/below" weight 70
	sleep 0.2
	heavy 40 && ok "a cgroup below it is another's" || fail "a cgroup below: $(weight)"
	set_ "$box" memory 200M
	is "a container beyond its memory" 2 "m 60"
	set_ "$box" memory default
	is "and without a limit" 0 "m 60"
else
	skip "a container: no cgroup names one here"
fi
# by the agent's own options, and read again: of each user, each container, until somebody says another
told_at() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
print(*sorted({c.get("compute_limit") or 1 for c in json.load(sys.stdin)["contexts"]}))'; }
holds() { [ "$(told_at)" = "$1" ]; }
reads() { printf "$1" >"$dir/limits.conf"; kill -HUP "$agent"; }
reads 'uid-compute 30%%\n' && until_true holds 0.3 && ok "--limits: uid-compute, while it runs" || fail "uid-compute: $(told_at)"
reads 'uid-compute 30%%\ncontainer-compute 20%%\n'
if [ -n "$box" ] && [ "$box" != none ]; then
	until_true holds 0.2 && ok "--limits: container-compute" || fail "container-compute: $(told_at)"
fi
set_ "$me" compute 10% && until_true holds 0.1 && ok "what ctl says of a user comes first" || fail "ctl before the file: $(told_at)"
set_ "$me" compute default
reads 'uid-compute 0%%\n'; until_true grep -q 'uid-compute 0%: a share' "$dir/agent.log" && ok "a share that is none: the file changes nothing" || fail "uid-compute 0%: $(tail -n 1 "$dir/agent.log")"
reads 'uid-compute 100%%\n' && until_true holds 1 && ok "100% is no limit" || fail "uid-compute 100%: $(told_at)"
# of the device's time: what a client and its user may have, and who goes first; that it holds is tests/unit/test_fair.c and fair.sh
told() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
print(*sorted({(c["priority"], c.get("compute_limit"), c.get("kernel_limit_s")) for c in json.load(sys.stdin)["contexts"]}))'; }
is_told() { [ "$(told)" = "$1" ]; }
is_told "('normal', None, None)" && ok "no limit of time, the usual priority" || fail "at first: $(told)"
set_ "$me" compute 40%; set_ client:"$id" compute 62.5%; set_ everybody kernel-time 2m; set_ client:"$id" priority low
until_true is_told "('low', 0.4, 120)" && ok "compute, kernel-time and priority reach the device" || fail "told: $(told)"
set_ "$me" priority high; set_ "$me" kernel-time 1500ms; set_ "$me" compute default
until_true is_told "('low', 0.625, 1.5)" && ok "a client's own comes first, a user's before everybody's" || fail "told: $(told)"
"$V/vgpu" ctl limits >"$dir/limits"
for line in "user $me: priority high" "user $me: kernel-time 1500 ms" "client $id: compute 62.5%" "client $id: priority low" "everybody: kernel-time 120000 ms"; do
	grep -qxF "$line" "$dir/limits" && ok "listed: $line" || fail "not listed: $line"
done
set_ "$me" priority default; set_ "$me" kernel-time default; set_ client:"$id" compute default; set_ client:"$id" priority default; set_ everybody kernel-time default
until_true is_told "('normal', None, None)" && ok "and all of it is taken back" || fail "taken back: $(told)"
set_ everybody memory 1G; [ $? = 1 ] && grep -q 'of everybody there are' "$dir/err" && ok "no memory of everybody" || fail "everybody's memory: $(cat "$dir/err")"
for wrong in "memory 0" "memory x" "memory 2T" "memory -1" "weight 1001" "weight 1.5" "contexts 9" "speed 3" "compute 0%" "compute 25" "compute 100.1%" "compute 1.25%" "kernel-time 0s" "kernel-time 25h" "kernel-time 3y" "priority urgent" "priority 1" "memory 18446744073709551615G"; do
	# shellcheck disable=SC2086
	set_ "$me" $wrong
	[ $? = 2 ] && [ -s "$dir/err" ] && ok "refused: $wrong" || fail "not refused: $wrong"
done
set_ client:999 weight 5; [ $? = 1 ] && grep -q 'there is no client 999' "$dir/err" && ok "no such client" || fail "no such client: $(cat "$dir/err")"
set_ "$me" memory default; [ $? = 1 ] && grep -q 'nothing was set' "$dir/err" && ok "nothing was set" || fail "nothing was set: $(cat "$dir/err")"
if [ "$me" = 0 ] && command -v setpriv >/dev/null; then
	cp "$V/vgpu" "$dir/vgpu"        # a build below /root is nobody else's business
	setpriv --reuid=65534 --regid=65534 --clear-groups env VGPU_AGENT="$VGPU_AGENT" "$dir/vgpu" ctl set 65534 weight 900 2>"$dir/err"
	[ $? = 1 ] && grep -q 'only root' "$dir/err" && ok "another user may not" || fail "another user: $(cat "$dir/err")"
fi
for line in "client $id (ask, pid $one, uid $me) memory 100 MiB" "client $id (ask, pid $one, uid $me) no memory of its own any more" "user $me memory 150 MiB" \
	"user $me contexts" "user $me window 64 MiB" "user $me clients 1" "user $me weight 300" "cgroup /nowhere/at/all weight 7"; do
	[ "$line" = "user $me contexts" ] && line="client $id (ask, pid $one, uid $me) contexts 2"
	grep -qF "user $me gives $line" "$dir/agent.log" && ok "in the log: $line" || fail "not in the log: $line"
done
