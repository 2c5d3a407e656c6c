#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu run: the loader takes our libraries, exit statuses and signals pass, nothing is left behind.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT
export XDG_RUNTIME_DIR=$dir

"$V/vgpu" run --private -- sh -c 'exit 7'; st=$?
[ $st = 7 ] && ok "exit status passes" || fail "exit 7 became $st"
"$V/vgpu" run --private -- /nonexistent/program 2>"$dir/err"; st=$?
[ $st = 126 ] && grep -q nonexistent "$dir/err" && ok "a missing program is named" || fail "missing program: $st"
left=$(find "$dir" -mindepth 1 -maxdepth 1 -name 'vgpu-*' | wc -l)
[ "$left" = 0 ] && ok "no folder is left behind" || fail "$left folders are left in $dir"
pgrep -f "vgpu-(stub|agent) .*$dir" >/dev/null && fail "daemons outlive their command" || ok "no daemon outlives its command"

"$V/vgpu" run --private -- sh -c 'kill -TERM $$'; st=$?
[ $st = 143 ] && ok "death by signal becomes 128 + signal" || fail "SIGTERM became $st"
"$V/vgpu" run --private -- sleep 30 &
p=$!
until_true pgrep -P $p sleep
kill -9 $p
gone() { ! pgrep -f "$V/vgpu-stub --socket $dir" >/dev/null; }
until_true gone && ok "a killed vgpu takes its device with it" || fail "the device outlives a killed vgpu"
rm -rf "$dir"/vgpu-*

# a program that carries its own libcudart beside it, RPATH $ORIGIN, as every Ollama release does
"$B/test/system/rpath/program" >"$dir/out" 2>&1
grep -q 'runtime 1$' "$dir/out" && ok "alone, the program takes the library beside it" || fail "rpath program alone: $(cat "$dir/out")"
"$V/vgpu" run --private -- "$B/test/system/rpath/program" >"$dir/out" 2>&1
grep -q 'runtime 12' "$dir/out" && grep -q 'devices 1$' "$dir/out" && ok "under vgpu run it takes ours, and sees the device" ||
	fail "rpath program under vgpu run: $(cat "$dir/out")"

# device options, and the tools' answers
"$V/vgpu" run --private --cc 7.5 --name "Test Device" --memory 1G -- "$V/vgpu" smi -j >"$dir/out" 2>&1
python3 - "$dir/out" <<'PY' && ok "smi -j is one JSON object with the device as asked for" || fail "smi -j: $(cat "$dir/out")"
import json, sys
o = json.load(open(sys.argv[1]))
d = o["devices"][0]
assert d["name"] == "Test Device" and d["compute_capability"] == "7.5" and d["memory_total_bytes"] == 1 << 30, d
assert d["memory_used_bytes"] == 0 and o["clients"] == [] and o["agent"]["transport"] == "vfio-user", o
PY
"$V/vgpu" run --private -- "$V/vgpu" smi >"$dir/out" 2>&1 && grep -q 'VGPU-SMI' "$dir/out" && ok "smi prints its table" || fail "smi: $(cat "$dir/out")"
VGPU_AGENT=$dir/nobody "$V/vgpu" smi >"$dir/out" 2>&1; st=$?
[ $st = 9 ] && grep -q "$dir/nobody" "$dir/out" && ok "smi without an agent says where it looked" || fail "smi without agent: $st $(cat "$dir/out")"

# the newer compute capabilities: the limits that NVIDIA's tables and CCCL's arch_traits.h state
# (threads and blocks per SM, shared memory per SM, per block by opt-in, reserved)
cat >"$dir/limits.py" <<'PY'
import ctypes
c = ctypes.CDLL("libcuda.so.1")
c.cuInit(0)
v = ctypes.c_int()
print(*[(c.cuDeviceGetAttribute(ctypes.byref(v), a, 0), v.value)[1] for a in (75, 76, 39, 106, 81, 97, 111)])
PY
for want in "8 7 1536 16 167936 166912 1024" "10 0 2048 32 233472 232448 1024" "10 3 2048 32 233472 232448 1024" \
	"11 0 1536 24 233472 232448 1024" "12 0 1536 24 102400 101376 1024" "12 1 1536 24 102400 101376 1024"; do
	cc=$(cut -d' ' -f1,2 --output-delimiter=. <<<"$want")
	got=$("$V/vgpu" run --private --cc "$cc" -- python3 "$dir/limits.py" 2>&1)
	[ "$got" = "$want" ] && ok "a device of $cc" || fail "a device of $cc: $got, want $want"
done

# CUDA_VISIBLE_DEVICES: indices and beginnings of UUIDs; what is not there hides it and all behind it
cat >"$dir/visible.py" <<'PY'
import ctypes, json, os, subprocess, sys

uuid = json.loads(subprocess.check_output([sys.argv[1], "smi", "-j"]))["devices"][0]["uuid"]
count = "import ctypes; c = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(-1); c.cuInit(0); c.cuDeviceGetCount(ctypes.byref(n)); print(n.value)"
for value, want in ((None, 1), ("0", 1), (uuid, 1), (uuid[:12], 1), ("0,7", 1), ("", 0), ("-1", 0), ("1", 0), ("7,0", 0), ("GPU-ffffffff-0000", 0)):
    env = dict(os.environ)
    env.pop("CUDA_VISIBLE_DEVICES", None)
    if value is not None:
        env["CUDA_VISIBLE_DEVICES"] = value
    got = int(subprocess.check_output([sys.executable, "-c", count], env=env))
    # a program that sees none gets an error from cuInit, and no count
    assert max(got, 0) == want, f"{value!r}: {got} devices, want {want}"
