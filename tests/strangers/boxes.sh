#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian's podman, as root and as a user who is nobody's friend, and bubblewrap, with a container that has a C library and nothing of ours: vgpu cdi
# generate is all that they get. Packages are unpacked into the build, not installed; what podman wants of /etc, /run and cgroups it finds in a mount
# namespace of the test's own.
#   tests/strangers/boxes.sh BUILD [NAME...]      default: podman user bwrap ollama; docker: the engine of Docker 29, from Go's proxy, whose
#                                                 compiler takes a quarter of an hour for it, once
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip boxes: 20 MB of Debian's packages: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/boxes.sh BUILD NAME"; exit 0; }
[ "$(id -u)" = 0 ] || { echo "skip boxes: not root"; exit 0; }
P=$B/test/boxes
[ $# -gt 0 ] || set -- podman user bwrap ollama
if [ ! -e "$P/done-2" ]; then
	rm -rf "$P"; mkdir -p "$P/debs/partial"
	timeout 300 apt-get install -y --download-only --no-install-recommends -o Dir::Cache::Archives="$P/debs" podman crun bubblewrap uidmap >"$P/log" 2>&1 &&
		for d in "$P"/debs/*.deb; do dpkg -x "$d" "$P/root" || exit 1; done && rm -r "$P/debs" && : >"$P/done-2"
	[ -e "$P/done-2" ] || { echo "skip boxes: no packages: $(tail -n 1 "$P/log")"; exit 0; }
fi
D=$B/test/docker
if [[ " $* " == *" docker "* ]] && [ ! -e "$D/done" ]; then
	C=$D
	mkdir -p "$D/bin" "$D/debs/partial"
	. tests/ollama/go.sh
	go=$(go_command)
	[ -n "$go" ] || { echo "skip boxes: docker: no Go"; exit 0; }
	# made MODULE PACKAGE NAME: $D/bin/NAME. The runc is newer than Debian's, which has no time namespaces, and has no libseccomp
	made() {
		local from
		[ -x "$D/bin/$3" ] && return
		from=$(GOFLAGS=-modcacherw GOPATH=$D/path $go mod download -json "$1" 2>>"$D/log" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')
		[ -n "$from" ] || { echo "skip boxes: docker: Go's proxy does not give $1"; exit 0; }
		rm -rf "$D/src"; cp -r "$from" "$D/src"; chmod -R u+w "$D/src"
		(cd "$D/src" && GOFLAGS='-modcacherw -buildvcs=false' GOPATH=$D/path timeout 3000 nice $go build -mod=mod -o "$D/bin/$3" "$2") >>"$D/log" 2>&1 || { echo "FAIL $3 does not build: $(tail -n 2 "$D/log")"; exit 1; }
	}
	made github.com/moby/moby/v2@v2.0.0-beta.24 ./cmd/dockerd dockerd
	made github.com/opencontainers/runc@v1.3.0 . runc
	timeout 300 apt-get install -y --download-only --no-install-recommends -o Dir::Cache::Archives="$D/debs" containerd >>"$D/log" 2>&1 &&
		for d in "$D"/debs/*.deb; do dpkg -x "$d" "$D/root" || exit 1; done && rm -rf "$D/debs" "$D/src" "$D/path" && : >"$D/done"
	[ -e "$D/done" ] || { echo "skip boxes: docker: no packages: $(tail -n 1 "$D/log")"; exit 0; }
fi
if [ -z "${VGPU_TEST_BOXES:-}" ]; then
	# of processes too: what podman leaves ends with it, and its conmon is reaped at once, whoever PID 1 is here
	unshare -mpf --mount-proc true 2>/dev/null || { echo "skip boxes: no namespaces can be made here"; exit 0; }
	exec unshare -mpf --mount-proc env VGPU_TEST_BOXES=1 "$BASH" "$0" "$B" "$@"
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-test-XXXXXX")
chmod 755 "$dir"
bad=0 daemons=()
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; bad=1; }
until_true() { local until=$((SECONDS + 60)); until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $until ] || return 1; sleep 0.05; done; }
end() { for p in "${daemons[@]}"; do kill "$p"; wait "$p"; done 2>/dev/null; umount -R /etc "$dir/upper" 2>/dev/null; rm -rf "$dir"; }
trap end EXIT
user=65534 name=$(getent passwd 65534 | cut -d: -f1)
home=$dir/home
mkdir -p "$home/run" "$dir/upper" "$dir/run"; chown -R $user:$user "$home"; chmod 700 "$home/run"
mount --make-rprivate / && mount -t tmpfs none "$dir/upper" && mkdir "$dir/upper/u" "$dir/upper/w" &&
	mount -t overlay overlay -o "lowerdir=/etc,upperdir=$dir/upper/u,workdir=$dir/upper/w" /etc && mount -t tmpfs none /run && mkdir /run/cdi &&
	umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || { echo "skip boxes: the namespace's mounts are refused"; exit 0; }
cp -r "$P/root/etc/containers" /etc/
echo "$name:300000:65536" | tee /etc/subuid >/etc/subgid

"$B/bin/vgpu-stub" --socket "$dir/stub" --memory 2G 2>"$dir/stub.log" & daemons+=($!)
until_true test -S "$dir/stub"
# root's socket is for root; the user has one in a folder of his own, which is how his containers, in a user namespace, reach it
"$B/bin/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/run/agent.sock" --pidfile "$dir/pid" --mode 0600 --also-listen "$home/run/agent.sock" 2>"$dir/agent.log" & daemons+=($!)
export VGPU_AGENT=$dir/run/agent.sock
until_true "$B/bin/vgpu" smi -j || { fail "no agent: $(cat "$dir/agent.log")"; exit 1; }
uuid=$("$B/bin/vgpu" smi -L | grep -oE 'GPU-[0-9a-f-]{36}')

R=$dir/rootfs
mkdir -p "$R"/{bin,lib64,proc,tmp,sys,dev,etc,run/vgpu,usr/bin,usr/local/lib/vgpu,lib/x86_64-linux-gnu}
cp -L /lib64/ld-linux-x86-64.so.2 "$R/lib64/"
for l in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do cp -L "/lib/x86_64-linux-gnu/$l" "$R/lib/x86_64-linux-gnu/"; done
cp "$B/e2e/driver/vecadd" "$B/e2e/driver/graph" "$B/e2e/driver/threads" "$R/bin/" 2>/dev/null
[ -x "$B/e2e/rt12/rt_vecadd" ] && cp "$B/e2e/rt12/rt_vecadd" "$R/bin/"
# not by LD_LIBRARY_PATH: conmon runs podman again when a container has ended, without an environment, and podman waits 20 s for that one's word
echo "$P/root/usr/lib/x86_64-linux-gnu" >/etc/ld.so.conf.d/boxes.conf && ldconfig -X
cat >"$dir/containers.conf" <<END
[containers]
cgroups = "disabled"
seccomp_profile = "$P/root/usr/share/containers/seccomp.json"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
conmon_path = ["$P/root/usr/bin/conmon"]
runtime = "crun"
[engine.runtimes]
crun = ["$P/root/usr/bin/crun"]
END
pod() { timeout 100 env "PATH=$P/root/usr/bin:$PATH" "CONTAINERS_CONF=$dir/containers.conf" "${as[@]}" "$P/root/usr/bin/podman" --root "$store/store" --runroot "$store/runroot" --storage-driver vfs "$@"; }

# in_box WHO: the container's programs, by podman as `as`
in_box() {
	tar -C "$R" -c . | pod import - localhost/plain >"$dir/out" 2>&1 || { fail "$1: podman import: $(tail -n 2 "$dir/out")"; return; }
	for p in vecadd graph threads rt_vecadd; do
		[ -x "$R/bin/$p" ] || continue
		pod run --rm --network none --ulimit nofile=256:256 --ulimit nproc=4096:4096 --device nvidia.com/gpu=all localhost/plain "/bin/$p" >"$dir/out" 2>&1 && grep -q "^$p: ok" "$dir/out" && ok "$1: $p" || fail "$1: $p: $(tail -n 2 "$dir/out")"
	done
	pod run --rm --network none --ulimit nofile=256:256 --ulimit nproc=4096:4096 --device "nvidia.com/gpu=$uuid" localhost/plain /usr/bin/nvidia-smi -L >"$dir/out" 2>&1 && grep -q "$uuid" "$dir/out" && ok "$1: nvidia-smi, the device by its UUID" || fail "$1: nvidia-smi: $(tail -n 2 "$dir/out")"
	pod run --rm --network none --ulimit nofile=256:256 --ulimit nproc=4096:4096 localhost/plain /bin/vecadd >"$dir/out" 2>&1; [ $? != 0 ] && grep -q 'libcuda.so.1' "$dir/out" && ok "$1: without --device there is nothing of ours" || fail "$1 without a device: $(tail -n 2 "$dir/out")"
}
podman() {
	local store=$dir/root as=()
	"$B/bin/vgpu" cdi generate --output /run/cdi/vgpu.json || { fail "cdi generate"; return; }
	in_box "podman"
}
user() {
	local store=$home as=(setpriv --reuid=$user --regid=$user --clear-groups env "HOME=$home" "XDG_RUNTIME_DIR=$home/run")
	setpriv --reuid=$user --regid=$user --clear-groups env "$B/bin/vgpu" --version >/dev/null 2>&1 || { echo "skip podman of a user: others cannot reach the build"; return; }
	"$B/bin/vgpu" cdi generate --socket "$home/run/agent.sock" --output /run/cdi/vgpu.json || { fail "cdi generate --socket"; return; }
	chmod 755 /run/cdi; chmod 644 /run/cdi/vgpu.json
	in_box "podman of a user"
}
bwrap() {
	timeout 100 "$P/root/usr/bin/bwrap" --unshare-all --ro-bind "$R" / --proc /proc --dev /dev --tmpfs /tmp --ro-bind "$B/lib" /usr/local/lib/vgpu --bind "$dir/run" /run/vgpu --setenv LD_LIBRARY_PATH /usr/local/lib/vgpu \
		--unsetenv VGPU_AGENT /bin/vecadd >"$dir/out" 2>&1 && grep -q '^vecadd: ok' "$dir/out" && ok "bubblewrap, all namespaces of its own" || fail "bubblewrap: $(tail -n 2 "$dir/out")"
}
# What `docker run` sends its daemon says docker_api.py: --device nvidia.com/gpu=all, and --gpus all, which Docker 29 makes the same of where it
# finds a program of the name nvidia-cdi-hook; our specification has no hook, so nobody runs that.
docker() {
	local sock=$dir/docker.sock daemon p
	"$B/bin/vgpu" cdi generate --output /run/cdi/vgpu.json || { fail "cdi generate"; return; }
	mkdir -p "$dir/hook"
	printf '#!/bin/sh\necho run >>%s/hook/run\nexit 1\n' "$dir" >"$dir/hook/nvidia-cdi-hook"; chmod +x "$dir/hook/nvidia-cdi-hook"
	PATH=$D/bin:$D/root/usr/bin:$dir/hook:$PATH "$D/bin/dockerd" --host "unix://$sock" --data-root "$dir/docker" --exec-root "$dir/exec" --pidfile "$dir/docker.pid" --bridge none \
		--iptables=false --ip6tables=false --userland-proxy=false --storage-driver vfs --feature containerd-snapshotter=false --cdi-spec-dir /run/cdi --exec-opt native.cgroupdriver=cgroupfs >"$dir/docker.log" 2>&1 & daemon=$!
	daemons+=($daemon)
	until_true python3 tests/strangers/docker_api.py "$sock" ping || { fail "docker: no daemon: $(tail -n 2 "$dir/docker.log")"; return; }
	asks() { python3 tests/strangers/docker_api.py "$sock" "$@" >"$dir/out" 2>&1; }
	tar -C "$R" -c . | asks import plain || { fail "docker import: $(cat "$dir/out")"; return; }
	for p in vecadd graph threads rt_vecadd; do
		[ -x "$R/bin/$p" ] || continue
		asks run plain nvidia.com/gpu=all "/bin/$p" && grep -q "^$p: ok" "$dir/out" && ok "docker, --device nvidia.com/gpu=all: $p" || fail "docker: $p: $(tail -n 2 "$dir/out")"
	done
	asks run plain "nvidia.com/gpu=$uuid" /usr/bin/nvidia-smi -L && grep -q "$uuid" "$dir/out" && ok "docker: nvidia-smi, the device by its UUID" || fail "docker: nvidia-smi: $(tail -n 2 "$dir/out")"
	asks run plain gpus /bin/vecadd && grep -q '^vecadd: ok' "$dir/out" && [ ! -e "$dir/hook/run" ] && ok "docker, --gpus all" || fail "docker --gpus all: $(tail -n 2 "$dir/out")"
	asks run plain - /bin/vecadd; [ $? != 0 ] && grep -q 'libcuda.so.1' "$dir/out" && ok "docker: without --device there is nothing of ours" || fail "docker without a device: $(tail -n 2 "$dir/out")"
	grep -oE 'container [^ ,]*docker/[0-9a-f]{12}' "$dir/agent.log" | grep -q . && ok "docker: the agent tells its containers apart" || fail "docker: the agent's log: $(grep comes "$dir/agent.log" | tail -n 2)"
	kill $daemon; wait $daemon
}
# An image of the layout that Ollama's own Dockerfile makes: the release below /usr, its variables, its entry point. Its program is the one of
# tests/ollama, its base this machine's C and C++ libraries; no registry of images can be reached here.
ollama() {
	local store=$dir/root as=() why port url i=$dir/image m=$dir/models
	why=$(tests/ollama/build.sh "$B" 2>&1) || { echo "skip podman with Ollama: $(tail -n 1 <<<"$why")"; return; }
	"$B/bin/vgpu" cdi generate --output /run/cdi/vgpu.json || { fail "cdi generate"; return; }
	cp -a "$R" "$i" && rm -f "$i"/bin/* && mkdir -p "$i/usr/lib" "$i/root" "$m"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$i/etc/passwd"
	cp "$B/ollama/release/bin/ollama" "$i/usr/bin/" && cp -rL "$B/ollama/release/lib/ollama" "$i/usr/lib/ollama"
	for l in $(ldd "$i/usr/lib/ollama/llama-server" "$i"/usr/lib/ollama/*.so "$i/usr/bin/ollama" 2>/dev/null | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -v "^$B" | sort -u); do
		cp -nL "$l" "$i/lib/x86_64-linux-gnu/"
	done
	tar -C "$i" -c . | pod import --change 'ENV PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
		--change 'ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64' --change 'ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility' \
		--change 'ENV NVIDIA_VISIBLE_DEVICES=all' --change 'ENV OLLAMA_HOST=0.0.0.0:11434' --change 'ENTRYPOINT ["/usr/bin/ollama"]' --change 'CMD ["serve"]' \
		- localhost/ollama >"$dir/out" 2>&1 || { fail "podman import of Ollama's layout: $(tail -n 2 "$dir/out")"; return; }
	rm -rf "$i"
	cp tests/llm/model/licences.gguf "$m/" && echo "FROM /models/licences.gguf" >"$m/Modelfile"
	port=$(python3 tests/system/port.py) url=http://127.0.0.1:$port
	: >"$dir/serve"
	pod run --rm --name o --network host --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 --device nvidia.com/gpu=all -v "$m:/models" -e "OLLAMA_HOST=127.0.0.1:$port" -e OLLAMA_NO_CLOUD=1 -e OLLAMA_DEBUG=1 \
		localhost/ollama >"$dir/serve" 2>&1 & server=$!
	daemons+=($server)
	until_true python3 tests/ollama/client.py ps "$url" || { fail "Ollama in a container does not come up: $(tail -n 3 "$dir/serve")"; return; }
	grep -q 'library=CUDA.*VGPU-STUB' "$dir/serve" && ok "Ollama's layout in podman: it finds the device" || fail "Ollama finds no device: $(grep -i 'inference compute' "$dir/serve" | tail -n 2)"
	pod exec o /usr/bin/ollama create m -f /models/Modelfile >"$dir/out" 2>&1 || { fail "ollama create: $(head -n 3 "$dir/out")"; pod stop -t 20 o >/dev/null 2>&1; return; }
	python3 tests/ollama/client.py say "$url" m "You may copy" 8 >"$dir/out" 2>&1 && [ "$(python3 tests/ollama/client.py ps "$url")" = "m:latest 100" ] && ok "Ollama in podman: text, 100 % on the device" ||
		fail "Ollama in podman: $(tail -n 2 "$dir/out"), $(python3 tests/ollama/client.py ps "$url"), $(tail -n 3 "$dir/serve")"
	"$B/bin/vgpu" ctl list | grep -q llama-server && ok "vgpu ctl list on the host has its runner" || fail "ctl list: $("$B/bin/vgpu" ctl list)"
	"$B/bin/vgpu" doctor --ollama "$url" >"$dir/out" 2>&1; grep -qi 'm:latest.*100' "$dir/out" && ok "vgpu doctor --ollama of a container" || fail "doctor --ollama: $(tail -n 4 "$dir/out")"
	pod stop -t 20 o >"$dir/out" 2>&1; wait $server
}
for n in "$@"; do
	case $n in podman | user | bwrap | ollama | docker) "$n" ;; *) echo "FAIL no such test: $n"; bad=1 ;; esac
done
exit $bad
