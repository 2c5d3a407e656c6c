#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu smi in nvidia-smi's habits, also by that name; and programs from PyPI that read it or NVML, which are right about a known client.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
NS=$B/lib/nvidia-smi

# a client that holds 100 MiB and works
cat >"$dir/hold.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	CUdevice d; CUcontext c; CUdeviceptr p;
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d) || cuMemAlloc(&p, 100 << 20))
		return 1;
	puts("holds");
	fflush(stdout);
	for (;;)
		if (cuMemsetD32(p, 1, 25 << 20) || cuCtxSynchronize())
			return 1;
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/hold" "$dir/hold.c" "$B/lib/libcuda.so.1" || { fail "the client does not build"; exit 1; }
start_stub --memory 1G --bus-id 0000:f3:00.0
start_agent
"$dir/hold" with words >"$dir/held" & hold=$!
trap 'kill $hold 2>/dev/null; cleanup' EXIT
until_true grep -q holds "$dir/held"
working() { ! "$NS" --query-gpu=utilization.gpu --format=csv,noheader,nounits | grep -qx ' *0'; }
until_true working || fail "it works, and smi says 0 %"
uuid=$("$V/vgpu" smi -j | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
name=$("$V/vgpu" smi -j | python3 -c 'import json,sys; print(json.load(sys.stdin)["devices"][0]["name"])')

is() { [ "$2" = "$3" ] && ok "$1" || fail "$1: '$2', '$3' expected"; }
like() { grep -qE -e "$3" <<<"$2" && ok "$1" || fail "$1: '$2' is not like '$3'"; }
is "-L" "$("$NS" -L)" "GPU 0: $name (UUID: $uuid)"
is "--query-gpu, no header, no units" "$("$NS" --query-gpu=index,uuid,name,memory.total,driver_version,pci.bus_id,compute_cap --format=csv,noheader,nounits)" \
	"0, $uuid, $name, 1024, 590.44.01, 00000000:F3:00.0, 6.1"
out=$("$NS" --query-gpu=memory.used,memory.total,utilization.gpu,power.draw --format=csv)
is "the header has units" "$(head -n 1 <<<"$out")" "memory.used [MiB], memory.total [MiB], utilization.gpu [%], power.draw [W]"
like "values have them too" "$(tail -n 1 <<<"$out")" '^1[0-9][0-9] MiB, 1024 MiB, [0-9]+ %, \[N/A\]$'
like "an unknown field is refused by name" "$("$NS" --query-gpu=name,nonsense --format=csv 2>&1)" 'Field "nonsense" is not a valid field'
like "processes, with the words that they were called by" "$("$NS" --query-compute-apps=pid,process_name,used_memory,gpu_uuid --format=csv,noheader)" \
	"^$hold, $dir/hold, 100 MiB, $uuid\$"
is "-i by UUID" "$("$NS" -i "$uuid" --query-gpu=index --format=csv,noheader)" 0
is "-i by bus id" "$("$NS" -i 0000:f3:00.0 --query-gpu=index --format=csv,noheader)" 0
"$NS" -i 7 -L >"$dir/out" 2>&1; is "-i of none: nvidia-smi's exit status" $? 6
VGPU_AGENT=$dir/nobody "$NS" >"$dir/out" 2>&1; is "no agent: nvidia-smi's exit status" $? 9
"$NS" -q -x >"$dir/x"
python3 - "$dir/x" "$uuid" $hold <<'PY' && ok "-q -x is XML, and right" || fail "-q -x: $(head -n 5 "$dir/x")"
import sys, xml.etree.ElementTree as E
r = E.parse(sys.argv[1]).getroot()
g = r.find("gpu")
assert r.tag == "nvidia_smi_log" and r.find("attached_gpus").text == "1" and g.get("id") == "00000000:F3:00.0", r
assert g.find("uuid").text == sys.argv[2] and g.find("fb_memory_usage/total").text == "1024 MiB"
used = int(g.find("fb_memory_usage/used").text.split()[0])
assert 100 <= used < 200, used
assert 0 < int(g.find("utilization/gpu_util").text.split()[0]) <= 100
p = g.find("processes/process_info")
assert p.find("pid").text == sys.argv[3] and p.find("used_memory").text == "100 MiB"
PY
like "-q -d MEMORY alone" "$("$NS" -q -d MEMORY)" 'FB Memory Usage'
"$NS" -q -d MEMORY | grep -q 'Product Name' && fail "-d MEMORY shows more" || ok "-d MEMORY shows nothing else"
is "-lms: again and again" "$(timeout 60 "$NS" --query-gpu=index --format=csv,noheader -lms 50 | head -n 3 | tr -d '\n')" 000
like "dmon" "$("$NS" dmon -c 1 -s um | tail -n 1)" '^ +0 +[0-9]+ +[0-9]+ +- +- +- +- +1[0-9][0-9] +- +- *$'
like "pmon" "$("$NS" pmon -c 1 | tail -n 1)" "^ +0 +$hold +C +[0-9]+ +[0-9]+ .* hold *\$"
like "dmon: all groups, date and time, into a file" "$("$NS" dmon -c 1 -s pucvmet -o DT -f "$dir/dmon" && cat "$dir/dmon")" \
	'^20[0-9]{6} [0-9:]{8} +0 +- +- +- +[0-9]+ +[0-9]+( +-){8} +1[0-9][0-9]( +-){7} *$'
like "pmon -o T" "$("$NS" pmon -c 1 -o T | tail -n 1)" "^[0-9:]{8} +0 +$hold +C "
# what is set already is told so; what cannot be set is refused by name; what is not known, otherwise
sets() { local want=$1 like=$2; shift 2; out=$("$NS" "$@" 2>&1); st=$?; [ $st = "$want" ] && grep -qE "$like" <<<"$out" && ok "$*: $want" || fail "$*: exit $st: $out"; }
for o in "-pm 1" "--persistence-mode=ENABLED" "-c DEFAULT" "-mig 0" "-am 0 -i 0"; do sets 0 'is already .* for GPU 00000000:F3:00.0' $o; done
for o in "-pm 0" "-c 3" "-mig 1" "-e 1" "-pl 100" "-lgc 300,400" "-rac" "--gpu-reset"; do sets 3 'not supported for GPU 00000000:F3:00.0' $o; done
for o in "-pm" "-pm 7" "-c 9" "--query-gpu= --format=csv" "--query-gpu=name,, --format=csv" "--query-accounted-apps=x --format=csv"; do sets 2 'no such option|not a valid field' $o; done
sets 6 'no device was found' -i 5 -pm 1
sets 3 'no device here has NVLink' nvlink -s
is "--query-retired-pages: none" "$("$NS" --query-retired-pages=gpu_uuid,retired_pages.address --format=csv)" "gpu_uuid, retired_pages.address"
# exporters ask for every field that the help names, by nvidia_gpu_exporter's pattern
fields=$("$NS" --help-query-gpu | python3 -c 'import re, sys; print(",".join(re.findall(r"(?m)\n\s*\n^\"([^\"]+)\"", sys.stdin.read())))')
all=$fields,$fields
is "all fields of the help, twice" "$("$NS" --query-gpu="$all" --format=csv,noheader | awk -F', ' '{ print NF }')" "$(tr ',' '\n' <<<"$all" | wc -l)"
like "topo -m" "$("$NS" topo -m)" "^GPU0	 X 	$(cat /sys/devices/system/cpu/online)	"
like "the table has utilisation and the versions" "$("$NS")" 'Driver Version: 590.44.01 +CUDA Version: 13.1'
like "a wide terminal: the whole command line" "$(COLUMNS=200 "$NS")" "$dir/hold with words"

# --- programs from PyPI, whose words about the same client; kept by version, as what takes long elsewhere is
P=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/monitors-$(python3 -c 'import sys; print(*sys.version_info[:2], sep=".")')
if (
	flock 9
	[ -e "$P/done-1" ] && exit 0
	rm -rf "$P/lib"
	timeout 200 python3 -m pip install -q --disable-pip-version-check --retries 1 --timeout 30 --target "$P/lib" \
		nvidia-ml-py==13.580.65 nvitop==1.7.2 gpustat==1.1.1 'setuptools<80' >"$P/pip.log" 2>&1 &&
	timeout 100 python3 -m pip install -q --disable-pip-version-check --retries 1 --timeout 30 --no-deps --target "$P/lib" \
		GPUtil==1.4.0 py3nvml==0.2.7 xmltodict >>"$P/pip.log" 2>&1 && touch "$P/done-1"
) 9>"$(mkdir -p "$P" && echo "$P/lock")"; then
	cat >"$dir/monitors.py" <<'PY'
import os, sys, time, warnings
warnings.simplefilter("ignore")
pid, uuid, what = int(sys.argv[1]), sys.argv[2], sys.argv[3]
def busy(ask):      # the client, on a machine that others load, may just now have no processor
    for _ in range(600):
        if ask() > 0:
            return True
        time.sleep(.05)
if what == "pynvml":
    import pynvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    assert n.nvmlDeviceGetUUID(h) == uuid and busy(lambda: n.nvmlDeviceGetUtilizationRates(h).gpu)
    p = n.nvmlDeviceGetComputeRunningProcesses(h)
    assert [(x.pid, x.usedGpuMemory) for x in p] == [(pid, 100 << 20)], p
    assert [x.pid for x in n.nvmlDeviceGetProcessUtilization(h, 0)] == [pid]
    assert n.nvmlDeviceGetMigMode(h) == [0, 0]
elif what == "py3nvml":
    from py3nvml import py3nvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    m = n.nvmlDeviceGetMemoryInfo(h)
    assert n.nvmlDeviceGetUUID(h) == uuid and m.total == 1 << 30 and 100 << 20 <= m.used < 200 << 20
    assert [x.pid for x in n.nvmlDeviceGetComputeRunningProcesses(h)] == [pid]
elif what == "GPUtil":
    import GPUtil
    g = GPUtil.getGPUs()
    assert len(g) == 1 and g[0].uuid == uuid and g[0].memoryTotal == 1024 and 100 <= g[0].memoryUsed < 200 and busy(lambda: GPUtil.getGPUs()[0].load) and g[0].load <= 1, vars(g[0])
    assert g[0].driver == "590.44.01"
elif what == "gpustat":
    import gpustat
    g = gpustat.new_query()[0]
    assert g.uuid == uuid and g.memory_total == 1024 and busy(lambda: gpustat.new_query()[0].utilization), g.entry
    assert [(p["pid"], p["gpu_memory_usage"]) for p in g.processes] == [(pid, 100)], g.processes
elif what == "nvitop":
    from nvitop import Device
    d = Device.all()[0]
    assert d.uuid() == uuid and d.memory_total() == 1 << 30 and busy(lambda: Device.all()[0].gpu_utilization())
    p = d.processes()
    assert list(p) == [pid] and p[pid].gpu_memory() == 100 << 20, p
    assert p[pid].command().endswith("with words")
PY
	for m in pynvml py3nvml GPUtil gpustat nvitop; do
		PATH=$B/lib:$PATH PYTHONPATH=$P/lib timeout 100 python3 "$dir/monitors.py" $hold "$uuid" $m >"$dir/out" 2>"$dir/err" && ok "$m" || fail "$m: $(tail -n 3 "$dir/err")"
		grep -q 'vgpu' "$dir/err" && fail "$m: our library speaks: $(grep -m 1 vgpu "$dir/err")"
	done
	# as people call them
	PATH=$B/lib:$PATH PYTHONPATH=$P/lib timeout 100 python3 -m gpustat --no-color -p >"$dir/out" 2>&1 && grep -q "100M" "$dir/out" && ok "gpustat's line" || fail "gpustat: $(tail -n 2 "$dir/out")"
	PYTHONPATH=$P/lib TERM=xterm timeout 100 python3 -m nvitop -1 >"$dir/out" 2>&1 && grep -q "$hold" "$dir/out" && ok "nvitop's screen" || fail "nvitop: $(tail -n 3 "$dir/out")"
else
	skip "monitors from PyPI: $(tail -n 1 "$P/pip.log")"
fi

# a client whose name is meant for the operator's terminal, or for his parser
kill "$hold"; wait "$hold" 2>/dev/null
evil=$'h\e[2J"\\\x9b31m\xc2\x9b\xff\n<&\xc3\xa4'
: >"$dir/held"
cp "$dir/hold" "$dir/$evil" && (cd "$dir" && exec "./$evil" >held) & hold=$!
until_true grep -q holds "$dir/held"
bad=
for how in "smi" "smi -j" "smi -q" "smi -q -x" "smi pmon -c 1" "smi --query-compute-apps=pid,name --format=csv" "ctl list" "ctl list -j" "metrics" "doctor -p $hold"; do
	# shellcheck disable=SC2086
	"$V/vgpu" $how >"$dir/out" 2>&1
	python3 - "$dir/out" <<-'P' || bad="$bad; $how"
		import sys
		text = open(sys.argv[1], "rb").read().decode("utf-8")
		sys.exit(any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in text))
	P
done
LC_ALL=C grep -qP '[^\x20-\x7e]' "$dir/agent.log" && bad="$bad; the agent's log"
"$V/vgpu" smi -j | python3 -c 'import json,sys; sys.exit("\xe4" not in json.loads(sys.stdin.buffer.read().decode("utf-8"))["clients"][0]["process_name"])' || bad="$bad; the letter that is one"
[ -z "$bad" ] && ok "a name with control characters in all their forms reaches no terminal and no parser" || fail "control characters of a name get through: $bad"
