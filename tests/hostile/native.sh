#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Native code in a context, behind the real sandbox, beside an honest client (native.h). One line an attack:
#   ok native/NAME (what came of it) | FAIL native/NAME reason | skip NAME reason
#
#   native.sh BUILD [PATTERN]       the device is BUILD/test/hostile/bin/vgpu-stub; $NATIVE_STUB, $NATIVE_AGENT: others
set -u
. "$(dirname "$0")/huge.sh"
B=$(cd "$1" && pwd)
only=${2:-}
S=${NATIVE_STUB:-$B/test/hostile/bin/vgpu-stub} A=${NATIVE_AGENT:-$B/bin/vgpu-agent}
N=$B/test/hostile/native vecadd=$B/e2e/driver/vecadd
T=$(mktemp -d /tmp/vgpu-native.XXXXXX)
export VGPU_AGENT=$T/agent.sock LD_LIBRARY_PATH=$B/lib
MEMORY=$((256 << 20)) OVERHEAD=$((512 << 20))
options=${NATIVE_OPTIONS-"--overhead 512M"}
stub='' agent='' honest='' nr_was=''
export VGPU_STUB_NATIVE_AGENT=$VGPU_AGENT VGPU_STUB_NATIVE_ABSTRACT=vgpu-native-$$

for f in "$S" "$A" "$N" "$vecadd"; do
	[ -x "$f" ] || { echo "FAIL start $f is not built"; exit 1; }
