#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu ctl: list, end, stop and go, drain; who may; each a line in the log; neighbours notice nothing.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
# prints a count of rounds, each waited for, until it fails
cat >"$dir/work.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	CUdevice d; CUcontext c; CUdeviceptr p; CUresult r;
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d) || cuMemAlloc(&p, 1 << 20))
		return 1;
	for (int i = 0;; i++) {
		if ((r = cuMemsetD32(p, 1, 1 << 18)) || (r = cuCtxSynchronize()))
			return printf("failed %d\n", r) < 0;
		printf("%d\n", i);
		fflush(stdout);
		usleep(1000);
	}
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/work" "$dir/work.c" "$B/lib/libcuda.so.1" || { fail "does not build"; exit 1; }
chmod 711 "$dir"
start_stub
start_agent --mode 0666 --admin-group 43210
"$dir/work" >"$dir/a" 2>"$dir/a.err" & a=$!
"$dir/work" >"$dir/b" 2>/dev/null & b=$!
trap 'kill $a $b 2>/dev/null; cleanup' EXIT
until_true grep -q '^5$' "$dir/a"; until_true grep -q '^5$' "$dir/b"
field() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
for c in json.load(sys.stdin)["contexts"]:
    if c["pid"] == int(sys.argv[1]): print(c[sys.argv[2]])' "$1" "$2"; }
id=$(field $a client)
[ -n "$id" ] && [ "$(field $a command)" = work ] && [ "$(field $a state)" = running ] && [ "$(field $a weight)" = 100 ] && ok "list" || fail "list: $("$V/vgpu" ctl list)"
"$V/vgpu" ctl list | grep -qE "^$id +$a +$(id -u) +work +0 +0 +running +100 " && ok "list for people" || fail "list for people: $("$V/vgpu" ctl list)"

rounds() { wc -l <"$1"; }
"$V/vgpu" ctl stop "$id" && ok "stop" || fail "stop"
stopped() { [ "$(field $a state)" = stopped ]; }
until_true stopped && ok "it is stopped" || fail "state: $(field $a state)"
n=$(rounds "$dir/a") m=$(rounds "$dir/b")
on() { [ "$(rounds "$dir/b")" -gt $((m + 50)) ]; }
until_true on && ok "a neighbour works on" || fail "a neighbour of a stopped client"
[ "$(rounds "$dir/a")" -le $((n + 1)) ] && ok "and the stopped one does not" || fail "a stopped client works on: $n, $(rounds "$dir/a")"
"$V/vgpu" ctl go "$id" && ok "go" || fail "go"
again() { [ "$(rounds "$dir/a")" -gt $((n + 5)) ]; }
until_true again && ok "it goes on where it was" || fail "it does not go on"

