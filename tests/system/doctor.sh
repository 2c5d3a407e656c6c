#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu doctor: every broken set-up is named in one run, with its fix; a healthy one gives no fail.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH LD_PRELOAD VGPU_AGENT CUDA_VISIBLE_DEVICES OLLAMA_DEBUG OLLAMA_LLM_LIBRARY
export XDG_RUNTIME_DIR=$dir
CC=${CC:-cc}
trap 'kill $sleeper 2>/dev/null; cleanup' EXIT
sleeper=

# doctor STATUS ARGS...: the report in $dir/out
doctor() {
	local want=$1 st
	shift
	timeout 60 "$V/vgpu" doctor "$@" >"$dir/out" 2>"$dir/err"
	st=$?
	[ $st = "$want" ] && [ ! -s "$dir/err" ] || { fail "doctor $*: exit $st, $want expected"; cat "$dir/out" "$dir/err"; }
}
# says NAME LEVEL SEEN FIX: one line "LEVEL  ...SEEN", and FIX on the line below it (regular expressions)
says() {
	if awk -v l="^$2 +" -v s="$3" -v f="$4" '$0 ~ l && $0 ~ s {getline n; if (n ~ "^ +fix: " && n ~ f) hit = 1} END {exit !hit}' "$dir/out"; then
		ok "$1"
	else
		fail "$1: no \"$2 ... $3\" with the fix \"$4\""; cat "$dir/out"
	fi
}
silent() { grep -q '^fail' "$dir/out" && { fail "$1"; cat "$dir/out"; } || ok "$1"; }

# --- worlds
w=$dir/w
mkdir -p "$w"/{beside,foreign,ollama/bin,ollama/lib/ollama/cuda_v12}
echo 'libcudart.so.12 { global: *; };' >"$w/map"
cat >"$w/cudart.c" <<'C'
int cudaGetDeviceCount(int *n); int cudaNoSuchThing(void); int cuInit(unsigned f);
int cudaGetDeviceCount(int *n) { *n = 0; return 100; }
int cudaNoSuchThing(void) { return 1; }
int cuInit(unsigned f) { return f ? 1 : 100; }
C
cat >"$w/prog.c" <<'C'
#include <unistd.h>
int cudaGetDeviceCount(int *n);
int main(void) { int n; cudaGetDeviceCount(&n); pause(); return n; }
C
cat >"$w/usesblas.c" <<'C'
int cublasCreate_v2(void **h);
int main(void) { void *h; return cublasCreate_v2(&h); }
C
cat >"$w/relatives.c" <<'C'
/* an Ollama daemon and its runner: "serve ENVIRONMENT..." starts itself as runner with that environment */
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "serve") && !fork())
		execve("/proc/self/exe", (char *[]){ argv[0], "runner", NULL }, argc > 2 ? argv + 2 : environ);
	alarm(60);
	pause();
	return 0;
}
C
cat >"$w/wants.c" <<'C'
int cudaNoSuchThing(void);
int main(void) { return cudaNoSuchThing(); }
C
cat >"$w/static.c" <<'C'
/* as nvcc's default does: the handshake's name in the program, libcuda opened when it runs */
const unsigned char table[16] = { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2 };
const char name[] = "libcuda.so.1";
int main(int argc, char **argv) { (void)argv; return table[argc & 15] + name[0]; }
C
printf '.version 6.4\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n' >"$w/k.ptx"
"$B/e2e/mkfatbin" -o "$w/k75" 75:"$w/k.ptx" || exit 1
cat >"$w/fatbin.S" <<S
.section .nv_fatbin,"a"
.balign 8
.incbin "$w/k75"
.section .note.GNU-stack,"",@progbits
S
# nvcc -rdc=true: parts with PTX, and what the device linker made of them
{ cat "$w/k.ptx" && printf '//%4000s\n'; } >"$w/long.ptx" && "$B/e2e/mkfatbin" -o "$w/linked" 75:"$w/long.ptx" && printf '\2' | dd of="$w/linked" bs=1 seek=16 conv=notrunc status=none || exit 1
{ sed 's/\.nv_fatbin/__nv_relfatbin/' "$w/fatbin.S" && sed 's/k75/linked/' "$w/fatbin.S"; } >"$w/parts.S"
echo 'int none(void); int none(void) { return 0; }' >"$w/none.c"
{
	$CC -shared -fPIC -Wl,-soname,libcudart.so.12,--version-script="$w/map" -o "$w/beside/libcudart.so.12" "$w/cudart.c" &&
	$CC -o "$w/ours" "$w/prog.c" "$B/lib/libcudart.so.12" -Wl,-rpath-link,"$B/lib" &&
	$CC -o "$w/blas" "$w/usesblas.c" "$B/lib/libcublas.so.12" -Wl,-rpath-link,"$B/lib" &&
	$CC -o "$w/wants" "$w/wants.c" "$w/beside/libcudart.so.12" &&
	$CC -o "$w/static" "$w/static.c" &&
	$CC -o "$w/sm75" "$w/static.c" "$w/fatbin.S" &&
	$CC -o "$w/parts" "$w/static.c" "$w/parts.S" &&
	$CC -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$w/foreign/libcuda.so.1" "$w/cudart.c" &&
	$CC -shared -fPIC -Wl,-soname,libnothere.so.3 -o "$w/libnothere.so" "$w/none.c" &&
	$CC -Wl,--no-as-needed -o "$w/lacking" "$w/prog.c" "$B/lib/libcudart.so.12" "$w/libnothere.so" -Wl,-rpath-link,"$B/lib" &&
	$CC -shared -fPIC -Wl,--disable-new-dtags,-rpath,'$ORIGIN',--no-as-needed -o "$w/ollama/lib/ollama/cuda_v12/libggml-cuda.so" \
		"$w/prog.c" "$w/fatbin.S" "$w/beside/libcudart.so.12" &&
	cp "$w/beside/libcudart.so.12" "$w/ollama/lib/ollama/cuda_v12/" &&
	mkdir -p "$w/ollama2" && $CC -o "$w/ollama2/ollama" "$w/relatives.c" &&
	cp "$(command -v sleep)" "$w/ollama/bin/ollama"
} || { echo "FAIL the worlds do not compile"; exit 1; }
rm -f "$w/libnothere.so"
# a release with two backends, of which one has code for the device: nothing stands beside them
printf '.version 6.4\n.target sm_61\n.address_size 64\n.visible .entry k() { ret; }\n' >"$w/k61.ptx"
"$B/e2e/mkfatbin" -o "$w/k61" 61:"$w/k61.ptx" && sed "s/k75/k61/" "$w/fatbin.S" >"$w/fatbin61.S" && mkdir -p "$w"/two/{bin,lib/ollama/{cuda_v12,cuda_v13}} &&
	cp "$w/ollama2/ollama" "$w/two/bin/" || exit 1
