#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Libraries, agent and device of different releases: they work together, or each that refuses says exactly which of the two is older.
# With builds of this tree that speak protocol N+1 (build.mk, KNOWS): one that still speaks N, one that does not any more. And, where
# VGPU_TEST_FROZEN names a commit, with agent, device and libraries as that commit builds them.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH VGPU_AGENT
export XDG_RUNTIME_DIR=$dir
N=$(sed -n 's/^#define VGPU_PROTOCOL_VERSION \([0-9]*\)$/\1/p' fw-protocol/vgpu_version.h)
P=$B/test/protocols both=$P/$((N + 1))-$N newer=$P/$((N + 1))-$((N + 1))
[ -x "$both/vgpu-agent" ] && [ -x "$newer/vgpu-agent" ] || { fail "no builds of other protocols for protocol $N: build.mk's list of them"; exit 1; }

# serve DEVICE AGENT: programs; agent and device are up, or what they say is in $dir/log
serve() {
	for p in $agent $stub; do kill "$p" 2>/dev/null; wait "$p" 2>/dev/null; done
	agent='' stub=''
	: >"$dir/log"
	rm -f "$dir/stub" "$dir/agent"
	"$1" --socket "$dir/stub" --memory 256M 2>>"$dir/log" & stub=$!
	until_true test -S "$dir/stub" || { fail "$1 does not start: $(cat "$dir/log")"; exit 1; }
	"$2" --device "vfio-user:$dir/stub" --listen "$dir/agent" --pidfile "$dir/pid" 2>>"$dir/log" & agent=$!
	export VGPU_AGENT=$dir/agent
	up() { test -S "$dir/agent" || ! kill -0 "$agent" 2>/dev/null; }
	until_true up
	test -S "$dir/agent"
}
# program LIBRARY-FOLDER
program() { LD_LIBRARY_PATH=$1 timeout 60 "$B/e2e/driver/vecadd" >"$dir/out" 2>&1; }
# says WHAT PATTERN FILE
# a log may have the line a moment later
says() { until_true grep -qE "$2" "$3" && ok "$1" || fail "$1: no '$2' in: $(cat "$3")"; }
V_=$V/vgpu-stub A_=$V/vgpu-agent L_=$B/lib

serve "$V_" "$A_" && program "$L_" && ok "all of protocol $N" || fail "all of protocol $N: $(cat "$dir/out" "$dir/log")"
program "$both" && ok "a newer library on this agent" || fail "a newer library on this agent: $(cat "$dir/out" "$dir/log")"
program "$newer" && fail "a library of $((N + 1)) alone computes on an agent of $N"
says "a library that no longer speaks $N says that the agent is older" "agent is older than this program's vgpu .*: it speaks protocol $N, this protocol $((N + 1)); restart vgpu-agent" "$dir/out"
says "the agent's log says that this client is newer" "client .*\(protocol $((N + 1))\) is newer than vgpu-agent .*\(protocol $N\)" "$dir/log"

serve "$V_" "$both/vgpu-agent" && program "$L_" && ok "this library on a newer agent" || fail "this library on a newer agent: $(cat "$dir/out" "$dir/log")"
program "$both" && ok "a newer library on a newer agent and this device" || fail "newer library and agent: $(cat "$dir/out" "$dir/log")"
"$V/vgpu" smi >"$dir/out" 2>&1 && ok "vgpu smi there" || fail "vgpu smi there: $(cat "$dir/out")"
serve "$both/vgpu-stub" "$A_" && program "$L_" && ok "a newer device" || fail "a newer device: $(cat "$dir/out" "$dir/log")"
serve "$newer/vgpu-stub" "$newer/vgpu-agent" || fail "all of $((N + 1)): $(cat "$dir/log")"
program "$newer" && ok "all of protocol $((N + 1))" || fail "all of protocol $((N + 1)): $(cat "$dir/out" "$dir/log")"
program "$L_" && fail "a library of $N computes on an agent of $((N + 1)) alone"
says "on an agent that no longer speaks $N a library says that the agent is newer" "agent is newer than this program's vgpu .*: it speaks protocol $((N + 1)), this protocol $N; use the libraries of the agent's installation" "$dir/out"
says "that agent's log says that this client is older" "client .*\(protocol $N\) is older than vgpu-agent .*\(protocol $((N + 1))\)" "$dir/log"
"$V/vgpu" smi >"$dir/out" 2>&1
says "vgpu smi says the same" "agent is newer than this program's vgpu" "$dir/out"
cat >"$dir/nvml.py" <<'PY'
import ctypes, sys
print(ctypes.CDLL(sys.argv[1]).nvmlInit_v2())
PY
[ "$(python3 "$dir/nvml.py" "$B/lib/libnvidia-ml.so.1" 2>/dev/null)" = 18 ] && ok "NVML answers LIB_RM_VERSION_MISMATCH" || fail "NVML: $(python3 "$dir/nvml.py" "$B/lib/libnvidia-ml.so.1" 2>&1)"