"$V/vgpu" ctl drain 0 >"$dir/out" && grep -q '2 live on it' "$dir/out" && ok "drain" || fail "drain: $(cat "$dir/out")"
"$B/e2e/driver/vecadd" >"$dir/out" 2>&1; grep -q '(46)' "$dir/out" && ok "no new context: DEVICE_UNAVAILABLE" || fail "a drained device: $(cat "$dir/out")"
"$V/vgpu" metrics | grep -q '^vgpu_device_contexts_refused_total{.*} 1$' && ok "vgpu metrics counts what was refused" || fail "metrics: $("$V/vgpu" metrics | grep refused)"
n=$(rounds "$dir/a"); until_true again && ok "those that are there live on" || fail "a client of a drained device"
"$V/vgpu" ctl undrain 0 && "$B/e2e/driver/vecadd" >"$dir/out" 2>&1 && ok "undrain" || fail "undrain: $(cat "$dir/out")"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	out=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$V/vgpu" ctl end "$id" 2>&1); st=$?
	[ $st = 1 ] && grep -q 'only root' <<<"$out" && kill -0 $a && ok "another user may not" || fail "another user: exit $st: $out"
	if unshare --pid --fork true 2>/dev/null; then
		# root of a container: the same number in a PID namespace of its own
		for what in "end $id" "weight $id 1" "deny 0" "admission closed" "set client:$id contexts 1"; do
			# shellcheck disable=SC2086
			out=$(unshare --pid --fork "$V/vgpu" ctl $what 2>&1); st=$?
			[ $st = 1 ] && grep -q 'of a container may not' <<<"$out" || break
		done
		[ $st = 1 ] && kill -0 $a && [ "$(field $a weight)" = 100 ] && ok "nor may root of a container" || fail "root of a container: ctl $what: exit $st: $out"
	else
		skip "root of a container: no PID namespace can be made here"
	fi
	# members of --admin-group, whichever of their groups it is
	for g in "--regid=43210 --clear-groups" "--regid=65534 --groups=65534,43209,43210"; do
		# shellcheck disable=SC2086
		out=$(setpriv --reuid=65534 $g "$V/vgpu" ctl weight "$id" 77 2>&1) && [ "$(field $a weight)" = 77 ] && ok "--admin-group: $g may" || fail "--admin-group: $g: $out, weight $(field $a weight)"
		"$V/vgpu" ctl weight "$id" 100
		# shellcheck disable=SC2086
		unshare --pid --fork true 2>/dev/null && { out=$(unshare --pid --fork setpriv --reuid=65534 $g "$V/vgpu" ctl weight "$id" 1 2>&1); st=$?
			[ $st = 1 ] && grep -q 'of a container may not' <<<"$out" && ok "--admin-group: not in a container" || fail "--admin-group in a container: exit $st: $out"; }
	done
	out=$(setpriv --reuid=65534 --regid=43209 --groups=43209,43211 "$V/vgpu" ctl end "$id" 2>&1); st=$?
	[ $st = 1 ] && grep -q 'only root, user .* and group 43210 may' <<<"$out" && ok "another group may not" || fail "another group: exit $st: $out"
	grep -q "user 65534 gives client $id .* weight 77" "$dir/agent.log" && ok "the log names the user" || fail "log: $(tail -n 2 "$dir/agent.log")"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$V/vgpu" ctl list >"$dir/out" 2>&1 && ok "but may look" || fail "list as another user: $(cat "$dir/out")"
else
	skip "another user: not root"
fi
# asleep meanwhile: what the agent said in shared memory is taken back before it looks
kill -STOP $a
"$V/vgpu" ctl end "$id" && ok "end" || fail "end"
sleep 0.3
kill -CONT $a
wait $a
grep -q '^failed 719$' "$dir/a" && ok "its calls fail with LAUNCH_FAILED" || fail "an ended client: $(tail -n 1 "$dir/a")"
grep -q 'ended by the administrator' "$dir/a.err" && ok "and it is told by whom" || fail "it is told: $(cat "$dir/a.err")"
m=$(rounds "$dir/b"); until_true on && ok "its neighbour works on" || fail "the neighbour of an ended client"
out=$("$V/vgpu" ctl end "$id" 2>&1); st=$?
[ $st = 1 ] && grep -q "there is no client $id" <<<"$out" && ok "a client that is gone: said so" || fail "end again: exit $st: $out"
for line in "stops client $id" "lets go on client $id" "drains device 0" "takes device 0 out of drain" "ends client $id"; do
	grep -q "user 0 $line\|user $(id -u) $line" "$dir/agent.log" && ok "in the log: $line" || fail "not in the log: $line"
done
for bad in nosuchgroup nogroup 65534 4294967295 -1 ''; do
	"$V/vgpu-agent" --device vfio-user:/nope --admin-group "$bad" >/dev/null 2>"$dir/err"; [ $? = 2 ] && grep -q -e --admin-group "$dir/err" || break
done
[ "$bad" = '' ] && grep -q -e --admin-group "$dir/err" && ok "--admin-group of none is refused" || fail "--admin-group '$bad': $(cat "$dir/err")"
