#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Who may come, and how much of everything he gets: limits at run time, by user and by container; the socket's mode; set-uid programs.
. "$(dirname "$0")/lib.sh"
W=$B/test/soak/worker
start_stub --memory 512M
printf '# a comment\nuid-clients 3\n\nlog-level debug\n' >"$dir/limits"
start_agent --limits "$dir/limits"

# holds N: clients that hold a context, until `enough`
until_true() { # as in lib.sh, for less long
	local until=$((SECONDS + 20))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.05
	done
}
held=()
mkfifo "$dir/go"
exec 4<>"$dir/go"
holds() {
	for _ in $(seq "$1"); do
		"$W" grow <&4 >"$dir/held.${#held[@]}" 2>&1 &
		held+=($!)
		until_true grep -q . "$dir/held.$((${#held[@]} - 1))"
	done
}
enough() {
	kill "${held[@]}" 2>/dev/null
	wait "${held[@]}" 2>/dev/null
	held=()
	rm -f "$dir"/held.*
}
refused() { "$W" first >"$dir/out" 2>&1; grep -q "$1" "$dir/out"; }
said() { grep -q "$1" "$dir/agent.log"; }

holds 3
refused '(--uid-clients)' && ok "a limit of the file holds" || fail "a fourth of three: $(tail -n 1 "$dir/out")"
"$V/vgpu" smi -j >"$dir/out" 2>&1 && "$V/vgpu" smi -j >/dev/null && ok "who only looks is no client" || fail "smi is refused: $(cat "$dir/out")"
echo "uid-clients 4" >"$dir/limits"
kill -HUP "$agent"
until_true said 'SIGHUP: .*uid-clients 4,.*log-level info' && "$W" first >"$dir/out" 2>&1 && ok "SIGHUP reads it again, and says what holds" || fail "after HUP: $(tail -n 1 "$dir/out" "$dir/agent.log")"
for bad in 'uid-clients none' 'client-window 1G' 'listen /tmp/x' 'uid-clients 2 3' 'what 3'; do
	echo "$bad" >"$dir/limits"
	: >"$dir/agent.log"
	kill -HUP "$agent"
	until_true said 'SIGHUP: nothing changes: .*line 1' && "$W" first >"$dir/out" 2>&1 && ok "\"$bad\" is refused, and what held holds" || fail "$bad: $(cat "$dir/agent.log")"
done
rm "$dir/limits"
kill -HUP "$agent"
until_true said 'SIGHUP: nothing changes: .*No such file' && ok "so is a file that is gone" || fail "no file: $(cat "$dir/agent.log")"
enough
echo "windows 64M" >"$dir/limits"
kill -HUP "$agent"
until_true said 'windows 64,'
"$W" windows 70 >"$dir/out" 2>&1 && fail "70 MiB of 64" || ok "a limit of windows holds at once"
for _ in 1 2 3 4 5 6; do "$W" windows 30 >"$dir/out" 2>&1 || break; done
grep -q 'had' "$dir/out" && ok "one after the other all get theirs" || fail "windows do not come back: $(cat "$dir/out")"