for v in 12:61 13:; do
	$CC -shared -fPIC -Wl,--no-as-needed -o "$w/two/lib/ollama/cuda_v${v%:*}/libggml-cuda.so" "$w/prog.c" "$w/fatbin${v#*:}.S" "$w/beside/libcudart.so.12" || exit 1
done
printf '#!/usr/bin/env -S sh -e\nexit 0\n' >"$w/script"; chmod +x "$w/script"

# --- no agent
if "$V/vgpu" smi -j >/dev/null 2>&1; then
	skip "agent down: the system has one"
else
	doctor 1
	says "agent down is named" fail "agent: no agent answers: .*run/vgpu/agent.sock" "vgpu run -- CMD"
fi
VGPU_AGENT=$dir/nobody doctor 1
says "a dead VGPU_AGENT is named" fail "agent: .*VGPU_AGENT=$dir/nobody: there is no such socket" "unset VGPU_AGENT"
python3 -c "import socket,sys; s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); s.bind(sys.argv[1])" "$dir/left"
VGPU_AGENT=$dir/left doctor 1
says "a socket that an agent left behind is named" fail "agent: .*nobody listens" "vgpu-agent"

VGPU_AGENT=$dir doctor 1
says "a folder that VGPU_AGENT names is no socket" fail "agent: .*VGPU_AGENT=$dir: that is no socket" "unset it"
VGPU_AGENT=/$(printf 'x/%.0s' {1..100}) doctor 1
says "a path that no socket can have" fail "File name too long" "107 characters at most"
# one question, one answer, whoever asks: the words of vgpu_reach.h
for a in "$dir/nobody" "$dir/left" "$dir"; do
	export VGPU_AGENT=$a
	why=$("$V/vgpu" smi 2>&1 | sed 's/^vgpu: //; s/;.*//')
	for c in "ctl list" env "cdi generate" metrics; do
		# shellcheck disable=SC2086
		"$V/vgpu" $c 2>&1 >/dev/null | grep -qF "$why;" || fail "$c of $a: $("$V/vgpu" $c 2>&1 >/dev/null), not '$why'"
	done
	LD_LIBRARY_PATH=$B/lib "$B/e2e/driver/vecadd" 2>&1 | grep -qF "$why;" || fail "the library of $a, not '$why': $(LD_LIBRARY_PATH=$B/lib "$B/e2e/driver/vecadd" 2>&1)"
	"$V/vgpu" run -- true 2>&1 | grep -qF "$why (" || fail "vgpu run of $a, not '$why': $("$V/vgpu" run -- true 2>&1)"
	ok "smi, ctl, env, cdi, metrics, run and the library: $why"
