#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts a stock Debian kernel, its VFIO modules and a static busybox into FOLDER, by this machine's own apt; nothing is
# installed. FOLDER/vmlinuz, FOLDER/version, FOLDER/modules/NN-*.ko (in the order to load them), FOLDER/busybox.
#
#   fetch-kernel.sh FOLDER        ends with 77 and a reason when something cannot be had
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
skip() { echo "$*" >&2; exit 77; }
[ -e "$dir/version" ] && exit 0
command -v apt-get >/dev/null || skip "no apt-get here"

# get PACKAGE: fetches and unpacks it. An old package list may name files that the mirror dropped: then once again.
get() {
	rm -rf "$dir/deb"
	mkdir -p "$dir/deb"
	(cd "$dir/deb" && { apt-get -qq -o Acquire::Retries=3 download "$1" || { apt-get -qq update && apt-get -qq -o Acquire::Retries=3 download "$1"; }; }) >"$dir/log" 2>&1 ||
		skip "package $1 cannot be fetched: $(tail -n 1 "$dir/log")"
	dpkg-deb -x "$dir"/deb/*.deb "$dir/tree"
	rm -rf "$dir/deb"
}
rm -rf "$dir/tree"
image() { apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '/Depends: linux-image-/ { print $2; exit }'; }
name=$(image)
[ -n "$name" ] || { apt-get -qq update >/dev/null 2>&1 || true; name=$(image); }
[ -n "$name" ] || skip "this machine's apt knows no linux-image-cloud-amd64"
echo "fetching $name and busybox-static, once: 30 MB" >&2
get "$name"
get busybox-static
version=${name#linux-image-}
mkdir -p "$dir/modules"
n=10
# vfio_virqfd became part of vfio in 6.2
for m in irqbypass vfio vfio_virqfd vfio_iommu_type1 vfio-pci-core vfio-pci; do
	found=$(find "$dir/tree" -name "$m.ko*" | head -n 1)
	[ -n "$found" ] || continue
	case $found in
	*.xz) xz -dc "$found" >"$dir/modules/$n-$m.ko" ;;
	*)    cp "$found" "$dir/modules/$n-$m.ko" ;;
	esac
	n=$((n + 10))
done
cp "$(find "$dir/tree" -path '*/boot/vmlinuz-*' | head -n 1)" "$dir/vmlinuz"
cp "$(find "$dir/tree" -path '*bin/busybox' | head -n 1)" "$dir/busybox"
[ -e "$dir/modules/$((n - 10))-vfio-pci.ko" ] || skip "$name has no vfio-pci module"
rm -rf "$dir/tree"
echo "$version" >"$dir/version"
