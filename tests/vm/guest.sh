#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A guest for people: vgpu-agent is its PID 1, a shell its program, the device a vgpu-stub out here.
#
#   guest.sh image BUILD    writes BUILD/vm/guest.cpio.gz       (make guest)
#   guest.sh shell BUILD    boots it on this terminal           (make vm)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$2" && pwd)
# shellcheck source=tests/vm/lib.sh
. "$here/lib.sh"

vm_prepare "$B" || { echo "make vm: the guest cannot be built: see the line above" >&2; exit 1; }
tmp=$(mktemp -d /tmp/vgpu-guest.XXXXXX)
stub=
cleanup() {
	[ -z "$stub" ] || kill "$stub" 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT

image=$B/vm/guest.cpio.gz
mkdir -p "$B/vm" "$tmp/programs"
for p in vecadd reduce matmul scan threads; do
	strip -s -o "$tmp/programs/$p" "$B/e2e/static-musl/$p"
done
vm_initramfs "$image" init="$B/bin/vgpu-agent" shell="$here/shell.sh" programs="$tmp/programs"
[ "$1" = shell ] || { echo "$image: $(($(stat -c %s "$image") / 1024)) KiB, with the modules of $(cat "$kernel/version")"; exit 0; }

"$B/bin/vgpu-stub" --socket "$tmp/device" >"$tmp/log" 2>&1 &
stub=$!
for _ in $(seq 100); do
	[ ! -S "$tmp/device" ] || break
	sleep 0.1
done
echo "booting Debian's $(cat "$kernel/version") without KVM: a few seconds"
# signal=off: Ctrl-C is for the guest. Ending the shell ends the guest, and so does Ctrl-A X (mux) when it hangs.
(vm_qemu "$tmp/device" "$image" "hugepages=64 rdinit=/init -- --modules /modules --quiet --run /shell" \
	-chardev stdio,id=terminal,signal=off,mux=on -serial chardev:terminal)