serve "$newer/vgpu-stub" "$A_" && fail "an agent of $N takes a device of $((N + 1)) alone"
says "an agent on a device that no longer speaks $N says that it is older itself" "this vgpu-agent .* is older than the device: .*fix: upgrade vgpu-agent" "$dir/log"
serve "$V_" "$newer/vgpu-agent" && fail "an agent of $((N + 1)) alone takes a device of $N"
says "an agent that no longer speaks $N says that the device is older" "the device is older than this vgpu-agent .*fix: upgrade vgpu-stub" "$dir/log"

# --- as an earlier commit builds them
frozen=$(git rev-parse --short "${VGPU_TEST_FROZEN:-HEAD}" 2>/dev/null)
[ -n "${VGPU_TEST_FROZEN:-}" ] && [ -n "$frozen" ] || { skip "a frozen build of an earlier commit: where VGPU_TEST_FROZEN names one"; exit 0; }
F=$B/frozen/$frozen
if [ ! -x "$F/build/bin/vgpu-agent" ] || [ ! -e "$F/build/lib/libcuda.so.1" ]; then
	mkdir -p "$F" && git archive "$frozen" | tar -x -C "$F" || { fail "no commit $frozen"; exit 1; }
	rm -rf "$F/build" && mkdir "$F/build" && cp -a "$B/agent-deps" "$F/build/"
	make -C "$F" -j"$(nproc)" build/bin/vgpu-agent build/bin/vgpu-stub build/lib/libcuda.so.1 >"$dir/log" 2>&1 || { fail "$frozen does not build: $(tail -n 5 "$dir/log")"; exit 1; }
fi
was=$(sed -n 's/^#define VGPU_PROTOCOL_VERSION \([0-9]*\)u\{0,1\}$/\1/p' "$F"/fw-protocol/*.h | head -n 1)
oldest=$(sed -n 's/^#define VGPU_PROTOCOL_OLDEST \([0-9]*\)$/\1/p' fw-protocol/vgpu_version.h)
b=$F/build/bin
serve "$b/vgpu-stub" "$b/vgpu-agent" || { fail "$frozen alone does not start: $(cat "$dir/log")"; exit 1; }
program "$F/build/lib" && ok "$frozen alone" || fail "$frozen alone: $(cat "$dir/out")"
if [ "$was" -ge "$oldest" ]; then
	program "$L_" && ok "this library on $frozen's agent" || fail "this library on $frozen's agent: $(cat "$dir/out" "$dir/log")"
	serve "$V_" "$A_" && program "$F/build/lib" && ok "$frozen's library on this agent" || fail "$frozen's library on this agent: $(cat "$dir/out" "$dir/log")"
	serve "$b/vgpu-stub" "$A_" && program "$L_" && ok "$frozen's device" || fail "$frozen's device: $(cat "$dir/out" "$dir/log")"
else
	program "$L_" && fail "this library computes on an agent of protocol $was"
	says "this library says that $frozen's agent is older" "agent is older than this program's vgpu .*: it speaks protocol $was, this protocol $N; restart vgpu-agent" "$dir/out"
	serve "$V_" "$A_"
	program "$F/build/lib" && fail "a library of protocol $was computes on this agent"
	says "$frozen's library says what speaks what" "protocol $was\) is older than vgpu-agent|speaks protocol $N|newer" "$dir/out"
	says "this agent's log says that $frozen's library is older" "\(protocol $was\) is older than vgpu-agent" "$dir/log"
	serve "$b/vgpu-stub" "$A_" && fail "this agent takes a device of protocol $was"
	says "this agent says that $frozen's device is older" "the device is older than this vgpu-agent .*upgrade vgpu-stub" "$dir/log"
fi
