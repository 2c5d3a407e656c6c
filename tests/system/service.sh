#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The units, run by a systemd of our own: PID 1 of private namespaces, over a throw-away overlay of this machine's root. So
# every hardening line of the units holds while CUDA programs run. service/boot.sh makes that machine, service/inside.sh
# is what happens in it.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.." || exit 1
unset LD_LIBRARY_PATH

systemd=/lib/systemd/systemd
[ -x $systemd ] || { skip "services: no systemd here"; exit 0; }
[ "$(id -u)" = 0 ] || { skip "services: a systemd of our own needs root"; exit 0; }
grep -qw overlay /proc/filesystems && grep -qw cgroup2 /proc/filesystems && unshare -fpmuinC --mount-proc true 2>"$dir/why" ||
	{ skip "services: no namespaces, overlay or cgroup2 here $(cat "$dir/why")"; exit 0; }

DESTDIR=$dir/stage PREFIX=/usr/local SYSCONFDIR=/etc tools/service/install.sh install "$(realpath --relative-to=. "$B")" || exit 1
mkdir -p "$dir/stage/opt/tests" "$dir/share"
cp "$B"/e2e/driver/{vecadd,threads,vmm,pool,hostfn,printf,managed} "$here/service/inside.sh" "$dir/stage/opt/tests/"
chmod 755 "$dir" "$dir/share"

# a cgroup of its own, so that what systemd makes there goes with it
cat >"$dir/run" <<'END'
set -e
mkdir "$1/cg"
mount -t cgroup2 cgroup2 "$1/cg"
mkdir "$1/cg/$3"
echo $$ >"$1/cg/$3/cgroup.procs"
exec unshare -fpmuinC --propagation private --kill-child "$2/service/boot.sh" "$1"
END
name=vgpu-test-$$
timeout -k 5 280 unshare -m --propagation private bash "$dir/run" "$dir" "$here" $name >"$dir/log" 2>&1
remove_cgroup() {
	unshare -m sh -c 'mount -t cgroup2 cgroup2 "$1/cg" && cd "$1/cg" && find "$2" -depth -type d -exec rmdir {} +' - "$dir" $name
}
until_true remove_cgroup || fail "services: processes are left"
if [ ! -s "$dir/share/verdicts" ] && ! grep -q started "$dir/share/out" 2>/dev/null; then
	# containers forbid one part of it or another
	skip "services: systemd does not come up in namespaces here: $(tail -n 1 "$dir/log")"
	exit 0
fi
cat "$dir/share/verdicts"
grep -qx end "$dir/share/out" || fail "services: it stopped in the middle"
grep -q '^FAIL' "$dir/share/verdicts" && { cat "$dir/share/out" "$dir/log"; exit 1; }
exit 0
