#!/bin/bash
# SPDX-License-Identifier: MIT
# Operators' own programs, unmodified, on an installed tree: NVIDIA's nvidia-ctk, gpu-feature-discovery and device plugin for Kubernetes (which a
# kubelet of ours drives: fake_kubelet.go), go-nvml's examples (Go proxy), systeminformation (npm), telegraf's
# input for nvidia-smi (Go; telegraf_smi.go runs it once), nvtop (Debian's contrib), nvitop-exporter (PyPI). Each is skipped where it cannot be had.
#   tests/strangers/operators.sh BUILD [NAME...]      default: nvml ctk gfd k8s telegraf systeminformation nvtop exporter
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip operators: ten minutes of Go's compiler: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/operators.sh BUILD NAME"; exit 0; }
C=$B/test/operators dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-test-XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir -p "$C/bin"
. tests/ollama/go.sh
unset VGPU_AGENT LD_LIBRARY_PATH
driver=$(sed -n 's/^#define VGPU_NVIDIA_DRIVER "\([0-9]*\)\..*/\1/p' fw-protocol/vgpu_client.h)
bad=0
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; bad=1; }
go=$(go_command)
export GOPATH=$C/path GOFLAGS=-modcacherw
# the names with the driver's version, which NVIDIA's tools look for, are those of an installation
I=$dir/usr/lib/vgpu
DESTDIR=$dir PREFIX=/usr tools/service/install.sh install "$B" >"$dir/log" 2>&1 || { echo "FAIL install: $(tail -n 1 "$dir/log")"; exit 1; }
on() { timeout 100 env "PATH=$I:$PATH" "$dir/usr/bin/vgpu" run --private --name "VGPU of the test" -- "$@"; }
uuid() { grep -oE 'GPU-[0-9a-f]{8}-[0-9a-f-]{27}' | head -n 1; }