PY
"$V/vgpu" run --private -- python3 "$dir/visible.py" "$V/vgpu" >"$dir/out" 2>&1 && ok "CUDA_VISIBLE_DEVICES by index and by UUID" ||
	fail "CUDA_VISIBLE_DEVICES: $(tail -n 1 "$dir/out")"

# VGPU_REQUIRED: without an agent there is a device that cannot be used, until one answers
cat >"$dir/required.py" <<'PY'
import ctypes, os, subprocess, sys, time
c = ctypes.CDLL("libcuda.so.1")
n, d, ctx, m = ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_void_p(), ctypes.c_size_t()
got = [c.cuInit(0), c.cuDeviceGetCount(ctypes.byref(n)), n.value, c.cuDeviceGet(ctypes.byref(d), 0), c.cuDeviceGet(ctypes.byref(d), 1),
       c.cuDeviceTotalMem_v2(ctypes.byref(m), 0), c.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0)]
assert got == eval(sys.argv[1]), got
if len(sys.argv) > 2:   # an agent comes: the same process goes on
    os.rename(sys.argv[2], os.environ["VGPU_AGENT"])
    got = [c.cuDeviceTotalMem_v2(ctypes.byref(m), 0), c.cuDeviceGetCount(ctypes.byref(n)), n.value, c.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0)]
    assert got == [0, 0, 1, 0] and m.value == 1 << 30, got
PY
required() { # required NAME EXPECTED VARIABLE=VALUE... [-- ARGUMENT]
	local name=$1 want=$2
	shift 2
	env LD_LIBRARY_PATH="$B/lib" "$@" 2>"$dir/err" python3 "$dir/required.py" "$want" ${late:+"$late"} && ok "$name" || fail "$name: $(tail -n 1 "$dir/err")"
}
late=''
required "no agent: no device" '[100, 3, -1, 3, 3, 3, 3]' VGPU_AGENT="$dir/nobody"
required "VGPU_REQUIRED, no agent: a device, and DEVICE_UNAVAILABLE" '[0, 0, 1, 0, 101, 46, 46]' VGPU_AGENT="$dir/nobody" VGPU_REQUIRED=1
[ "$(grep -c 'no vgpu-agent answers' "$dir/err")" = 1 ] && ok "its reason is said once" || fail "its reason: $(cat "$dir/err")"
required "VGPU_REQUIRED=0 is as without" '[100, 3, -1, 3, 3, 3, 3]' VGPU_AGENT="$dir/nobody" VGPU_REQUIRED=0
required "VGPU_REQUIRED, a user who wants none" '[100, 3, -1, 3, 3, 3, 3]' VGPU_AGENT="$dir/nobody" VGPU_REQUIRED=1 CUDA_VISIBLE_DEVICES=-1
start_stub --memory 1G
start_agent
late=$dir/later
mv "$dir/agent" "$late"
mv "$dir/agent.devices" "$dir/described"
required "VGPU_REQUIRED: an agent that comes later is found" '[0, 0, 1, 0, 101, 46, 46]' VGPU_AGENT="$dir/agent" VGPU_REQUIRED=1
# what the agent left beside its socket answers the questions, and no more than these
mv "$dir/agent" "$late"
cp "$dir/described" "$dir/agent.devices"
required "VGPU_REQUIRED, described by an agent that is gone; then it is back" '[0, 0, 1, 0, 101, 0, 46]' VGPU_AGENT="$dir/agent" VGPU_REQUIRED=1
mv "$dir/agent" "$late"
late=''
required "a description changes nothing without VGPU_REQUIRED" '[100, 3, -1, 3, 3, 3, 3]' VGPU_AGENT="$dir/agent" VGPU_REQUIRED=0
required "described, and CUDA_VISIBLE_DEVICES names none of it" '[100, 3, -1, 3, 3, 3, 3]' VGPU_AGENT="$dir/agent" VGPU_REQUIRED=1 CUDA_VISIBLE_DEVICES=5
damaged() { # damaged NAME COMMAND...: makes another description; it is as if there were none
	rm -rf "$dir/agent.devices"
	"${@:2}"
	required "a description that is $1" '[0, 0, 1, 0, 101, 46, 46]' VGPU_AGENT="$dir/agent" VGPU_REQUIRED=1
}
patched() { python3 -c 'import sys; d = bytearray(open(sys.argv[1], "rb").read()); d[int(sys.argv[3]):int(sys.argv[3]) + 4] = int(sys.argv[4]).to_bytes(4, "little"); open(sys.argv[2], "wb").write(d)' "$dir/described" "$dir/agent.devices" "$@"; }
damaged "cut off" sh -c "head -c 4000 '$dir/described' >'$dir/agent.devices'"
damaged "empty" touch "$dir/agent.devices"
damaged "no file" mkdir "$dir/agent.devices"
damaged "a pipe that nobody fills" mkfifo "$dir/agent.devices"
damaged "a link" ln -s "$dir/described" "$dir/agent.devices"
damaged "of another protocol" patched 4 9999
damaged "of no devices" patched 8 0
damaged "of too many devices" patched 8 9
rm -rf "$dir/agent.devices"
mv "$dir/later" "$dir/agent"