done
unset VGPU_AGENT

VGPU_AGENT=$dir/nobody CUDA_VISIBLE_DEVICES='' doctor 1
says "an empty CUDA_VISIBLE_DEVICES is named without an agent too" fail 'CUDA_VISIBLE_DEVICES: "" hides every device' "unset"

start_stub
start_agent
A=$VGPU_AGENT
unset VGPU_AGENT
if ! "$V/vgpu" smi -j >/dev/null 2>&1; then
	doctor 1
	says "an agent that runs elsewhere is found" warn "agent elsewhere: .*$A" "export VGPU_AGENT=$A"
	# the private one of a vgpu run is nobody else's
	: >"$dir/runs"
	"$V/vgpu" run --private -- sh -c 'echo $VGPU_AGENT; exec sleep 100' >"$dir/runs" & private=$!
	until_true test -s "$dir/runs"
	doctor 1
	grep -q 'agent elsewhere' "$dir/out" && ! grep -qF "$(cat "$dir/runs")" "$dir/out" && ok "and nobody's private one" || fail "a private agent, $(cat "$dir/runs"), is told: $(cat "$dir/out")"
	kill $private; wait $private
fi
export VGPU_AGENT=$A

# --- the machine
doctor 0
if grep -qw avx512f /proc/cpuinfo; then
	grep -q '^ok    processor: AVX-512$' "$dir/out" && ok "the processor's instructions are named" || fail "processor: $(cat "$dir/out")"
else
	says "a processor without AVX-512 is named" warn "processor: no AVX-512: .* uses (AVX2|SSE2)" "hypervisor"
fi

# --- healthy
doctor 0
silent "the system alone: no fail"
"$V/vgpu" run -- "$V/vgpu" doctor -- "$B/e2e/rt12/rt_vecadd" >"$dir/out" 2>&1; st=$?
silent "a healthy program under vgpu run: no fail"
[ $st = 0 ] && tail -n 1 "$dir/out" | grep -q '^verdict: nothing found' && ok "exit 0 and its verdict" || fail "healthy: exit $st"
grep -q '^ok    libcudart.so.12: .*ours' "$dir/out" && grep -q 'exact PTX' "$dir/out" && ok "it names the library and the PTX" ||
	fail "healthy: $(cat "$dir/out")"
"$V/vgpu" run -- "$V/vgpu" doctor -- "$B/test/system/rpath/program" >"$dir/out" 2>&1
silent "RPATH under vgpu run: no fail"