# built MODULE@VERSION PACKAGE NAME [SOURCE]: $C/bin/NAME; from a copy, since some have no go.sum of their own for what they replace. SOURCE: of
# ours, as that package
built() {
	local src
	[ -x "$C/bin/$3" ] && ! [ "${4:-}" -nt "$C/bin/$3" ] && return
	[ -n "$go" ] || { echo "skip $3: no Go"; return 1; }
	src=$($go mod download -json "$1" 2>>"$C/log" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
	[ -n "$src" ] || { echo "skip $3: Go's proxy does not give $1"; return 1; }
	rm -rf "$C/src"; cp -r "$src" "$C/src"; chmod -R u+w "$C/src"
	[ -z "${4:-}" ] || { mkdir -p "$C/src/$2"; cp "$4" "$C/src/$2/main.go"; }
	(cd "$C/src/$2" && timeout 1500 $go build -mod=mod -o "$C/bin/$3" .) >>"$C/log" 2>&1 || { fail "$3 does not build: $(tail -n 2 "$C/log")"; return 1; }
}

nvml() {
	local m=github.com/NVIDIA/go-nvml@v0.13.4-0
	for e in compute-processes devices gpm-metrics dl; do built $m examples/$e nvml-$e || return; done
	on "$C/bin/nvml-devices" >"$dir/out" 2>&1 && [ -n "$(uuid <"$dir/out")" ] && ! grep -qi 'undefined symbol\|panic' "$dir/out" && ok "go-nvml: devices" || fail "go-nvml devices: $(tail -n 2 "$dir/out")"
	on "$C/bin/nvml-compute-processes" >"$dir/out" 2>&1 && grep -q 'Found 0 processes on device 0' "$dir/out" && ok "go-nvml: compute-processes" || fail "go-nvml compute-processes: $(tail -n 2 "$dir/out")"
	on "$C/bin/nvml-dl" libnvidia-ml.so.1 >"$dir/out" 2>&1 && grep -q 'library closed' "$dir/out" && ok "go-nvml: dl" || fail "go-nvml dl: $(tail -n 2 "$dir/out")"
	on "$C/bin/nvml-gpm-metrics" >"$dir/out" 2>&1; grep -q 'could not query GPM support: Not Supported' "$dir/out" && ok "go-nvml: gpm-metrics hears that there are none" || fail "go-nvml gpm-metrics: $(tail -n 2 "$dir/out")"
}

ctk() {
	built github.com/NVIDIA/nvidia-container-toolkit@v1.20.1 cmd/nvidia-ctk nvidia-ctk || return
	on "$C/bin/nvidia-ctk" cdi generate --mode=nvml --library-search-path="$I" --output="$dir/cdi.yaml" >"$dir/out" 2>&1 &&
		grep -q "name: $(uuid <"$dir/cdi.yaml")" "$dir/cdi.yaml" && grep -q "hostPath: $I/libcuda.so.$driver" "$dir/cdi.yaml" && grep -q "hostPath: $I/libnvidia-ml.so.$driver" "$dir/cdi.yaml" &&
		ok "nvidia-ctk cdi generate: the device and the driver's libraries" || fail "nvidia-ctk: $(tail -n 2 "$dir/out")"
}

gfd() {
	built github.com/NVIDIA/k8s-device-plugin@v0.19.1 cmd/gpu-feature-discovery gpu-feature-discovery || return
	on "$C/bin/gpu-feature-discovery" --oneshot --use-node-feature-api=false --output-file="$dir/labels" --device-discovery-strategy=nvml >"$dir/out" 2>&1
	grep -q '^nvidia.com/gpu.product=VGPU-of-the-test$' "$dir/labels" && grep -q '^nvidia.com/gpu.count=1$' "$dir/labels" && grep -q "^nvidia.com/cuda.driver-version.full=$driver" "$dir/labels" &&
		ok "gpu-feature-discovery: $(grep -c . "$dir/labels") labels" || fail "gpu-feature-discovery: $(cat "$dir/labels" 2>/dev/null | head -n 5) $(tail -n 3 "$dir/out")"
}

# The plugin registers, tells its device, allocates it; and says that it is not healthy when the device is gone.
k8s() {
	local m=github.com/NVIDIA/k8s-device-plugin@v0.19.1 s=$dir/k8s id
	built $m cmd/nvidia-device-plugin nvidia-device-plugin && built $m cmd/fake-kubelet fake-kubelet tests/strangers/fake_kubelet.go || return
	unshare -rm true 2>/dev/null || { echo "skip k8s: no mount namespace, and /var/lib/kubelet is not for tests"; return; }
	"$dir/usr/bin/vgpu-stub" --socket "$s.stub" 2>>"$dir/log" & local stub=$!
	for _ in {1..200}; do [ -S "$s.stub" ] && break; sleep 0.05; done
	"$dir/usr/bin/vgpu-agent" --device "vfio-user:$s.stub" --listen "$s.agent" --pidfile "$s.pid" 2>>"$dir/log" & local agent=$!
	for _ in {1..200}; do VGPU_AGENT=$s.agent "$dir/usr/bin/vgpu" smi -j >/dev/null 2>&1 && break; sleep 0.05; done
	id=$(VGPU_AGENT=$s.agent "$dir/usr/bin/vgpu" smi -L | uuid)
	# shellcheck disable=SC2016
	VGPU_AGENT=$s.agent LD_LIBRARY_PATH=$I timeout 100 unshare -rm bash -c 'mount -t tmpfs none /var/lib && mkdir -p /var/lib/kubelet/device-plugins
		"$1/fake-kubelet" /var/lib/kubelet/device-plugins/kubelet.sock 2 >"$2.kubelet" 2>&1 & kubelet=$!
		until [ -S /var/lib/kubelet/device-plugins/kubelet.sock ]; do sleep 0.05; done
		"$1/nvidia-device-plugin" --fail-on-init-error --device-discovery-strategy=nvml >"$2.plugin" 2>&1 & plugin=$!
		wait $kubelet; kill $plugin; wait' - "$C/bin" "$s" & local both=$!
	for _ in {1..600}; do grep -q allocated "$s.kubelet" 2>/dev/null && break; sleep 0.05; done
	grep -qx 'resource nvidia.com/gpu v1beta1' "$s.kubelet" && grep -qx "device $id Healthy" "$s.kubelet" && ok "device plugin: registered, one healthy device" || fail "device plugin: $(cat "$s.kubelet" "$s.plugin" | tail -n 3)"
	grep -qx "env NVIDIA_VISIBLE_DEVICES $id" "$s.kubelet" && ok "device plugin: allocated by UUID" || fail "device plugin, allocation: $(cat "$s.kubelet")"
	kill -9 $stub; wait $stub 2>/dev/null
	wait $both
	grep -qx "device $id Unhealthy" "$s.kubelet" && ok "device plugin: a device that is lost is not healthy" || fail "device plugin, health: $(cat "$s.kubelet" "$s.plugin" | tail -n 4)"
	kill $agent; wait $agent 2>/dev/null
}

telegraf() {
	built github.com/influxdata/telegraf@v1.37.2 cmd/smi telegraf-smi tests/strangers/telegraf_smi.go || return
	on "$C/bin/telegraf-smi" >"$dir/out" 2>&1
	grep -qx 'nvidia_smi tag name VGPU of the test' "$dir/out" && grep -q "^nvidia_smi tag uuid GPU-" "$dir/out" && grep -qE '^nvidia_smi memory_total [1-9][0-9]{2,}$' "$dir/out" &&
		grep -qE '^nvidia_smi memory_used [0-9]+$' "$dir/out" && grep -qE '^nvidia_smi utilization_gpu [0-9]+$' "$dir/out" && grep -q "^nvidia_smi driver_version $driver" "$dir/out" &&
		! grep -q '^error' "$dir/out" && ok "telegraf: $(grep -vc ' tag ' "$dir/out") fields" || fail "telegraf: $(head -n 12 "$dir/out" | tr '\n' ';')"
}

systeminformation() {
	command -v npm >/dev/null || { echo "skip systeminformation: no npm"; return; }
	[ -d "$C/npm/node_modules/systeminformation" ] || npm install --silent --prefix "$C/npm" systeminformation@5.33.23 >"$dir/npm" 2>&1 ||
		{ echo "skip systeminformation: npm does not give it: $(tail -n 1 "$dir/npm")"; return; }
	# it merges nvidia-smi's lines with lspci's by the bus: the function as a guest has it
	cat >"$dir/lspci" <<-'END'
		#!/bin/sh
		printf '%s 3D controller: Red Hat, Inc. Device 7667 (rev 01)\n\tSubsystem: Red Hat, Inc. Device 7667\n\tControl: I/O- Mem+\n\n' \
			"$(nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader | sed 's/^0000//')"
	END
	chmod +x "$dir/lspci"
	on env "PATH=$dir:$I:$PATH" "NODE_PATH=$C/npm/node_modules" node -e 'require("systeminformation").graphics().then(g => console.log(JSON.stringify(g.controllers)))' >"$dir/out" 2>&1
	grep -q "\"driverVersion\":\"$driver" "$dir/out" && grep -q '"name":"VGPU of the test"' "$dir/out" && grep -qE '"memoryTotal":[1-9][0-9]{2,}' "$dir/out" && ok "systeminformation: driver, name, memory" ||
		fail "systeminformation: $(tail -n 2 "$dir/out")"
}

# hog: a program that holds 100 MiB and fills them, over and over
hog() {
	cat >"$dir/hog.c" <<-'C'
		#include <cuda.h>
		int main(void)
		{
			CUdevice d; CUcontext c; CUdeviceptr p;
			if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, 0, 0, d) || cuMemAlloc(&p, 100 << 20))
				return 1;
			for (;;)
				if (cuMemsetD32(p, 1, 25 << 20) || cuCtxSynchronize())
					return 1;
		}
	C
	${CC:-cc} -w -Ilibcuda-lite/include -o "$dir/hog" "$dir/hog.c" "$B/lib/libcuda.so.1"
}

