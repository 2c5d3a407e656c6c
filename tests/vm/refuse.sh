#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: what the agent says about a device that cannot be used here. $1: not_viable or no_iommu.
export PATH=/bin
mount -t devtmpfs d /dev 2>/dev/null
mkdir -p /proc /sys /run
mount -t proc p /proc
mount -t sysfs s /sys
for m in /modules/*.ko; do insmod "$m"; done
case $1 in
not_viable) want='that other drivers have: [0-9a-f:.]* (serial);' ;;
*)          want='has no IOMMU group' ;;
esac
vgpu-agent --bind auto >/run/log 2>&1
if timeout 60 vgpu-agent --device auto >>/run/log 2>&1; then
	echo "FAIL refuse/$1 it started"
elif grep -q -e "error: .*$want" /run/log; then
	echo "ok refuse/$1 $(grep -e "error: .*$want" /run/log | tail -n 1 | sed 's/.*error: //')"
else
	echo "FAIL refuse/$1 $(tail -n 1 /run/log)"
	sed 's/^/  | /' /run/log
fi
# no consent helps where the kernel has no such mode
if [ "$1" = no_iommu ]; then
	if ! vgpu-agent --bind auto --unsafe-noiommu >/run/log 2>&1 && grep -q 'has no no-IOMMU mode' /run/log; then
		echo "ok refuse/unsafe_without_kernel"
	else
		echo "FAIL refuse/unsafe_without_kernel $(tail -n 1 /run/log)"
	fi
fi
echo "#end"
poweroff -f