# --- programs
doctor 1 -- "$B/test/system/rpath/program"
says "a libcudart beside the program is named" fail "libcudart.so.12: .*RPATH .ORIGIN of program.*NVIDIA" "vgpu run -- "
LD_LIBRARY_PATH=$B/lib doctor 1 -- "$B/test/system/rpath/program"
says "LD_LIBRARY_PATH is not enough against RPATH" fail "comes before LD_LIBRARY_PATH: that alone is not enough" "LD_PRELOAD"
says "LD_LIBRARY_PATH alone gets a warning" warn "LD_LIBRARY_PATH: .*LD_PRELOAD has nothing of ours" "LD_PRELOAD="
doctor 1 -- "$w/ours"
says "a library that is not found is named" fail "libcudart.so.12: not found; ours needs it|libcudart.so.12: .*not ours|libcudart.so.12: .*NVIDIA" "vgpu run --"
LD_LIBRARY_PATH=$B/lib doctor 1 -- "$w/lacking"
says "another missing library is named" fail "libnothere.so.3: not found; lacking needs it" "LD_LIBRARY_PATH"
LD_LIBRARY_PATH=$B/lib doctor 1 -- "$w/wants"
says "a name that ours lacks is named" fail "symbols: wants wants 1 name that our libcudart.so.12 lacks: cudaNoSuchThing@libcudart.so.12" "libcudart.so.12"
LD_LIBRARY_PATH=$w/foreign:$B/lib doctor 1 -- "$w/static"
says "NVIDIA's runtime inside the program is named" fail "static cudart: .*linked into static" "nvcc -cudart shared"
says "a foreign libcuda first on the path is named" fail "libcuda.so.1: $w/foreign/libcuda.so.1 .by LD_LIBRARY_PATH." "vgpu run --"
LD_PRELOAD=$w/foreign/libcuda.so.1 doctor 1 -- "$w/ours"
says "a foreign libcuda in LD_PRELOAD is named" fail "libcuda.so.1: $w/foreign/libcuda.so.1 .by LD_PRELOAD." "LD_PRELOAD"
doctor 1 -- "$w/sm75"
says "PTX above the device is named" fail "no PTX for this device, compute capability 6.1; .*PTX for 7.5" "vgpu run --cc 7.5"
doctor 1 -- "$w/parts"
says "what the device linker made of parts with PTX asks for none" fail "no PTX for this device, .*; 1 fat binary; PTX for 7.5;" "vgpu run --cc 7.5"
CUDA_VISIBLE_DEVICES=-1 doctor 1
says "an empty device list is named" fail 'CUDA_VISIBLE_DEVICES: "-1" hides every device' "unset CUDA_VISIBLE_DEVICES"
doctor 1 -- "$w/nothere"
says "a program that is not there is named" fail "program: .*not there" "path"
head -c 400 "$w/ours" >"$w/damaged"; chmod +x "$w/damaged"
doctor 1 -- "$w/damaged"
says "a damaged program is named" fail "program: .*damaged ELF" "ELF"
doctor 0 -- "$w/script"
grep -q '^ok    script: .*is run by .*/sh' "$dir/out" && ok "a script's interpreter is followed" || fail "script: $(cat "$dir/out")"

# --- ggml and Ollama
doctor 1 -- "$w/ollama/bin/ollama" serve
says "Ollama's own libcudart is named" fail "libcudart.so.12 .cuda_v12/libggml-cuda.so.: .*RPATH .ORIGIN" "LD_PRELOAD"
says "the daemon's environment is named" warn "ollama daemon: LD_PRELOAD is not set.*runners inherit" "systemctl edit ollama.*Environment=.LD_PRELOAD=.*VGPU_AGENT="
says "ggml's hidden log is named" warn "ollama's log: .*discards its runner's log" "OLLAMA_DEBUG=2"
says "a backend without PTX for the device is named" fail "GPU code of libggml-cuda.so: no PTX for this device" "CUDA 12.*cuda_v12.*--cc 7.5 "
says "the fix keeps the arguments" fail "libcudart.so.12 .cuda_v12/libggml-cuda.so." "vgpu run -- $w/ollama/bin/ollama serve "
LD_LIBRARY_PATH=$B/lib doctor 0 -- "$w/two/bin/ollama" serve
silent "one usable backend of two is enough"
says "the other one is a note" warn "GPU code of libggml-cuda.so: no PTX for this device" "cuda_v12"
rm "$w/two/lib/ollama/cuda_v12/libggml-cuda.so"
LD_LIBRARY_PATH=$B/lib doctor 1 -- "$w/two/bin/ollama" serve
says "the other one alone is a failure" fail "GPU code of libggml-cuda.so: no PTX for this device" "cuda_v12"
doctor 1 -- "$w/ours" "$w/ollama/lib/ollama/cuda_v12/libggml-cuda.so"
says "a backend given as an argument is examined" fail "GPU code of libggml-cuda.so" "--cc 7.5"

# --- an installation that lacks a library
mkdir -p "$w/inst/bin" "$w/inst/lib"
cp "$V/vgpu" "$w/inst/bin/"; cp "$B/lib/libcuda.so.1" "$w/inst/lib/"
timeout 60 "$w/inst/bin/vgpu" doctor -- "$w/ours" >"$dir/out" 2>&1
says "a library that the installation lacks is named" fail "our libraries: missing in .*libcudart.so.12" "make"
says "and what needs it" fail "libcudart.so.12: " "$w/inst/lib/libcudart.so.12 is missing"
cp "$B"/lib/lib*.so.1* "$w/inst/lib/"; rm -f "$w/inst/lib/libcublas.so.12"
timeout 60 "$w/inst/bin/vgpu" doctor -- "$w/blas" >"$dir/out" 2>&1
says "our libcublas removed is named" fail "our libraries: missing in .*libcublas.so.12" "make"
says "and the program that needs it" fail "libcublas.so.12: .*" "$w/inst/lib/libcublas.so.12 is missing"
"$w/inst/bin/vgpu" run -- "$w/blas" >"$dir/out" 2>&1; st=$?
[ $st = 125 ] && grep -q 'libcublas.so.12 is missing: build it' "$dir/out" && ok "vgpu run names it too" || fail "vgpu run without libcublas: $st $(cat "$dir/out")"