nvtop() {
	local a=(-o "Dir::Etc::sourcelist=$C/apt/list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$C/apt/lists" -o "Dir::Cache=$C/apt/cache") from
	if [ ! -x "$C/nvtop/usr/bin/nvtop" ]; then
		# where this machine has its main from
		from=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | grep -m 1 '/debian/ [a-z]*$')
		mkdir -p "$C/apt/lists/partial" "$C/apt/cache/archives/partial" "$C/nvtop"
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from contrib" >"$C/apt/list"
		(timeout 200 apt-get "${a[@]}" update && cd "$C/apt" && timeout 200 apt-get "${a[@]}" download nvtop && dpkg -x nvtop_*.deb "$C/nvtop") >"$dir/apt" 2>&1 ||
			{ echo "skip nvtop: Debian's contrib: $(tail -n 1 "$dir/apt")"; return; }
	fi
	hog || { fail "hog does not build"; return; }
	# shellcheck disable=SC2016
	on bash -c '"$1/hog" & python3 tests/strangers/screen.py "VGPU of the test.* GPU\[.*MEM\[ .*$! [a-z]+ 0 Compute +[0-9]+% +100MiB" "$2" -C -d 5; st=$?; kill $!; exit $st' - "$dir" "$C/nvtop/usr/bin/nvtop" >"$dir/out" 2>&1 &&
		ok "nvtop: the device, a process and its memory" || fail "nvtop: $(tail -n 1 "$dir/out")"
}

