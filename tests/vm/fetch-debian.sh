#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unpacks a small Debian with systemd and udev into FOLDER/root, for service.sh. Nothing is installed (apt.sh), no root needed,
# and no package's own scripts run: what they would have made and a boot needs is made below.
#
#   fetch-debian.sh FOLDER      ends with 77 and a reason when it cannot be had
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
skip() { echo "$*" >&2; exit 77; }
[ ! -e "$dir/done" ] || exit 0
# shellcheck source=tests/vm/apt.sh
. "$(dirname "$0")/apt.sh"
echo "fetching a Debian with systemd, once: 40 MB, unpacked 120 MB into $dir" >&2
apt_alone "$dir/apt" bookworm
apt-get -qq -y -d install systemd-sysv udev kmod bash coreutils grep sed mawk findutils procps mount util-linux login passwd \
	libc-bin base-files base-passwd >"$dir/apt/log" 2>&1 || skip "Debian cannot be fetched: $(tail -n 1 "$dir/apt/log")"
rm -rf "$dir/root"
mkdir -p "$dir"/root/usr/{bin,sbin,lib,lib64}
for d in bin sbin lib lib64; do ln -s usr/$d "$dir/root/$d"; done
for deb in "$packages"/*.deb; do
	case ${deb##*/} in
	# dependencies of the packages' scripts
	perl* | libperl* | usrmerge* | debconf* | adduser* | dpkg_* | lib*-perl*) continue ;;
	esac
	dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir/root" --keep-directory-symlink --no-same-owner --exclude='./usr/share/doc/*' \
		--exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/zoneinfo/*' || skip "$deb cannot be unpacked"
done
cd "$dir/root"
for f in passwd group; do sed 's/:\*:/:x:/' usr/share/base-passwd/$f.master >etc/$f; done
ln -sf mawk usr/bin/awk
ln -sf bash usr/bin/sh
# not the first boot: nobody is asked, and no presets are applied
echo 0123456789abcdef0123456789abcdef >etc/machine-id
echo guest >etc/hostname
mkdir -p proc sys dev run tmp root
cd "$dir"
rm -rf apt
: >done
