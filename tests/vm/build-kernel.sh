#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the guest kernel that has what no stock kernel has (kernel.config: VFIO's cdev and iommufd, no-IOMMU mode) from
# Debian's source package, fetched by this machine's own apt. Nothing is installed. FOLDER then looks like
# fetch-kernel.sh's: vmlinuz, version, modules (none); busybox is the other one's.
#
#   build-kernel.sh FOLDER          (make guest-kernel; some minutes on two cores, 2 GB while it builds)
#   build-kernel.sh FOLDER check    only says whether FOLDER holds it; else ends with 77 and the reason
#
# VGPU_KERNEL_SOURCE=FILE takes that linux-source-*.deb instead.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
skip() { echo "$*" >&2; exit 77; }
config=$(sha256sum <"$here/kernel.config")

if [ -e "$dir/vmlinuz" ] && [ "$(cat "$dir/config" 2>/dev/null)" = "$config" ]; then
	exit 0
fi
[ "${2:-}" != check ] || skip "a guest kernel with cdev and iommufd is not built here: make guest-kernel"

for tool in make gcc flex bison bc xz; do
	command -v $tool >/dev/null || skip "$tool is missing: as root, tools/setup.sh kernel"
done
[ -e /usr/include/gelf.h ] || skip "libelf-dev is missing: as root, tools/setup.sh kernel"

# the newest source package from 6.6 on: the first with VFIO_DEVICE_CDEV
newest() { apt-cache search --names-only '^linux-source-[0-9.]+$' 2>/dev/null | awk '{ print $1 }' | sort -V | tail -n 1; }
work=$dir/work
rm -rf "$work"
mkdir -p "$work" "$dir/modules"
deb=${VGPU_KERNEL_SOURCE:-}
if [ -z "$deb" ]; then
	command -v apt-get >/dev/null || skip "no apt-get here, and no VGPU_KERNEL_SOURCE"
	name=$(newest)
	[ -n "$name" ] || { apt-get -qq update >/dev/null 2>&1 || true; name=$(newest); }
	[ -n "$name" ] && [ "$(printf '%s\n' linux-source-6.6 "$name" | sort -V | head -n 1)" = linux-source-6.6 ] ||
		skip "this machine's apt knows no linux-source package from 6.6 on (newest: ${name:-none})"
	echo "fetching $name"
	(cd "$work" && { apt-get -qq download "$name" || { apt-get -qq update && apt-get -qq download "$name"; }; }) >"$work/log" 2>&1 ||
		skip "$name cannot be fetched: $(tail -n 1 "$work/log")"
	deb=$(ls "$work"/*.deb)
fi
# C files of what is never built here are half of it; their Kconfig files must be there
dpkg-deb --fsys-tarfile "$deb" | tar -C "$work" -xf - --wildcards --strip-components=3 '*/linux-source-*.tar.xz'
mkdir "$work/tree"
tar -C "$work/tree" --strip-components=1 --wildcards --exclude='*/drivers/gpu/*/*.[ch]' --exclude='*/drivers/net/*/*.[ch]' \
	--exclude='*/drivers/media/*/*.[ch]' --exclude='*/sound/*.[ch]' --exclude='*/Documentation/*.rst' --exclude='*/tools/testing/*' \
	-xJf "$work"/linux-source-*.tar.xz
rm -f "$work"/*.tar.xz "$work"/*.deb

cd "$work/tree"
make -s tinyconfig >"$work/log" 2>&1
scripts/kconfig/merge_config.sh -m .config "$here/kernel.config" >>"$work/log" 2>&1
make -s olddefconfig >>"$work/log" 2>&1
grep '^CONFIG_.*=y' "$here/kernel.config" | while read -r line; do
	grep -qxF "$line" .config || { echo "$line does not hold in this kernel" >&2; exit 1; }
done
version=$(make -s kernelrelease)
echo "building $version"
# lowest priority: it is a build of minutes beside whatever else this machine does
nice -n 19 make -s -j"${JOBS:-2}" bzImage >>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
cp arch/x86/boot/bzImage "$dir/vmlinuz"
cd "$dir"
rm -rf "$work"
echo "$version" >"$dir/version"
echo "$config" >"$dir/config"
echo "$dir/vmlinuz: $version, $(($(stat -c %s "$dir/vmlinuz") / 1024)) KiB"
