# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the system tests: a private device and agent, scenario lines, clean-up.
set -u
B=$(cd "$1" && pwd)
V=$B/bin
dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-test-XXXXXX")
stub='' agent=''
cleanup() {
	for p in $agent $stub; do kill "$p" 2>/dev/null; done
	for p in $agent $stub; do wait "$p" 2>/dev/null; done
	rm -rf "$dir"
}
trap cleanup EXIT
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; }
skip() { echo "skip $*"; }

# until_true COMMAND...: tries every 50 ms, for a minute: what a busy machine does late is not what never comes
until_true() {
	local until=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.05
	done
}

# alike THING COPY: a file or folder again, by hard links; where COPY lies in another file system, of one copy that is made there
alike() {
	local once=$dir/alike${1//\//_}
	cp -alT "$1" "$2" 2>/dev/null && return
	rm -rf "$2"
	[ -e "$once" ] || cp -aT "$1" "$once" || return
	cp -alT "$once" "$2"
}

# Can nobody run it? A build below /root is nobody's business. (By way of env: setpriv itself still may what root may.)
reachable() { setpriv --reuid=65534 --regid=65534 --clear-groups env "$1" --version >/dev/null 2>&1; }

# with_packages PACKAGE...: the test from its beginning, in a mount namespace whose /usr has these of Debian's as well, which are unpacked
# below the build and not installed; unpacked ROOT does what their scripts would. Returns where that cannot be, the reason in $lacks, and where it has been done.
with_packages() {
	local P=$B/test/packages/$1
	[ "${VGPU_TEST_WITH:-}" = "$1" ] && return
	lacks="not root, who alone can unpack $1 for this test"
	[ "$(id -u)" = 0 ] || return
	mkdir -p "$P"
	(
		flock 9
		[ -e "$P/done" ] && exit
		rm -rf "$P/debs" "$P/root" && mkdir -p "$P/debs/partial" && timeout 200 apt-get install -y --download-only --no-install-recommends -o Dir::Cache::Archives="$P/debs" "$@" &&
			for d in "$P"/debs/*.deb; do dpkg -x "$d" "$P/root" || exit; done && rm -r "$P/debs" && { ! declare -F unpacked || unpacked "$P/root"; } && : >"$P/done"
	) >"$P/log" 2>&1 9>"$P/lock" || { lacks="apt gives no $1: $(tail -n 1 "$P/log")"; return; }
	lacks="no mount namespace can be made here"
	unshare -m sh -c 'mount --make-rprivate / && mount -t overlay overlay -o "lowerdir=$1/root/usr:/usr" /usr' - "$P" 2>>"$P/log" || return
	rm -rf "$dir"
	exec unshare -m env VGPU_TEST_WITH="$1" sh -c 'mount --make-rprivate / && mount -t overlay overlay -o "lowerdir=$1/root/usr:/usr" /usr && shift && exec "$@"' - "$P" "$BASH" "$0" "$B"
}

start_stub() {
	rm -f "$dir/stub"       # of one that was killed
	"$V/vgpu-stub" --socket "$dir/stub" "$@" 2>>"$dir/stub.log" &
	stub=$!
	until_true test -S "$dir/stub" || { echo "FAIL stub did not start"; cat "$dir/stub.log"; exit 1; }
}
start_agent() {
	"$V/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$dir/agent" --pidfile "$dir/pid" "$@" 2>>"$dir/agent.log" &
	agent=$!
	export VGPU_AGENT=$dir/agent
	until_true "$V/vgpu" smi -j || { echo "FAIL agent did not start"; cat "$dir/agent.log"; exit 1; }
}
# The agent, which may have lost its device, has it again.
device_ready() { "$V/vgpu" smi -j | grep -q '"state":"ready"'; }
export LD_LIBRARY_PATH=$B/lib
