#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The agent and its clients inside a guest, the device outside: kernel VFIO for real, on any machine. Five boots under
# plain emulation, about a minute; prints "ok NAME", "FAIL NAME reason", "skip NAME reason".
#
#   run.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
# shellcheck source=tests/vm/lib.sh
. "$here/lib.sh"

tmp=$(mktemp -d /tmp/vgpu-vm.XXXXXX)
stub='' guest=''
cleanup() {
	[ -z "$guest" ] || kill -9 "$guest" 2>/dev/null
	[ -z "$stub" ] || kill "$stub" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

if ! vm_prepare "$B" 2>"$tmp/why"; then
	echo "skip vm $(tail -n 1 "$tmp/why")"
	exit 0
fi
for p in vecadd reduce matmul scan threads; do
	[ -x "$B/e2e/static-musl/$p" ] || { echo "FAIL vm static-musl/$p is not built (make e2e)"; exit 1; }
done
mkdir "$tmp/tests"
cp "$B"/e2e/static-musl/{vecadd,reduce,matmul,scan,threads} "$tmp/tests/"
gcc -std=gnu11 -O1 -Wall -Wextra -static -I"$here/../../fw-protocol" -o "$tmp/tests/outside" "$here/outside.c" || exit 1

bad=0
device() {
	rm -f "$tmp/device"
	"$B/bin/vgpu-stub" --socket "$tmp/device" --memory 512M >"$tmp/stub.log" 2>&1 &
	stub=$!
	for _ in $(seq 100); do
		[ -S "$tmp/device" ] && return
		sleep 0.1
	done
}

# boot NAME LIMIT_S LINES INITRAMFS CMDLINE QEMU-ARG...: LINES verdicts are expected
boot() {
	local name=$1 limit=$2 lines=$3 initramfs=$4 cmdline=$5 serial=$tmp/$1.serial until killed='' got
	shift 5
	device
	: >"$serial"
	vm_qemu "$tmp/device" "$initramfs" "$cmdline" "$@" -serial "file:$serial" >"$tmp/$name.qemu" 2>&1 </dev/null &
	guest=$!
	until=$(($(date +%s) + limit))
	while kill -0 $guest 2>/dev/null; do
		if [ -z "$killed" ] && grep -q '^#kill-device' "$serial"; then
			kill -9 "$stub"
			killed=yes
		fi
		# what is left of QEMU after the guest's end is not worth waiting for
		if grep -q '^#end' "$serial" || [ "$(date +%s)" -ge $until ]; then
			sleep 0.3
			kill -9 $guest 2>/dev/null
		fi
		sleep 0.1
	done
	wait $guest 2>/dev/null
	guest=''
	kill "$stub" 2>/dev/null
	wait "$stub" 2>/dev/null
	stub=''
	got=$(tr -d '\r' <"$serial" | grep -cE '^(ok|FAIL) ')
	# QEMU without KVM on a busy machine: a kernel that does not come up says nothing about us, once
	if [ "$got" = 0 ] && [ -z "${again:-}" ] && grep -q 'Kernel panic' "$serial"; then
		echo "$name: the guest's kernel did not come up: $(grep -m 1 'Kernel panic' "$serial"); once more"
		again=yes boot "$name" "$limit" "$lines" "$initramfs" "$cmdline" "$@"
		return
	fi
	# known of QEMU 11.1: a vfio-user server that vanishes at the wrong moment ends QEMU, not the device
	if [ -n "$killed" ] && [ "$got" != "$lines" ] && grep -q 'Assertion' "$tmp/$name.qemu"; then
		tries=$((${tries:-0} + 1))
		if [ $tries -lt 4 ]; then
			boot "$name" "$limit" "$lines" "$initramfs" "$cmdline" "$@"
		else
			echo "skip $name QEMU aborts when the device's process goes: $(tail -n 1 "$tmp/$name.qemu")"
		fi
		return
	fi
	tr -d '\r' <"$serial" | grep -E '^(ok|FAIL|  \|) '
	if [ "$got" != "$lines" ]; then
		echo "FAIL $name/end $got of $lines verdicts within $limit s; the end of the serial line:"
		bad=1
		tail -n 25 "$serial" | sed 's/^/  | /'
		tail -n 5 "$tmp/$name.qemu" "$tmp/stub.log" | sed 's/^/  | /'
	fi
	! grep -q '^FAIL ' "$serial" || bad=1
}

# 1. the agent is PID 1 and ends with the program
vm_initramfs "$tmp/pid1.gz" init="$B/bin/vgpu-agent" programs="$here/programs.sh" tests="$tmp/tests" || exit 1
boot pid1 80 7 "$tmp/pid1.gz" "hugepages=64 rdinit=/init -- --modules /modules --run /programs"
# 2. owners come and go; the device dies
vm_initramfs "$tmp/owner.gz" init="$here/owner.sh" common.sh="$here/common.sh" bin/vgpu-agent="$B/bin/vgpu-agent" tests="$tmp/tests" || exit 1
boot owner 120 "$(grep -c '^judge ' "$here/owner.sh")" "$tmp/owner.gz" "hugepages=64 rdinit=/init"
vm_initramfs "$tmp/killed.gz" init="$here/killed.sh" common.sh="$here/common.sh" bin/vgpu-agent="$B/bin/vgpu-agent" \
	tests="$tmp/tests" || exit 1
boot killed 60 "$(grep -c '^judge ' "$here/killed.sh")" "$tmp/killed.gz" "hugepages=64 rdinit=/init"
# 3. what cannot work is refused in words: a group shared with another driver's device, a machine without an IOMMU
vm_initramfs "$tmp/refuse.gz" init="$here/refuse.sh" bin/vgpu-agent="$B/bin/vgpu-agent" || exit 1
vm_bus=bridge
boot shared 40 1 "$tmp/refuse.gz" "hugepages=16 rdinit=/init -- not_viable" \
	-device pcie-pci-bridge,id=bridge -device pci-serial,bus=bridge,addr=2
vm_bus='' vm_iommu=''
boot bare 40 1 "$tmp/refuse.gz" "hugepages=16 rdinit=/init -- no_iommu"
exit $bad