# --- a process
LD_LIBRARY_PATH=$w/foreign:$w/beside "$w/ours" & sleeper=$!
until_true grep -q libcudart "/proc/$sleeper/maps"
doctor 1 -p $sleeper
says "foreign libraries of a process are named" fail "mapped libcudart.so.12: $w/beside/libcudart.so.12: not ours" "LD_PRELOAD="
says "so is its environment" fail "LD_PRELOAD: neither LD_PRELOAD nor LD_LIBRARY_PATH of process $sleeper" "systemd: Environment="
kill $sleeper; wait $sleeper 2>/dev/null
"$V/vgpu" run -- "$w/ours" & sleeper=$!
until_true sh -c "grep -q libcudart /proc/$sleeper/maps && grep -q ours /proc/$sleeper/cmdline"
doctor 0 -p $sleeper
silent "a process under vgpu run: no fail"
tail -n 1 "$dir/out" | grep -q "^verdict: nothing found that keeps process $sleeper from the GPU" && ok "the verdict names the process" || fail "verdict: $(tail -n 1 "$dir/out")"
grep -q '^ok    mapped libcudart.so.12: .*ours' "$dir/out" && ok "its libraries are listed" || fail "-p: $(cat "$dir/out")"
kill $sleeper; wait $sleeper 2>/dev/null; sleeper=
"$w/ollama/bin/ollama" 60 & sleeper=$!
until_true grep -q ollama "/proc/$sleeper/cmdline"
doctor 1 -p $sleeper
says "an Ollama daemon without our variables is named" fail "ollama daemon: LD_PRELOAD is not set" "systemctl edit ollama.*VGPU_AGENT=$A"
kill $sleeper; wait $sleeper 2>/dev/null
LD_PRELOAD=$(printf '%s:' "$B"/lib/lib*.so.1*) OLLAMA_DEBUG=2 "$w/ollama/bin/ollama" 60 & sleeper=$!
until_true grep -q libcudart "/proc/$sleeper/maps"
doctor 1 -p $sleeper
grep -q '^ok    libcudart.so.12 (cuda_v12/libggml-cuda.so): .*LD_PRELOAD.*ours' "$dir/out" && grep -q "^ok    ollama's log" "$dir/out" &&
	[ "$(grep -c ^fail "$dir/out")" = 1 ] && ok "with them, only the backend's PTX is left" || fail "ollama with LD_PRELOAD: $(cat "$dir/out")"
kill $sleeper; wait $sleeper 2>/dev/null; sleeper=
# a daemon with our variables whose runner was started without them, seen from both
LD_PRELOAD=$(printf '%s:' "$B"/lib/lib*.so.1*) OLLAMA_DEBUG=2 "$w/ollama2/ollama" serve HOME=/ & sleeper=$!
until_true pgrep -P $sleeper
runner=$(pgrep -P $sleeper)
until_true grep -q runner "/proc/$runner/cmdline"
doctor 1 -p $sleeper
says "a runner without our variables is named, from its daemon" fail "runner $runner: LD_PRELOAD is not set" "systemctl edit ollama"
doctor 1 -p "$runner"
grep -q "^ok    daemon $sleeper: LD_PRELOAD has our libraries; VGPU_AGENT $A" "$dir/out" && ok "a runner's daemon is examined" || fail "runner: $(cat "$dir/out")"
kill "$runner" $sleeper; wait $sleeper 2>/dev/null; sleeper=
doctor 1 -p 999999999
says "a process that is not there is named" fail "process: 999999999: there is no such process" "runs"

# --- a runtime newer than the driver, a program of musl
$CC -shared -fPIC -Wl,-soname,libcudart.so.14 -o "$w/beside/libcudart.so.14" "$w/cudart.c" &&
	$CC -o "$w/newer" "$w/prog.c" "$w/beside/libcudart.so.14"
