# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A machine with a systemd of its own, for tests; sourced behind lib.sh. $dir/stage is copied over its root, where the units are
# installed, $dir/share is its /mnt.
world=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# world_needs NAME [bare]: ends with a skip where it cannot be had; else what `make install` puts there is in $dir/stage, or nothing is
world_needs() {
	[ -x /lib/systemd/systemd ] || { skip "$1: no systemd here"; exit 0; }
	[ "$(id -u)" = 0 ] || { skip "$1: a systemd of our own needs root"; exit 0; }
	grep -qw overlay /proc/filesystems && grep -qw cgroup2 /proc/filesystems && unshare -fpmuinC --mount-proc true 2>"$dir/why" ||
		{ skip "$1: no namespaces, overlay or cgroup2 here $(cat "$dir/why")"; exit 0; }
	[ "${2:-}" = bare ] || (cd "$world/../../.." && DESTDIR=$dir/stage PREFIX=/usr/local SYSCONFDIR=/etc tools/service/install.sh install "$(realpath --relative-to=. "$B")") || exit 1
	mkdir -p "$dir/stage/opt/tests" "$dir/share"
	chmod 755 "$dir" "$dir/share"
}

# world NAME SECONDS SCRIPT: runs SCRIPT there and prints its verdicts; 1 when one is a failure
world() {
	local name=vgpu-test-$$
	cp "$3" "$dir/stage/opt/tests/inside.sh"
	cp "$world/verdicts.sh" "$dir/stage/opt/tests/"
	# a cgroup of its own, so that what systemd makes there goes with it
	cat >"$dir/run" <<'END'
set -e
mkdir "$1/cg"
mount -t cgroup2 cgroup2 "$1/cg"
mkdir "$1/cg/$3"
echo $$ >"$1/cg/$3/cgroup.procs"
exec unshare -fpmuinC --propagation private --kill-child "$2/boot.sh" "$1"
END
	timeout -k 5 "$2" unshare -m --propagation private bash "$dir/run" "$dir" "$world" "$name" >"$dir/log" 2>&1
	remove_cgroup() {
		unshare -m sh -c 'mount -t cgroup2 cgroup2 "$1/cg" && cd "$1/cg" && find "$2" -depth -type d -exec rmdir {} +' - "$dir" "$name"
	}
	until_true remove_cgroup || fail "$1: processes are left"
	if [ ! -s "$dir/share/verdicts" ] && ! grep -q started "$dir/share/out" 2>/dev/null; then
		# containers forbid one part of it or another
		skip "$1: systemd does not come up in namespaces here: $(tail -n 1 "$dir/log")"
		return 0
	fi
	cat "$dir/share/verdicts"
	grep -qx end "$dir/share/out" || fail "$1: it stopped in the middle"
	grep -q '^FAIL' "$dir/share/verdicts" && { cat "$dir/share/out" "$dir/log"; return 1; }
	return 0
}