# by container: two of this user's processes in one group, whatever user ids there are below it
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ "$(id -u)" = 0 ] && [ -n "$cgroups" ] && group=$(mktemp -d "$cgroups/vgpu-test-XXXXXX" 2>/dev/null) &&
   mkdir "$group/mine" "$group/mine/a" "$group/mine/b" 2>/dev/null && [ -e "$group/mine/a/cgroup.procs" ]; then
	printf 'container-clients 2\nlog-level debug\n' >"$dir/limits"
	kill -HUP "$agent"
	until_true said 'container-clients 2'
	in_group() { echo "$BASHPID" >"$group/mine/$1/cgroup.procs" && shift && exec setpriv --reuid="$1" --clear-groups "${@:2}"; }
	chmod 666 "$dir/agent"; chmod 755 "$dir"
	# other users may not come to where the build lies
	mkdir "$dir/theirs" && cp "$W" "$B/lib/libcuda.so.1" "$dir/theirs/" && W=$dir/theirs/worker LD_LIBRARY_PATH=$dir/theirs:$LD_LIBRARY_PATH
	for n in 0 1; do
		(in_group "$([ $n = 0 ] && echo a || echo b)" $((100000 + n)) env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" VGPU_AGENT="$VGPU_AGENT" "$W" grow <&4) >"$dir/held.$n" 2>&1 &
		held+=($!)
		until_true grep -q . "$dir/held.$n"
	done
	(in_group a 100002 env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" VGPU_AGENT="$VGPU_AGENT" "$W" first) >"$dir/out" 2>&1
	if ! grep -q running "$dir/held.0"; then
		skip "user ids of a container: $(cat "$dir/held.0")"
	elif grep -q 'this container has 2 connections' "$dir/out" && "$W" first >"$dir/out" 2>&1; then
		ok "more user ids and more groups of a container are no larger share"
	else
		fail "three users of one container: $(cat "$dir/out")"
	fi
	enough
	# what a container has together, of the device's memory and of windows, whoever its users are
	printf 'container-memory 64M\ncontainer-windows 64M\nlog-level debug\n' >"$dir/limits"
	kill -HUP "$agent"
	until_true said 'container-memory 64.*container-windows 64'
	of_box() { # GROUP USER MODE N: a worker there, on this stdin
		in_group "$1" "$2" env LD_LIBRARY_PATH="$LD_LIBRARY_PATH" VGPU_AGENT="$VGPU_AGENT" "$W" "$3" "$4"
	}
	(of_box a 100000 memory 40 <&4) >"$dir/held.0" 2>&1 &
	held+=($!)
	until_true grep -q . "$dir/held.0"
	(of_box b 100001 memory 40 </dev/null) >"$dir/out" 2>&1
	(of_box b 100001 memory 20 </dev/null) >"$dir/out2" 2>&1
	grep -q 'had 40' "$dir/held.0" && grep -q OUT_OF_MEMORY "$dir/out" && grep -q 'had 20' "$dir/out2" && "$W" memory 40 </dev/null >"$dir/out" 2>&1 &&
		ok "a container's memory is all of its users' together, and no one else's" || fail "a container's memory: $(tail -qn 1 "$dir/held.0" "$dir/out" "$dir/out2" | tr '\n' ' ')"
	enough
	came_back() { (of_box b 100001 memory 60 </dev/null) >"$dir/out" 2>&1; }
	until_true came_back && ok "and comes back" || fail "a container's memory does not come back: $(cat "$dir/out")"
	(of_box a 100002 windows 70 </dev/null) >"$dir/out" 2>&1
	! grep -q had "$dir/out" && (of_box a 100002 windows 30 </dev/null) >"$dir/out" 2>&1 &&
		ok "its windows have a limit, too" || fail "a container's windows: $(cat "$dir/out")"
	printf 'container-clients 2\nlog-level debug\n' >"$dir/limits"
	: >"$dir/agent.log"
	kill -HUP "$agent"
	until_true said 'container-clients 2'
	# Connections that say nothing, or nothing but that they look: of ten users in one container; then of five containers, who together
	# hold every place there is.
	idle() { # GROUP FIRST_USER USERS EACH: in the background, in held; each says how many it has, and keeps them
		(echo "$BASHPID" >"$1/cgroup.procs" && exec python3 - "$VGPU_AGENT" "$2" "$3" "$4" <<-'P'
			import os, socket, sys, time
			path, first, users, each = sys.argv[1], *map(int, sys.argv[2:])
			def one(user):
			    os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
			    mine = []
			    for k in range(each):
			        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
			        try: s.connect(path)
			        except OSError: break
			        mine.append(s)
			    os.write(1, b"has %d\n" % len(mine))   # at once: the others write to the same file
			    time.sleep(300)
			for u in range(users):
			    if not os.fork(): one(first + u)
			while True: os.wait()
		P
		) >"$dir/held.${#held[@]}" 2>&1 &
		held+=($!)
	}
	has() { [ "$(cat "$dir"/held.* | grep -c has)" = "$1" ]; }
	idlers() { for p in "${held[@]}"; do pkill -9 -P "$p"; kill -9 "$p"; done 2>/dev/null; wait "${held[@]}" 2>/dev/null; held=(); rm -f "$dir"/held.*; }
	idle "$group/mine/a" 100000 10 40
	until_true has 10 && "$W" first >"$dir/out" 2>&1 && until_true said 'out of container .* was refused: 10 are open' && ok "connections of ten users in one container that say nothing keep nobody out" || fail "beside ten users of one container: $(tail -n 1 "$dir/out"); $(cat "$dir"/held.* | sort | uniq -c | tr "\n" ",")"
	idlers
	printf 'container-clients 96\nlog-level debug\n' >"$dir/limits"
	kill -HUP "$agent"
	until_true said 'container-clients 96'
	for i in 1 2 3 4 5; do
		mkdir "$group/$i.service"
		idle "$group/$i.service" $((100000 + 100 * i)) 2 40
	done
	until_true has 10 && "$W" first >"$dir/out" 2>&1 && ok "nor do those of five containers together" || fail "beside five containers: $(tail -n 1 "$dir/out"); $(cat "$dir"/held.* | sort | uniq -c | tr "\n" ",")"
	idlers
	# the kernel lets go of a group a little after its last process
	for g in "$group"/?.service "$group/mine/a" "$group/mine/b" "$group/mine" "$group"; do until_true rmdir "$g"; done
else
	[ -z "${group:-}" ] || rmdir "$group/mine/a" "$group/mine/b" "$group/mine" "$group" 2>/dev/null
	skip "containers: no groups can be made here"
fi

# the socket by hand
mode=$(stat -c %a "$dir/agent.mode" 2>/dev/null; "$V/vgpu-agent" --help | grep -c '0660, as root')
kill "$agent"; wait "$agent" 2>/dev/null
start_agent
[ "$(stat -c %a "$dir/agent")" = 660 ] && [ "$mode" = 1 ] && ok "without --mode the socket is not everybody's" || fail "its mode is $(stat -c %a "$dir/agent")"

# a set-uid program goes where its owner says, not where its caller does
if [ "$(id -u)" = 0 ]; then
	cp "$W" "$dir/setuid"
	mkdir "$dir/lib" && cp "$B/lib/libcuda.so.1" "$dir/lib/"
	chown 65534 "$dir/setuid" && chmod 4755 "$dir/setuid" && chmod -R a+rX "$dir/lib" "$dir" && chmod 666 "$dir/agent"
	# its library by an absolute path in the program itself: LD_LIBRARY_PATH is not heard either
	if command -v patchelf >/dev/null; then patchelf --set-rpath "$dir/lib" "$dir/setuid"; else
		"${CC:-cc}" -O1 -I"$(dirname "$0")/../../libcuda-lite/include" -D_GNU_SOURCE -o "$dir/setuid" "$(dirname "$0")/../soak/worker.c" \
			"$dir/lib/libcuda.so.1" -Wl,-rpath,"$dir/lib" -lpthread 2>"$dir/err" && chown 65534 "$dir/setuid" && chmod 4755 "$dir/setuid"
	fi
	setpriv --reuid=65533 --clear-groups env VGPU_AGENT="$dir/agent" "$dir/setuid" first >"$dir/out" 2>&1
	if setpriv --reuid=65533 --clear-groups "$dir/setuid" 2>&1 | grep -q usage && ! grep -q "$dir/agent" "$dir/out" && grep -q 'VGPU_AGENT is not set' "$dir/out"; then
		ok "a set-uid program does not follow VGPU_AGENT"
	else
		fail "a set-uid program follows VGPU_AGENT: $(cat "$dir/out")"
	fi
	chmod 755 "$dir/setuid"
	setpriv --reuid=65533 --clear-groups env VGPU_AGENT="$dir/agent" "$dir/setuid" first >"$dir/out" 2>&1 && ok "the same program without the bit does" || fail "without the bit: $(cat "$dir/out")"
	# nor does it load what its caller names, or write where he says
	cat >"$dir/loads.c" <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(int argc, char **argv)
		{
			int (*version)(int *, int *) = NULL, (*level)(int) = NULL, a = 0, b = 0;
			for (int i = 1; i < argc; i++) {
				void *h = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
				if (!h)
					return puts(dlerror()), 1;
				version = version ? version : (int (*)(int *, int *))dlsym(h, "nvrtcVersion");
				level = level ? level : (int (*)(int))dlsym(h, "cublasLtLoggerSetLevel");
			}
			if (!version || !level)
				return puts("no such calls"), 1;
			version(&a, &b);
			return printf("called, %d\n", level(5)), 0;
		}
	C
	printf '#include <unistd.h>\n__attribute__((constructor)) static void f(void) { if (write(1, "loaded\\n", 7)) return; }\n' >"$dir/evil.c"
	if "${CC:-cc}" -w -o "$dir/loads" "$dir/loads.c" -ldl 2>"$dir/err" && "${CC:-cc}" -w -shared -fPIC -o "$dir/evil.so" "$dir/evil.c" 2>>"$dir/err"; then
		for f in libnvrtc.so.12 libcublasLt.so.12 libcudart.so.12; do cp -L "$B/lib/$f" "$dir/lib/"; done
		mkdir -p "$dir/cuda/lib64" "$dir/written" && cp "$dir/evil.so" "$dir/cuda/lib64/libnvrtc.so.12" && cp "$dir/evil.so" "$dir/cuda/lib64/libnvrtc.so.13"
		chmod -R a+rX "$dir/lib" "$dir/cuda" "$dir/evil.so" && chmod 777 "$dir/written"
		loads() { setpriv --reuid=65533 --clear-groups env "$@" CUBLASLT_LOG_LEVEL=5 CUBLASLT_LOG_FILE="$dir/written/log" "$dir/loads" "$dir"/lib/lib{cuda.so.1,cudart.so.12,nvrtc.so.12,cublasLt.so.12}; }
		chown 65534 "$dir/loads" && chmod 4755 "$dir/loads"
		{ loads VGPU_NVRTC="$dir/evil.so"; loads CUDA_PATH="$dir/cuda"; } >"$dir/out" 2>&1
		[ "$(grep -c '^called' "$dir/out")" = 2 ] && ! grep -q loaded "$dir/out" && [ ! -e "$dir/written/log" ] && ok "a set-uid program loads nothing that its caller names, and writes nothing there" ||
			fail "a set-uid program: $(tr '\n' ' ' <"$dir/out") $(ls "$dir/written")"
		chmod 755 "$dir/loads"
		loads VGPU_NVRTC="$dir/evil.so" >"$dir/out" 2>&1
		loads CUDA_PATH="$dir/cuda" >"$dir/out2" 2>&1
		grep -q loaded "$dir/out" && grep -q loaded "$dir/out2" && [ -e "$dir/written/log" ] && ok "without the bit it does both" || fail "without the bit: $(tr '\n' ' ' <"$dir/out"), $(tr '\n' ' ' <"$dir/out2"), $(ls "$dir/written")"
	else
		fail "the set-uid loader does not build: $(head -n 1 "$dir/err")"
	fi
else
	skip "set-uid programs: not root"
fi
