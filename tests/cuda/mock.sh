#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Engine cuda on a driver of the tests' own, whose calls fail one after the other as NVIDIA documents them (tests/cuda/mock).
#
#   mock.sh BUILD [all] [CALL]     all: every error at every call, minutes; CALL: only calls of this name
set -u
B=$(cd "$1" && pwd)
shift
M=$B/test/cuda
dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-mock-XXXXXX")
pids=''
cleanup() {
	for p in $pids; do kill "$p" 2>/dev/null; done
	for p in $pids; do wait "$p" 2>/dev/null; done
	[ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap cleanup EXIT
# contexts are users of their own, who have to reach the file
chmod 711 "$dir"
export LD_LIBRARY_PATH=$B/lib VGPU_STUB_MOCK=$dir/mock VGPU_AGENT=$dir/agent
bad=0
say() { if [ "$1" = 0 ]; then echo "ok cuda/mock/$2"; else bad=1; echo "FAIL cuda/mock/$2 ${3:-}"; fi; }
until_true() {
	local until=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.02
	done
}
# device NAME OPTIONS...: its pid in $stub, its agent's in $agent
device() {
	local n=$1
	shift
	"${STUB:-$B/bin/vgpu-stub}" --socket "$dir/stub$n" --engine cuda --cuda-library "$M/libcuda.so.1" "$@" 2>>"$dir/stub$n.log" &
	stub=$!
	pids="$stub $pids"
	until_true test -S "$dir/stub$n" || { echo "FAIL cuda/mock stub did not start"; cat "$dir/stub$n.log"; exit 1; }
	"$B/bin/vgpu-agent" --device "vfio-user:$dir/stub$n" --listen "$dir/agent$n" --pidfile "$dir/pid$n" 2>>"$dir/agent$n.log" &
	agent=$!
	pids="$agent $pids"
	# a wall that leaves the driver its own files and no others
	if grep -q "walls around contexts:.*\(mount\|landlock\)" "$dir/stub$n.log"; then export MOCK_OPENS=1; else unset MOCK_OPENS; fi
	until_true env VGPU_AGENT="$dir/agent$n" "$B/bin/vgpu" smi -j || { echo "FAIL cuda/mock agent did not start"; cat "$dir/agent$n.log"; exit 1; }
}

"$M/sweep" create "$dir/mock" || { echo "FAIL cuda/mock no file"; exit 1; }
"$M/sweep" identify "$dir/mock" "$B/bin/vgpu-stub" "$M/libcuda.so.1" || bad=1
device ''
"$M/sweep" run "$dir/mock" $stub $agent "$@" || bad=1
"$M/sweep" images "$dir/mock" || bad=1
[ $# -gt 0 ] || "$M/sweep" bursts "$dir/mock" $stub $agent || bad=1
# the host's driver is older than ours: whoever is asked says its version
cat >"$dir/version.py" <<'P'
import ctypes, json, re, subprocess, sys
vgpu, want = sys.argv[1], "12.8"
said = lambda *a: subprocess.run([vgpu, *a], capture_output=True, text=True, timeout=60).stdout
v = ctypes.c_int()
have = {}
for name, library, call in (("libcuda", "libcuda.so.1", "cuDriverGetVersion"), ("libcudart", "libcudart.so.12", "cudaDriverGetVersion"),
                            ("NVML", "libnvidia-ml.so.1", "nvmlSystemGetCudaDriverVersion_v2")):
    l = ctypes.CDLL(library)
    assert name != "NVML" or l.nvmlInit_v2() == 0
    assert getattr(l, call)(ctypes.byref(v)) == 0
    have[name] = "%d.%d" % (v.value // 1000, v.value % 1000 // 10)
have["smi -j"] = json.loads(said("smi", "-j"))["cuda_version"]
for words, like in (("smi", r"CUDA Version: ([\d.]+)"), ("smi -q", r"CUDA Version +: ([\d.]+)"), ("smi -q -x", r"<cuda_version>([\d.]+)<"),
                    ("smi --version", r"CUDA Version +: ([\d.]+)"), ("metrics", r'cuda_version="([\d.]+)"')):
    have[words] = (re.findall(like, said(*words.split())) or [None])[0]
bad = {k: h for k, h in have.items() if h != want}
sys.exit("not %s: %s" % (want, bad) if bad else 0)
P
why=$(python3 "$dir/version.py" "$B/bin/vgpu" 2>&1 | tail -n 1)
[ -z "$why" ]; say $? "one answer about CUDA's version, by libraries and tools" "$why"
# products by cuBLAS, which is in the same library, and what happens when it fails
if [[ ${1:-cublas} == cublas* || $1 == all ]]; then
	[ "${1:-}" = all ] && all=all || all=''
	device blas --cublas-library "$M/libcuda.so.1"
	for call in cublas cuMemAlloc cuMemFree; do
		# shellcheck disable=SC2086
		VGPU_AGENT=$dir/agentblas "$M/sweep" run "$dir/mock" $stub $agent $all $call || bad=1
	done
fi
# what does not end
device hang --kernel-timeout 5
VGPU_AGENT=$dir/agenthang "$M/sweep" hang "$dir/mock" $stub $agent 2>>"$dir/hang.log" || bad=1
# several GPUs, several devices
"${STUB:-$B/bin/vgpu-stub}" --socket "$dir/stubfirst" --engine cuda --cuda-library "$M/libcuda.so.1" 2>>"$dir/stubfirst.log" &
pids="$! $pids"
"${STUB:-$B/bin/vgpu-stub}" --socket "$dir/stubother" --engine cuda --cuda-library "$M/libcuda.so.1" --cuda-device 1 2>>"$dir/stubother.log" &
pids="$! $pids"
until_true test -S "$dir/stubfirst" -a -S "$dir/stubother"
"$B/bin/vgpu-agent" --device "vfio-user:$dir/stubfirst" --device "vfio-user:$dir/stubother" --listen "$dir/agentboth" --pidfile "$dir/pidboth" 2>>"$dir/agentboth.log" &
pids="$! $pids"
until_true env VGPU_AGENT="$dir/agentboth" "$B/bin/vgpu" smi -j
VGPU_AGENT=$dir/agentboth "$B/bin/vgpu" smi -j >"$dir/smi"
python3 - "$dir/smi" <<'P'
import json, sys
text = json.dumps(json.load(open(sys.argv[1]))).lower()
for want in ("mock gpu 0", "mock gpu 1", "40404040-4040-4040-4040-404040404040", "41414141-4141-4141-4141-414141414141"):
	assert want in text, (want, text)
P
say $? "two GPUs are two devices"
! grep -h "forbids\|not given\|Sanitizer" "$dir"/*.log >"$dir/said"; say $? "sandbox" "$(head -1 "$dir/said")"
exit $bad