doctor 1 -- "$w/newer"
says "a runtime that wants a newer driver is named" fail "driver version: libcudart.so.14 wants 14.0 .*libcuda answers 13010: .*error 35" "libcuda.so.1"
if command -v musl-gcc >/dev/null && musl-gcc -o "$w/musl" "$w/static.c" 2>/dev/null; then
	doctor 1 -- "$w/musl"
	says "a program of another C library is named" fail "musl: .*need glibc|loader: its loader .*is not there" "libcuda-lite.a|C library"
else
	skip "no musl-gcc"
fi

# --- permissions, JSON, usage
# by a copy: the tree may lie where others cannot read (setpriv's own exec can)
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
mkdir "$dir/seen" && cp -r "$B/lib" "$dir/seen/lib" && mkdir "$dir/seen/bin" && cp "$V/vgpu" "$dir/seen/bin/" && cp "$B/e2e/driver/vecadd" "$dir/seen/"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && chmod 755 "$dir" && chmod 600 "$A" &&
   nobody sh -c '"$0" --version' "$dir/seen/bin/vgpu" >/dev/null 2>&1; then
	nobody "$dir/seen/bin/vgpu" doctor >"$dir/out" 2>&1
	says "a socket without permission is named" fail "agent: .*permission denied: its mode is 600" "--mode 0666"
	chmod 660 "$A"; chgrp 12345 "$A"
	nobody "$dir/seen/bin/vgpu" doctor >"$dir/out" 2>&1
	says "the group that may use it is named" fail "agent: .*for group 12345, and user 65534 is not in it" "adduser NAME 12345"
	out=$(VGPU_AGENT=$A nobody "$dir/seen/bin/vgpu" smi 2>&1)
	grep -q 'for group 12345' <<<"$out" && ok "smi says the same" || fail "smi without permission: $out"
	out=$(VGPU_AGENT=$A LD_LIBRARY_PATH=$dir/seen/lib nobody "$dir/seen/vecadd" 2>&1)
	grep -q 'for group 12345' <<<"$out" && ok "the library says the same" || fail "the library without permission: $out"
	chmod 700 "$dir"
	out=$(VGPU_AGENT=$A setpriv --reuid=65534 --regid=65534 --clear-groups "$V/vgpu" smi 2>&1)
	grep -q "may not search the folder $dir" <<<"$out" && ok "a folder in the way is named" || skip "a folder in the way: ${out:0:100}"
	chmod 755 "$dir"
	if out=$(VGPU_AGENT=$A setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Ur "$V/vgpu" smi 2>&1); then
		fail "a user namespace gives permission"
	elif grep -q 'user namespace' <<<"$out"; then
		grep -q -e --also-listen <<<"$out" && ok "a user namespace is named, with the way out" || fail "in a user namespace: $out"
	else
		skip "no user namespace here: ${out:0:100}"
	fi
	chmod 666 "$A"
else
	skip "socket permissions: not root, or the build cannot be read by others"
fi
kill -STOP "$agent"
doctor 1
says "a stopped agent is named, and nobody is to be killed" fail "agent: .*pid $agent. is stopped" "kill -CONT $agent"
out=$(VGPU_AGENT=$A "$V/vgpu" smi 2>&1); grep -q "pid $agent) is stopped" <<<"$out" && ok "smi says that too" || fail "smi of a stopped agent: $out"
kill -CONT "$agent"
timeout 60 "$V/vgpu" doctor -j -- "$w/ollama/bin/ollama" >"$dir/out" 2>&1
python3 - "$dir/out" <<'PY' && ok "-j is one JSON object" || fail "-j: $(cat "$dir/out")"
import json, sys
o = json.load(open(sys.argv[1]))
c = o["checks"]
assert len(c) > 8 and all(set(x) == {"name", "status", "observed", "fix"} for x in c), c
assert all(x["fix"] for x in c if x["status"] == "fail") and o["fail"] == sum(x["status"] == "fail" for x in c) > 0, o
assert o["verdict"], o
PY
"$V/vgpu" doctor --nonsense >/dev/null 2>&1; [ $? = 2 ] && ok "unknown options are refused" || fail "doctor --nonsense"

# --- last: the device dies under its agent
kill -9 "$stub"; wait "$stub" 2>/dev/null
gone() { "$V/vgpu" smi -j | grep -q '"state":"lost"'; }      # it stays in the list
until_true gone
doctor 1
says "a device that died is named" fail "device: the agent .pid $agent. has none" "start vgpu-stub again"
stub=
