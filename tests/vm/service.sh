#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# By hand, two minutes: the agent as a service of an ordinary Debian, on a PCI function. A guest with systemd and udev, the stock
# kernel, and what "make install" installs: vgpu-bind@ binds the function, the udev rule gives its group to user vgpu, and the
# hardened unit serves it; then the device's own unit, whose contexts are in a delegated cgroup. service-inside.sh is what happens in there. Prints "ok NAME", "FAIL NAME reason", "skip NAME reason".
#
#   service.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
# shellcheck source=tests/vm/lib.sh
. "$here/lib.sh"
tmp=$(mktemp -d /tmp/vgpu-vm.XXXXXX)
stub='' guest=''
cleanup() {
	kill -9 $guest $stub
	wait
	rm -rf "$tmp"
} 2>/dev/null
trap cleanup EXIT
trap 'exit 1' INT TERM
{ vm_prepare "$B" && "$here/fetch-debian.sh" "$cache/debian"; } 2>"$tmp/why" || { echo "skip service $(tail -n 1 "$tmp/why")"; exit 0; }

root=$tmp/root
cp -a "$cache/debian/root" "$root" || exit 1
(cd "$here/../.." && PREFIX=/usr SYSCONFDIR=/etc DESTDIR=$root tools/service/install.sh install "$B" >/dev/null) || exit 1
modules=$root/usr/lib/modules/$(cat "$kernel/version")/kernel
mkdir -p "$modules" "$root/opt/tests" "$root/etc/systemd/system/multi-user.target.wants"
for m in "$kernel"/modules/*.ko; do cp "$m" "$modules/${m##*/??-}"; done
cp "$B"/e2e/driver/{vecadd,threads,endless} "$root/opt/tests/" || exit 1
cp "$here/service-inside.sh" "$root/opt/"
cat >"$root/etc/systemd/system/inside.service" <<'END'
[Unit]
After=multi-user.target
[Service]
ExecStart=/opt/service-inside.sh
END
ln -s ../inside.service "$root/etc/systemd/system/multi-user.target.wants/"
# no clock, disk, network or screen to look after
for u in serial-getty@ttyS0 getty@tty1 systemd-timesyncd systemd-networkd systemd-resolved; do ln -sf /dev/null "$root/etc/systemd/system/$u.service"; done
"$here/mkinitramfs.py" "$tmp/image.gz" "/=$root" init@usr/lib/systemd/systemd || exit 1

"$B/bin/vgpu-stub" --socket "$tmp/device" --memory 512M >"$tmp/stub.log" 2>&1 &
stub=$!
until [ -S "$tmp/device" ]; do kill -0 $stub || exit 1; sleep 0.1; done
mkdir -p "$B/test-logs/vm"
serial=$B/test-logs/vm/service.serial
: >"$serial"
VGPU_VM_MEMORY=1536M vm_qemu "$tmp/device" "$tmp/image.gz" "hugepages=64 rdinit=/init systemd.show_status=0" -serial "file:$serial" >"$tmp/qemu" 2>&1 </dev/null &
guest=$!
until=$((SECONDS + 900))
while kill -0 $guest 2>/dev/null && [ $SECONDS -lt $until ]; do sleep 0.5; done
tr -d '\r' <"$serial" | grep -E '^(ok|FAIL|  \|) '
want=$(grep -c '^judge ' "$here/service-inside.sh")
got=$(tr -d '\r' <"$serial" | grep -cE '^(ok|FAIL) ')
if [ "$got" != "$want" ]; then
	echo "FAIL service/end $got of $want verdicts; the end of the serial line ($serial):"
	tail -n 30 "$serial" "$tmp/qemu" | sed 's/^/  | /'
	exit 1
fi
! grep -q '^FAIL ' "$serial"