done
alive() { [ -n "$1" ] && kill -0 "$1" 2>/dev/null; }
within() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}
smi() { timeout 20 "$B/bin/vgpu" smi -j 2>/dev/null; }
stop() {
	for p in $honest $agent $stub; do kill "$p" 2>/dev/null; done
	sleep 0.1
	for p in $honest $agent $stub; do kill -9 "$p" 2>/dev/null; wait "$p" 2>/dev/null; done
	stub='' agent='' honest=''
	rm -f "$T"/*.sock "$T/pid"
}
cleanup() {
	stop
	[ -z "$nr_was" ] || echo "$nr_was" >/proc/sys/vm/nr_hugepages
	rm -rf "$T"
}
trap cleanup EXIT
start() {
	alive "$stub" && alive "$agent" && return 0
	stop
	# exec: the number is the device's
	sh -c 'export VGPU_STUB_NATIVE_PID=$$; exec "$@"' sh "$S" --socket "$T/stub.sock" --memory 256M $options 2>>"$T/stub.log" &
	stub=$!
	within 60 test -S "$T/stub.sock" || { echo "FAIL start $(tail -n 1 "$T/stub.log")"; exit 1; }
	"$A" --device "vfio-user:$T/stub.sock" --listen "$VGPU_AGENT" --pidfile "$T/pid" 2>>"$T/agent.log" &
	agent=$!
	within 60 smi || { echo "FAIL start $(tail -n 1 "$T/agent.log")"; exit 1; }
}
honest_client() {
	alive "$honest" && return 0
	rm -f "$T/honest.out"
	"$vecadd" loop 600 2000 >"$T/honest.out" 2>&1 &
	honest=$!
	within 60 grep -q running "$T/honest.out"
}

# the log of the device says nothing in a context's words: no control byte, no line that is not the device's own, a bounded size
clean_log() {
	local bytes
	bytes=$(stat -c %s "$T/stub.log")
	[ "$bytes" -le 300000 ] || { echo "$bytes bytes of log"; return 1; }
	! LC_ALL=C grep -qP '[^\x20-\x7e]' "$T/stub.log" || { echo "control bytes in the log"; return 1; }
	! grep -qvE '^(vgpu-stub: |ready: vgpu-stub [0-9.]+: "VGPU-STUB)' "$T/stub.log" || { echo "forged lines in the log"; return 1; }
	! grep -q '^vgpu-stub: context 0: forged' "$T/stub.log" || { echo "forged lines in the log"; return 1; }
}

attack() { # NAME WANT
	local name=$1 want=$2 out bytes had why=
	[ -z "$only" ] || [[ $name =~ $only ]] || return 0
	start
	honest_client || { echo "FAIL native/$name the honest client does not start: $(tail -n 1 "$T/honest.out")"; return; }
	had=$(fds)
	: >"$T/stub.log"
	out=$(timeout -k 1 120 "$N" "$name" 2>"$T/err") || why="$out $(head -c 200 "$T/err")"
	if [ -z "$why" ]; then
		case $want:$out in
		died:died | refused:refused* | stopped:died | stopped:refused* | harmless:*) ;;
		bounded:refused*) ;;
		bounded:done*)
			bytes=${out#done }
			[ "$bytes" -le $((MEMORY + OVERHEAD + (64 << 20))) ] || why="had $((bytes >> 20)) MiB" ;;
		*) why="$out, wanted: $want" ;;
		esac
	fi
	alive "$stub" || why="${why:+$why; }the device is dead"
	alive "$agent" || why="${why:+$why; }the agent is dead"
	if [ -z "$why" ]; then
		alive "$honest" || why="the honest client ended: $(grep -m 1 FAIL "$T/honest.out" || tail -n 1 "$T/honest.out")"
		within 60 served || why="${why:+$why; }nobody is served any more"
		within 60 gave_back "$had" || why="${why:+$why; }the device has $(fds) descriptors, $had before"
	fi
	log=$(clean_log) || why="${why:+$why; }$log"
	[ -z "$why" ] && echo "ok native/$name ($out)" || echo "FAIL native/$name $why"
}
fds() { find "/proc/$stub/fd" -mindepth 1 2>/dev/null | wc -l; }
gave_back() { [ "$(fds)" -le "$1" ]; }
served() { timeout 30 "$vecadd"; }

# What a context says that it runs, for whoever asks: as text, wherever it is shown.
named() {
	local bad='' p how
	[ -z "$only" ] || [[ work_forged =~ $only ]] || return 0
	start
	"$N" work_forged >"$T/out" 2>&1 & p=$!
	shown() { "$B/bin/vgpu" ctl list >"$T/list" 2>&1 && grep -q 'forged:' "$T/list"; }
	within 60 shown || bad="nobody sees the name"
	for how in "ctl list" "ctl list -j" "smi" "metrics"; do
		# shellcheck disable=SC2086
		"$B/bin/vgpu" $how >"$T/list" 2>&1
		! LC_ALL=C grep -qP '[^\x20-\x7e\t]' "$T/list" && ! grep -q '^ready: vgpu-stub' "$T/list" || bad="$bad; vgpu $how: $(grep -m 1 -a forged "$T/list" | cat -v)"
	done
	wait $p
	[ -z "$bad" ] && echo "ok native/work_forged ($(cat "$T/out"))" || echo "FAIL native/work_forged $bad"
}

# What is installed has none of it: the objects are the same, the hook is the linker's.
installed() {
	[ -z "$only" ] || [[ installed =~ $only ]] || return 0
	if grep -qa "__wrap_ctx_exec\|vgpu-stub 9.9: forged" "$B/bin/vgpu-stub"; then
		echo "FAIL native/installed the installed device has the tests' hook in it"
	elif ! grep -qa "vgpu-stub 9.9: forged" "$B/test/hostile/bin/vgpu-stub"; then
		echo "FAIL native/installed the tests' device has no hook: this looks at nothing"
	else
		echo "ok native/installed"
	fi
}

huge() { # on real huge pages, of which there are few
	local n=/proc/sys/vm/nr_hugepages huge_now=
	exec 9>/tmp/vgpu-test-hugepages.lock; flock 9      # one for the whole machine: whoever changes them is alone
	nr_was=$(cat $n 2>/dev/null) || { echo "skip native/huge no hugetlb in this kernel"; return; }
	if ! { echo $((nr_was + 24)) >$n; } 2>/dev/null || [ "$(cat $n)" -lt $((nr_was + 24)) ]; then
		{ echo "$nr_was" >$n; } 2>/dev/null
		nr_was=
		echo "skip native/huge cannot reserve hugepages here (not root, or no contiguous memory)"
		return
	fi
	stop
	attack hugetlb_punch died
	stop
	if [ -z "$only" ] || [[ beyond_queue =~ $only ]]; then
		export VGPU_STUB_NATIVE_BEYOND=1
		for _ in 1 2 3 4 5 6 7 8; do
			# other tests' agents take huge pages, too: a block without one comes back as zeroes, and nobody notices
			few_free
			start
			slowly "$agent" attack beyond_queue harmless
			grep -q "queue block was taken away" "$T/agent.log" && break
			huge_now=$(huge_of "$agent")
			stop
		done
		grep -q "queue block was taken away" "$T/agent.log" && echo "ok native/beyond_queue/found" ||
			echo "FAIL native/beyond_queue/found the agent never met the hole: this proved nothing ($huge_now)"
		unset VGPU_STUB_NATIVE_BEYOND
	fi
	stop
	echo "$nr_was" >$n
	nr_was=
}

listen() { # at the host's abstract socket, which a context is to find
	python3 -c 'import socket,sys,time; s=socket.socket(socket.AF_UNIX); s.bind("\0"+sys.argv[1]); s.listen(); time.sleep(300)' \
		"$VGPU_STUB_NATIVE_ABSTRACT" &
	listener=$!
	within 60 grep -q "@$VGPU_STUB_NATIVE_ABSTRACT\$" /proc/net/unix || echo "FAIL start nobody listens at @$VGPU_STUB_NATIVE_ABSTRACT"
}
# What stands behind the filter depends on the machine: without namespaces it is said, and not looked for.
beyond() {
	local have
	[ -z "$only" ] || [[ beyond =~ $only ]] || [[ $only == beyond* ]] || return 0
	stop
	export VGPU_STUB_NATIVE_BEYOND=1
	start
	have=$(smi | tr -d ' \n' | grep -o '"walls":\[[^]]*\]')
	if [[ $have != *'"user","pid","mount","net","ipc"'*landlock* ]]; then
		echo "skip native/beyond this machine has only $have"
		return
	fi
	listen
	VGPU_STUB_NATIVE_SHM=$(ipcmk -M 4096 >"$T/shm" && ipcs -m | awk -v id="$(grep -o '[0-9]*$' "$T/shm")" '$2 == id {print $1}')
	export VGPU_STUB_NATIVE_SHM=$((VGPU_STUB_NATIVE_SHM))
	stop
	while IFS=$'\t' read -r name want _; do
		[[ $name == beyond_* && $name != beyond_queue ]] && attack "$name" "$want"
	done < <("$N" --list)
	kill $listener
	ipcrm -m "$(grep -o '[0-9]*$' "$T/shm")"
	stop
	unset VGPU_STUB_NATIVE_BEYOND
}

# Each wall for itself: no filter, and none of the others (but that a user of its own may take a namespace of users, for its limits to be in
# reach). What it is there for it stops alone. Played is what would do no harm if it did not.
alone() {
	local have wall names name
	[ -z "$only" ] || [[ alone =~ $only ]] || [[ $only == alone* ]] || return 0
	stop
	[ "$(id -u)" = 0 ] || { echo "skip native/alone not root: all namespaces but that of users need it"; return; }
	local options_were=$options only_was=$only all=$S
	export VGPU_STUB_NATIVE_BEYOND=1
	# where the build is nobody else's to run, there is no context of another user
	chmod 711 "$T" && cp "$S" "$T/everybodys" && chmod 755 "$T/everybodys" && S=$T/everybodys
	listen
	while read -r wall names; do
		[[ $only_was != alone?* || $only_was == "alone_$wall" ]] || continue
		options="--overhead 512M --walls $wall"
		start
		have=$(smi | tr -d ' \n' | grep -o '"walls":\[[^]]*\]')
		if [[ $wall != none && $have != "\"walls\":[\"seccomp\",\"${wall//,/\",\"}\"]" ]]; then
			echo "skip native/alone_$wall this machine has $have"
		else
			only=beyond
			for name in $names; do
				attack "$name" refused | sed "s|native/|native/alone_$wall/|"
			done
			only=$only_was
		fi
		stop
	done <<-W
		mount beyond_passwd beyond_proc beyond_device beyond_exec beyond_agent
		pid beyond_see beyond_trace beyond_peek
		user,uid beyond_see beyond_trace beyond_peek
		user beyond_trace beyond_peek beyond_userns
		net beyond_network beyond_abstract
		none beyond_chroot beyond_setuid beyond_nice beyond_module
	W
	kill $listener
	options=$options_were S=$all
	unset VGPU_STUB_NATIVE_BEYOND
}

# Landlock alone, as in a container without rights and without user namespaces: what it stops, and no more is claimed of it.
landlocked() {
	local have
	[ -z "$only" ] || [[ landlock =~ $only ]] || [[ $only == landlock* ]] || return 0
	stop
	cat >"$T/alone" <<-W
		#!/bin/sh
		exec unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "\$@"' sh "$S" "\$@"
	W
	chmod 755 "$T/alone"
	if ! unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' 2>/dev/null; then
		echo "skip native/landlock no user namespace to take the others away in"
		return
	fi
	export VGPU_STUB_NATIVE_BEYOND=1
	local all=$S
	S=$T/alone
	start
	have=$(smi | tr -d ' \n' | grep -o '"walls":\[[^]]*\]')
	if [[ $have != '"walls":["seccomp","landlock"]' ]]; then
		echo "skip native/landlock this machine has $have"
	else
		local only=beyond       # of this function, and of what it calls
		# not: beyond_agent, beyond_network (it knows nothing of sockets with a path, nor of UDP); beyond_kill, which would be everybody's end
		for name in beyond_passwd beyond_root beyond_create beyond_proc beyond_device beyond_exec beyond_see beyond_trace beyond_peek; do
			attack "$name" refused | sed 's|native/|native/landlock/|'
		done
	fi
	S=$all
	stop
	unset VGPU_STUB_NATIVE_BEYOND
}

# Each for itself within its bounds, and several of one user: what they have besides their grants has a limit for all (--overheads), and they
# do not have all of that.
spread() {
	local most=$((1 << 30)) attackers=() had=0 now still=0 what=spread p uid=''
	[ -z "$only" ] || [[ spread =~ $only ]] || return 0
	stop
	local options_were=$options
	options="--overhead 512M --overheads 1G"
	start
	honest_client || { echo "FAIL native/$what the honest client does not start: $(tail -n 1 "$T/honest.out")"; return; }
	if [ "$(id -u)" = 0 ]; then
		uid="setpriv --reuid=65534 --clear-groups"
		chmod 711 "$T" && chmod 666 "$VGPU_AGENT"
		mkdir -p "$T/theirs" && cp "$N" "$B/lib/libcuda.so.1" "$T/theirs/" && chmod -R a+rX "$T/theirs"
	fi
	attacks() { # whose context is ended comes again
		while [ ! -e "$T/enough" ]; do
			if [ -n "$uid" ]; then LD_LIBRARY_PATH=$T/theirs $uid "$T/theirs/native" own_stay; else "$N" own_stay; fi
		done
	}
	for _ in 1 2 3 4 5 6; do
		attacks >"$T/spread.${#attackers[@]}" 2>&1 &
		attackers+=($!)
	done
	# private memory and code of all contexts, for as long as it grows, and some seconds
	all_own() {
		local n=0 c
		for c in $(pgrep -P "$stub" -x vgpu-context); do
			n=$((n + $(awk '/vgpu-code/ { code = !seen++ } /^[0-9a-f]+-/ && !/vgpu-code/ { code = 0 } /^Rss:/ && code { k += $2 } /^Anonymous:/ { a += $2 } END { print k + a }' "/proc/$c/smaps" 2>/dev/null || echo 0)))
		done
		echo $((n << 10))
	}
	for _ in $(seq 400); do
		now=$(all_own)
		[ "$now" -gt "$had" ] && had=$now still=0 || still=$((still + 1))
		[ $still -lt 60 ] || break
		sleep 0.05
	done
	# With what many processors fill between two looks, which is no measure; each could have 1 GiB by its own bounds.
	if [ "$had" -lt $((most / 2)) ]; then what="they have $((had >> 20)) MiB: this proved nothing: $(cat "$T"/spread.* | sort | uniq -c | head -n 3)"
	elif [ "$had" -gt $((most * 2)) ]; then what="they have $((had >> 20)) MiB of $((most >> 20))"
	elif ! alive "$honest"; then what="the honest client ended: $(tail -n 1 "$T/honest.out")"
	elif ! alive "$stub" || ! alive "$agent"; then what="the device or the agent is dead"
	elif [ -n "$uid" ] && ! served >/dev/null; then what="nobody else is served beside them"
	else what=''
	fi
	[ -z "$what" ] && echo "ok native/spread (six have $((had >> 20)) MiB of $((most >> 20)) at the most)" || echo "FAIL native/spread $what: $(tail -n 2 "$T/stub.log")"
	touch "$T/enough"
	pkill -9 -f "native own_stay" -P "$(IFS=,; echo "${attackers[*]}")"
	wait "${attackers[@]}"
	options=$options_were
	stop
}

installed
while IFS=$'\t' read -r name want _; do
	[[ $name == hugetlb_punch || $name == work_forged || $name == own_stay || $name == beyond_* || $name == cgroup_* ]] || attack "$name" "$want"
done < <("$N" --list)
named
beyond
huge
landlocked
alone
spread