exporter() {
	local port
	[ -e "$C/exporter/done" ] || { rm -rf "$C/exporter"; timeout 300 python3 -m pip install -q --disable-pip-version-check --target "$C/exporter" nvitop-exporter==1.7.2 nvitop==1.7.2 >"$dir/pip" 2>&1 && : >"$C/exporter/done"; } ||
		{ echo "skip nvitop-exporter: PyPI: $(tail -n 1 "$dir/pip")"; return; }
	hog || { fail "hog does not build"; return; }
	port=$(python3 tests/system/port.py)
	# shellcheck disable=SC2016
	on env "PYTHONPATH=$C/exporter" bash -c '"$1/hog" & hog=$!; python3 -m nvitop_exporter --bind-address 127.0.0.1 --port "$2" >"$1/log" 2>&1 & e=$!
		for _ in {1..600}; do python3 -c "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())" "http://127.0.0.1:$2/metrics" >"$1/series" 2>/dev/null &&
			grep -q "^process_info{.*pid=\"$hog\"\|^process_.*pid=\"$hog\"" "$1/series" && break; sleep 0.1; done; kill $e $hog; echo $hog' - "$dir" "$port" >"$dir/out" 2>&1
	grep -qE '^(gpu_)?memory_used_MiB\{.*\} 1[0-9][0-9]\.' "$dir/series" 2>/dev/null && grep -qE "^process_gpu_memory(_MiB)?\{.*pid=\"$(tail -n 1 "$dir/out")\".*\} 100\.0" "$dir/series" && ! grep -q vgpu: "$dir/log" &&
		ok "nvitop-exporter: $(grep -c '^[a-z]' "$dir/series") series" || fail "nvitop-exporter: $(grep -i mem "$dir/series" 2>/dev/null | head -n 8) $(tail -n 3 "$dir/log")"
}

names=("$@")
[ $# -gt 0 ] || names=(nvml ctk gfd k8s telegraf systeminformation nvtop exporter)
for name in "${names[@]}"; do "$name"; done
exit $bad
