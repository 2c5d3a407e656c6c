#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: what the agent says about a device that cannot be used here. $1: not_viable or no_iommu.
export PATH=/bin
mount -t devtmpfs d /dev 2>/dev/null
mkdir -p /proc /sys /run
mount -t proc p /proc
mount -t sysfs s /sys
# judge NAME PATTERN COMMAND...: it fails, in these words
judge() {
	name=$1 words=$2
	shift 2
	if ! "$@" >/run/log 2>&1 && grep -q -e "$words" /run/log; then
		echo "ok refuse/$name"
	else
		echo "FAIL refuse/$name $(tail -n 1 /run/log)"
	fi
}
[ "$1" = no_iommu ] || judge no_driver 'error: .*vfio-pci driver is not there; fix: modprobe vfio-pci' vgpu-agent --bind auto
for m in /modules/*.ko; do insmod "$m"; done
case $1 in
not_viable) want='that other drivers have: [0-9a-f:.]* (serial);' ;;
*)          want='has no IOMMU group' ;;
esac
# a bind that is not enough says so itself
if [ "$1" = no_iommu ]; then
	judge bind_no_iommu "error: .*$want" vgpu-agent --bind auto
else
	judge bind_says_not_viable "warning: .*$want" sh -c 'vgpu-agent --bind auto; false'
fi
if timeout 60 vgpu-agent --device auto >>/run/log 2>&1; then
	echo "FAIL refuse/$1 it started"
elif grep -q -e "error: .*$want" /run/log; then
	echo "ok refuse/$1 $(grep -e "error: .*$want" /run/log | tail -n 1 | sed 's/.*error: //')"
else
	echo "FAIL refuse/$1 $(tail -n 1 /run/log)"
	sed 's/^/  | /' /run/log
fi
# no consent helps where the kernel has no such mode
[ "$1" != no_iommu ] || judge unsafe_without_kernel 'has no no-IOMMU mode' vgpu-agent --bind auto --unsafe-noiommu
echo "#end"
poweroff -f
