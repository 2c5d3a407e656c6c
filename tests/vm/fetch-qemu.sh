#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unpacks a QEMU that has vfio-user-pci (10.1 or newer) into FOLDER/root and prints the path of a wrapper that
# runs it. Nothing is installed and the machine's apt is not touched (apt.sh).
#
#   fetch-qemu.sh FOLDER        ends with 77 and a reason when QEMU cannot be had
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
wrapper=$dir/qemu-system-x86_64
skip() { echo "$*" >&2; exit 77; }
works() { "$wrapper" -device help 2>/dev/null | grep -q '"vfio-user-pci"'; }

if [ -x "$wrapper" ] && works; then
	echo "$wrapper"
	exit 0
fi
# a QEMU of the machine's own serves as well
if own=$(command -v qemu-system-x86_64) && "$own" -device help 2>/dev/null | grep -q '"vfio-user-pci"'; then
	echo "$own"
	exit 0
fi
# shellcheck source=tests/vm/apt.sh
. "$(dirname "$0")/apt.sh"
echo "fetching QEMU from Debian's backports, once: 40 MB, unpacked 170 MB into $dir" >&2
apt_alone "$dir/apt" trixie trixie-backports
apt-get -qq -y -d install -t trixie-backports qemu-system-x86 >"$dir/apt/log" 2>&1 ||
	skip "QEMU cannot be fetched: $(tail -n 1 "$dir/apt/log")"
rm -rf "$dir/root"
mkdir -p "$dir/root"
for deb in "$packages"/*.deb; do
	dpkg-deb -x "$deb" "$dir/root" || skip "$deb cannot be unpacked"
done
rm -rf "$dir/apt"

# its own loader and libraries: this machine's may be older
cat >"$wrapper" <<'EOF'
#!/bin/sh
r=$(dirname "$(readlink -f "$0")")/root
exec "$r/usr/lib64/ld-linux-x86-64.so.2" \
	--library-path "$r/usr/lib/x86_64-linux-gnu:$r/usr/lib:$r/lib/x86_64-linux-gnu" \
	"$r/usr/bin/qemu-system-x86_64" -L "$r/usr/share/seabios" -L "$r/usr/share/qemu" "$@"
EOF
chmod +x "$wrapper"
works || skip "the QEMU of trixie-backports has no vfio-user-pci"
echo "$wrapper"
