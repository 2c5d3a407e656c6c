#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu cdi generate, by the CDI reference implementation (Go proxy), which podman and containerd use, and by Debian's runc in a
# container that has a C library and nothing else. Skipped where these cannot be had.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH
mkdir "$dir/run"
"$V/vgpu-stub" --socket "$dir/stub" --memory 1G 2>/dev/null & stub=$!
until_true test -S "$dir/stub"
"$V/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/run/agent.sock" --pidfile "$dir/pid" --mode 0666 2>"$dir/agent.log" & agent=$!
export VGPU_AGENT=$dir/run/agent.sock
until_true "$V/vgpu" smi -j || { fail "no agent: $(cat "$dir/agent.log")"; exit 1; }
uuid=$("$V/vgpu" smi -j | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
mkdir "$dir/specs"
"$V/vgpu" cdi generate --output "$dir/specs/vgpu.json" && python3 - "$dir/specs/vgpu.json" "$uuid" "$dir/run" <<'PY' && ok "a specification" || fail "generate"
import json, sys
s = json.load(open(sys.argv[1]))
assert s["cdiVersion"] == "0.5.0" and s["kind"] == "nvidia.com/gpu"
assert [d["name"] for d in s["devices"]] == ["0", sys.argv[2], "all"], s["devices"]
assert sys.argv[3] in [m["hostPath"] for m in s["containerEdits"]["mounts"]]
PY
for bad in "--kind gpu" "--kind 1/gpu" "--kind a/b/c" "--socket agent.sock" "--socket /a" "--nonsense x"; do
	# shellcheck disable=SC2086
	"$V/vgpu" cdi generate $bad >/dev/null 2>&1; [ $? = 2 ] && ok "$bad is refused" || fail "$bad: exit $?"
done
VGPU_AGENT=$dir/nobody "$V/vgpu" cdi generate >/dev/null 2>"$dir/err"; [ $? = 1 ] && grep -q nobody "$dir/err" && ok "no agent: nothing to describe" || fail "no agent: $(cat "$dir/err")"

# --- the reference implementation
P=$B/cdi
mkdir -p "$P"
if ! (
	flock 9
	[ "$P/inject" -nt tests/system/cdi/inject.go ] && exit 0
	command -v go >/dev/null || { echo "no go"; exit 1; }
	cp tests/system/cdi/inject.go "$P/main.go" && cd "$P" && rm -f go.mod go.sum && export GOFLAGS=-mod=mod GOPATH=$P/go &&
		go mod init inject && timeout 200 go get tags.cncf.io/container-device-interface@v1.0.1 github.com/opencontainers/runtime-spec@v1.2.0 && timeout 200 go build -o inject .
) >"$P/log" 2>&1 9>"$P/lock"; then
	skip "the CDI reference implementation: $(tail -n 1 "$P/log")"
	exit 0
fi
cat >"$dir/config.json" <<J
{"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "hostname": "box",
 "process": {"terminal": false, "cwd": "/", "user": {"uid": 0, "gid": 0}, "args": ["/bin/vecadd"], "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": true},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}, {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}],
 "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network"}]}}
J
"$P/inject" "$dir/specs" "$dir/config.json" nvidia.com/gpu=all 2>"$dir/err" && grep -q "nvidia.com/gpu=$uuid" "$dir/err" && grep -q VGPU_AGENT "$dir/config.json" &&
	ok "the reference implementation takes it" || { fail "CDI: $(cat "$dir/err")"; exit 1; }

# --- a container
runc=$(command -v runc)
if [ -z "$runc" ] && [ ! -x "$P/deb/usr/sbin/runc" ]; then
	mkdir -p "$P/deb" && (cd "$P/deb" && timeout 100 apt-get download runc >log 2>&1 && for d in *.deb; do dpkg -x "$d" .; done)
fi
[ -z "$runc" ] && [ -x "$P/deb/usr/sbin/runc" ] && runc=$P/deb/usr/sbin/runc
[ -n "$runc" ] && [ "$(id -u)" = 0 ] || { skip "a container: no runc, or not root"; exit 0; }
mkdir -p "$dir/rootfs"/{bin,lib64,proc,tmp,usr/bin,lib/x86_64-linux-gnu,usr/local/lib/vgpu}
cp -L /lib64/ld-linux-x86-64.so.2 "$dir/rootfs/lib64/"
for l in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0; do cp -L "/lib/x86_64-linux-gnu/$l" "$dir/rootfs/lib/x86_64-linux-gnu/"; done
cp "$B/e2e/driver/vecadd" "$B/e2e/driver/graph" "$dir/rootfs/bin/"
[ -x "$B/e2e/rt12/rt_vecadd" ] && cp "$B/e2e/rt12/rt_vecadd" "$dir/rootfs/bin/"
box() {
	python3 - "$dir/config.json" "$@" <<'PY'
import json, sys
c = json.load(open(sys.argv[1]))
c["process"]["args"] = sys.argv[2:]
json.dump(c, open(sys.argv[1], "w"))
PY
	timeout 100 "$runc" --root "$dir/state" run --bundle "$dir" "vgpu-test-$$" >"$dir/out" 2>&1
}
if ! box /bin/vecadd && ! grep -q '^vecadd' "$dir/out"; then
	skip "a container cannot be made here: $(tail -n 1 "$dir/out")"
	exit 0
fi
for p in vecadd graph rt_vecadd; do
	[ -x "$dir/rootfs/bin/$p" ] || continue
	box "/bin/$p" && grep -q "^$p: ok" "$dir/out" && ok "in the container: $p" || fail "in the container: $p: $(tail -n 2 "$dir/out")"
done
box /usr/bin/nvidia-smi -L && grep -q "$uuid" "$dir/out" && ok "in the container: nvidia-smi" || fail "in the container: nvidia-smi: $(tail -n 2 "$dir/out")"
# an agent that starts anew is reached: the folder is mounted, not the socket
kill "$agent"; wait "$agent"
"$V/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/run/agent.sock" --pidfile "$dir/pid" --mode 0666 2>"$dir/agent.log" & agent=$!
until_true "$V/vgpu" smi -j
box /bin/vecadd && ok "after a restart of the agent too" || fail "after a restart: $(tail -n 2 "$dir/out")"
