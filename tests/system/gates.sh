#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Who is let in: admission by user and by cgroup, quarantine of who faults or is refused too often, rates; who may say so, and what is told.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
chmod 711 "$dir"
start_stub
start_agent --mode 0666
P=$B/e2e/driver/vecadd
try() { timeout 60 "$P" >"$dir/out" 2>&1; }
ctl() { "$V/vgpu" ctl "$@" >"$dir/ctl" 2>&1; }
gates() { "$V/vgpu" ctl list -j | python3 -c 'import json,sys
d = json.load(sys.stdin); print(d["admission"], *(":".join(str(g.get(k, "")) for k in ("state", "uid", "cgroup")) for g in d["gates"]))'; }
me=$(id -u)

# --- admission: by user
try && ok "open: everybody" || fail "open: $(cat "$dir/out")"
asked=
if [ "$me" = 0 ] && command -v setpriv >/dev/null && reachable "$P"; then
	asked=1
	as() { setpriv --reuid=65534 --regid=65534 --clear-groups env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" VGPU_AGENT="$VGPU_AGENT" "$@"; }
	other() { as timeout 60 "$P" >"$dir/out" 2>&1; }
	refused() { ! other && grep -q "$1" "$dir/out" && grep -q "$2" "$dir/out"; }
	ctl deny 65534 && refused 'user 65534' 'vgpu ctl deny' && ok "a user who is denied gets no device, and is told" || fail "deny: $(cat "$dir/out" "$dir/ctl")"
	try && ok "others do" || fail "deny of another: $(cat "$dir/out")"
	as "$V/vgpu" smi >"$dir/out" 2>&1 && ok "who is denied may look" || fail "smi of one who is denied: $(cat "$dir/out")"
	[ "$(gates)" = "open denied:65534:" ] && ok "the list says so" || fail "list: $(gates)"
	as "$V/vgpu" ctl forget 65534 >"$dir/out" 2>&1; [ $? = 1 ] && grep -q 'only root' "$dir/out" && refused 'user 65534' deny && ok "he may not say so himself" || fail "another user's ctl: $(cat "$dir/out")"
	ctl forget 65534 && other && ok "forget" || fail "forget: $(cat "$dir/out")"
	ctl admission closed && refused 'not admitted' 'vgpu ctl admit' && try && ok "closed: the agent's own user alone" || fail "closed: $(cat "$dir/out")"
	as "$V/vgpu" doctor >"$dir/out" 2>&1; grep -q 'fail *admission: only those are let in who are admitted, and user 65534' "$dir/out" && ok "doctor says what that is" || fail "doctor: $(cat "$dir/out")"
	"$V/vgpu" smi | grep -q 'admission is closed' && ok "smi says it" || fail "smi: $("$V/vgpu" smi)"
	ctl admit nobody && other && ok "by name" || fail "admit nobody: $(cat "$dir/out" "$dir/ctl")"
	ctl forget nobody

	# --- by cgroup, where one can be made
	# the unified hierarchy, or one of the first version
	root=
	for f in /sys/fs/cgroup: /sys/fs/cgroup/unified: /sys/fs/cgroup/freezer:freezer; do
		line=":${f#*:}:" f=${f%:*}
		mine=$(grep "^[0-9]*$line" /proc/self/cgroup | cut -d: -f3-)
		for f in "$f$mine" "$f"; do
			[ -z "$root" ] && [ -e "$f/cgroup.procs" ] && mkdir "$f/vgpu-gates-$$" 2>/dev/null && root=$f && at=$line
		done
	done
	if [ -n "$root" ]; then
		g=$root/vgpu-gates-$$
		trap 'rmdir "$g/step" "$g" 2>/dev/null; cleanup' EXIT
		mkdir "$g/step"
		name() { (echo "$BASHPID" >"$1/cgroup.procs" && grep "^[0-9]*$at" /proc/self/cgroup | cut -d: -f3-); }
		inside() { (echo "$BASHPID" >"$1/cgroup.procs" && other); }
		path=$(name "$g")
		if [ -n "$path" ] && [ "$path" != / ]; then
			! inside "$g" && ctl admit "$path/" && inside "$g" && inside "$g/step" && ok "a cgroup that is admitted, and what is below it" || fail "admit $path: $(cat "$dir/out" "$dir/ctl")"
			refused 'not admitted' admit && ok "and nobody else of the same user" || fail "beside the cgroup: $(cat "$dir/out")"
			ctl admit 65534; ctl deny "$path/step" && ! inside "$g/step" && grep -q 'this cgroup' "$dir/out" && inside "$g" && ok "no counts for more than yes" || fail "deny $path/step: $(cat "$dir/out")"
			ctl forget "$path/step"; ctl forget "$path"; ctl forget 65534
			! inside "$g" && ok "a job that is over" || fail "after forget"
		else
			skip "admission by cgroup: no process can be put into a cgroup of its own here"
		fi
	else
		skip "admission by cgroup: no cgroup can be made here"
	fi
	ctl admission open && other && ok "open again" || fail "open: $(cat "$dir/out")"
else
	skip "admission: not root, or others cannot reach the build"
fi
ctl forget 12345; [ $? = 1 ] && grep -q 'nothing was said' "$dir/ctl" && ok "forget what was not said" || fail "forget nobody: $(cat "$dir/ctl")"
ctl admit nosuchuser; [ $? = 2 ] && grep -q 'no such user' "$dir/ctl" && ok "a user that is none" || fail "no such user: $(cat "$dir/ctl")"
ctl admit /; [ $? = 2 ] && ok "the root of all cgroups is none" || fail "admit /: $(cat "$dir/ctl")"
ctl admission ajar; [ $? = 2 ] && ok "admission ajar" || fail "admission ajar"
for i in $(seq 1 128); do ctl admit "/job/$i" || fail "rule $i: $(cat "$dir/ctl")"; done
ctl admit /job/129; [ $? = 1 ] && grep -q 'rules already' "$dir/ctl" && ok "there is room for 128" || fail "rule 129: $(cat "$dir/ctl")"
[ "$(gates | wc -w)" = 129 ] && ok "all of them are listed" || fail "listed: $(gates | wc -w)"
for line in "user $me admits cgroup /job/1" "user $me closes admission" "user $me denies user 65534" "user $me forgets user 65534"; do
	[ -z "$asked" ] && [[ $line = *65534* || $line = *closes* ]] || { grep -q "$line" "$dir/agent.log" && ok "in the log: $line" || fail "not in the log: $line"; }
done
kill $agent; wait $agent 2>/dev/null

# --- quarantine: faults
: >"$dir/agent.log"
start_agent --quarantine-faults 3 --quarantine-seconds 25
fault() { timeout 60 "$B/test/system/memcheck" 100000000 >"$dir/out" 2>&1; }
"$B/test/system/memcheck" 24 >/dev/null
for i in 1 2; do fault; grep -q 'synchronize: 700' "$dir/out" || fail "fault $i: $(cat "$dir/out")"; done
try && ok "two faults of three: nothing yet" || fail "two faults: $(cat "$dir/out")"
fault
held() { "$V/vgpu" ctl list | grep -q "user $me.* is held off for [0-9]* s more, of $1\$"; }
until_true held 25 && ok "the third holds off" || fail "three faults: $("$V/vgpu" ctl list)"
try; grep -q "held off for [0-9]* s more (vgpu ctl release $me)" "$dir/out" && ok "and is told for how long" || fail "held off: $(cat "$dir/out")"
"$V/vgpu" metrics | grep -q "^vgpu_held_off_seconds{uid=\"$me\",container=\".*\"} [1-9]" && ok "vgpu metrics has it" || fail "metrics: $("$V/vgpu" metrics | grep held)"
"$V/vgpu" smi | grep -q "user $me.*held off" && ok "smi shows it" || fail "smi: $("$V/vgpu" smi)"
grep -q "user $me, container .* is held off for 25 s: 3 faults within a minute" "$dir/agent.log" && ok "a line in the log" || fail "log: $(cat "$dir/agent.log")"
until_true try && ok "it comes in again by itself" || fail "after the hold: $(cat "$dir/out")"
for i in 1 2 3; do fault; done
until_true held 50 && ok "the next time it is twice as long" || fail "second hold: $("$V/vgpu" ctl list)"
ctl release $me && try && grep -q "user $me releases user $me" "$dir/agent.log" && ok "released by hand" || fail "release: $(cat "$dir/ctl" "$dir/out")"
ctl release $me; [ $? = 1 ] && ok "there is nobody to release" || fail "release again"
for i in 1 2 3; do fault; done
until_true held 25 && ok "and its next is a first one" || fail "after a release: $("$V/vgpu" ctl list)"
ctl release all && try && ok "release all" || fail "release all: $(cat "$dir/ctl")"
kill $agent; wait $agent 2>/dev/null

# --- rates, and who is refused too often
printf 'connect-rate 4\nquarantine-refusals 3\nuid-clients 96\n' >"$dir/limits"
: >"$dir/agent.log"
start_agent --limits "$dir/limits"
# within COUNT WORDS: so many at once, and one more each COUNTth part of a minute: however slow this machine is
within() {
	local n=0 begin=$SECONDS
	while [ $n -lt 30 ] && try; do n=$((n + 1)); done
	[ $n -ge "$1" ] && [ $n -le $(($1 + 1 + (SECONDS - begin + 1) * $1 / 60)) ] && grep -q "$2" "$dir/out" && ok "$n, of $1 at once, and no more: $2" || fail "$2: $n, $(cat "$dir/out")"
}
within 4 'more than 4 connections a minute'
printf 'context-rate 2\nquarantine-refusals 3\nquarantine-seconds 30\n' >"$dir/limits"; kill -HUP $agent
until_true grep -q 'context-rate 2' "$dir/agent.log"
within 2 OUT_OF_MEMORY
printf 'uid-clients 1\nquarantine-refusals 3\nquarantine-seconds 100\n' >"$dir/limits"; kill -HUP $agent
until_true grep -q 'uid-clients 1,' "$dir/agent.log"
"$B/e2e/driver/endless" >/dev/null 2>&1 & hog=$!
hogs() { "$V/vgpu" smi -j | grep -q '"contexts":[1-9]'; }
until_true hogs
for i in 1 2 3; do try; done
kill $hog; wait $hog 2>/dev/null
"$V/vgpu" ctl list | grep -q "held off for [0-9]* s more, of 100" && grep -q '3 refusals within a minute' "$dir/agent.log" && ok "three refusals hold off" || fail "refusals: $("$V/vgpu" ctl list), $(cat "$dir/out")"
for bad in '--quarantine-seconds 0' '--connect-rate x' '--admission ajar'; do
	# shellcheck disable=SC2086
	"$V/vgpu-agent" --device vfio-user:/nope $bad >/dev/null 2>"$dir/err"; [ $? = 2 ] && grep -q -- "${bad% *}" "$dir/err" && ok "refused: $bad" || fail "$bad: $(cat "$dir/err")"
done
