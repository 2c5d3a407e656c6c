#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unpacks a QEMU that has vfio-user-pci (10.1 or newer) into FOLDER/root and prints the path of a wrapper that
# runs it. Nothing is installed and the machine's apt is not touched: an apt configuration of its own,
# with an empty package status, resolves the dependencies.
#
#   fetch-qemu.sh FOLDER
#
# The mirror is the one that this machine's own Debian sources name. Ends with 77 and a reason when
# QEMU cannot be had.
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
command -v apt-get >/dev/null || skip "no apt-get here, and no QEMU with vfio-user-pci"
[ "$(dpkg --print-architecture)" = amd64 ] || skip "only amd64 is prepared"

# first address of a Debian archive, in either format of sources
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
	awk '$1 == "URIs:" { for (i = 2; i <= NF; i++) print $i }
	     $1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; break } }' |
	grep -E '/debian/?$' | head -n 1)
[ -n "$mirror" ] || skip "this machine's apt sources name no Debian mirror"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keys" ] || skip "no $keys"

mkdir -p "$dir"/apt/state/lists/partial "$dir"/apt/cache/archives/partial "$dir"/apt/etc
: >"$dir/apt/state/status"
for suite in trixie trixie-backports; do
	echo "deb [signed-by=$keys] $mirror $suite main"
done >"$dir/apt/etc/sources.list"
cat >"$dir/apt/etc/apt.conf" <<EOF
Dir::State "$dir/apt/state";
Dir::State::status "$dir/apt/state/status";
Dir::Cache "$dir/apt/cache";
Dir::Etc::sourcelist "$dir/apt/etc/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferencesparts "-";
APT::Architecture "amd64";
APT::Install-Recommends "false";
APT::Sandbox::User "";
EOF
export APT_CONFIG=$dir/apt/etc/apt.conf
echo "fetching QEMU from Debian's backports, once: 40 MB, unpacked 170 MB into $dir" >&2
apt-get -qq update >"$dir/apt/log" 2>&1 || skip "no package lists from $mirror: $(tail -n 1 "$dir/apt/log")"
apt-get -qq -y -d install -t trixie-backports qemu-system-x86 >"$dir/apt/log" 2>&1 ||
	skip "QEMU cannot be fetched: $(tail -n 1 "$dir/apt/log")"
rm -rf "$dir/root"
mkdir -p "$dir/root"
for deb in "$dir"/apt/cache/archives/*.deb; do
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
