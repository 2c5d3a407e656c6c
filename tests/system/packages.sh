#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian's packages: built by dpkg-buildpackage from an export of the tree, judged by lintian, installed by dpkg in a machine with a systemd of
# its own (service/world.sh), used, upgraded from a lower version, purged. What was compiled in BUILD already is not compiled again, but
# where VGPU_TEST_PACKAGES=1 asks for all of it: a clean build, and a minimal Debian 12 by mmdebstrap that apt installs them in.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH VGPU_AGENT MAKEFLAGS MAKELEVEL
here=tests/system/packages
whole=${VGPU_TEST_PACKAGES:-}
can_build() { command -v lintian >/dev/null && command -v dh >/dev/null && dpkg-checkbuilddeps; }
if ! can_build >/dev/null 2>&1; then
	timeout 240 tools/setup.sh packages >"$dir/setup" 2>&1
	can_build >"$dir/lacks" 2>&1 || { skip "packages: $(cat "$dir/lacks"): $(tail -n 1 "$dir/setup")"; exit 0; }
fi
git rev-parse >/dev/null 2>&1 || { skip "packages: not a git tree, so what is exported is not known"; exit 0; }

# --- built
src=$dir/build/vgpu
mkdir -p "$src" "$dir/share"
git ls-files -z | tar -c --null -T - | tar -x -C "$src"
flags=()
if [ -z "$whole" ]; then
	mkdir "$src/build"
	# not what only tests are made of
	tar -C "$B" -c --exclude=obj/{asan,plain,tsan,guided,maths,protocol} bin lib include obj debug agent-deps e2e/{driver,static}/vecadd | tar -x -C "$src/build"
	flags=(-nc)
	export DEB_BUILD_OPTIONS=noautodbgsym DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1 DPKG_DEB_THREADS_MAX=1
fi
(cd "$src" && timeout 1500 dpkg-buildpackage -us -uc -b "${flags[@]}") >"$dir/log" 2>&1 && ok "dpkg-buildpackage" || { fail "dpkg-buildpackage: $(tail -n 20 "$dir/log")"; exit 1; }
grep -E '^(dpkg-[a-z]+|dh[a-z_]*): warning' "$dir/log" | sort -u >"$dir/warnings"
[ -s "$dir/warnings" ] && fail "warnings: $(cat "$dir/warnings")" || ok "without a warning of dpkg or debhelper"
version=$(dpkg-parsechangelog -l debian/changelog -S Version)
debs=()
for p in vgpu libcuda-lite libcuda-lite-system libcuda-lite-dev; do debs+=("$dir/build/${p}_${version}_amd64.deb"); done
ls "${debs[@]}" >"$dir/out" 2>&1 && ok "packages: $(du -k "${debs[@]}" | sed 's|^\([0-9]*\).*/\([^_]*\)_.*|\2 \1 KiB|' | paste -sd , -)" || { fail "$(cat "$dir/out")"; exit 1; }

# --- lintian: no error, no warning; what is overridden has its reason beside it
lintian --allow-root --fail-on error,warning "$dir"/build/*.changes >"$dir/lint" 2>"$dir/lint.err"
st=$?
[ $st = 0 ] && ! grep -q '^[EW]:' "$dir/lint" && ok "lintian has no error and no warning" || fail "lintian (exit $st): $(cat "$dir/lint" "$dir/lint.err")"
bare=$(awk 'FNR == 1 {was = ""} /^[^#]/ && was !~ /^(#|[^#])/ {print FILENAME ": " $0} {was = $0}' debian/*.lintian-overrides debian/source/lintian-overrides 2>/dev/null)
[ -z "$bare" ] && ok "each override has a reason" || fail "overrides without a comment: $bare"

# --- the same packages as a lower version, and somebody's libcuda1
lower=0.0.9
repack() { # repack DEB
	local t=$dir/repack
	rm -rf "$t"
	dpkg-deb -R "$1" "$t"
	sed -i "s/^Version: .*/Version: $lower/; s/(= $version)/(= $lower)/g" "$t/DEBIAN/control"
	fakeroot dpkg-deb -b --root-owner-group "$t" "$dir/stage/opt/old/" >/dev/null
}
mkdir -p "$dir"/stage/opt/{old,new,tests}
cp "${debs[@]}" "$dir/stage/opt/new/"
for d in "${debs[@]}"; do repack "$d"; done
mkdir -p "$dir/fake/DEBIAN"
printf '%s\n' 'Package: libcuda1' 'Version: 535.1' 'Architecture: amd64' 'Maintainer: nobody <nobody@example.org>' 'Description: stand-in' >"$dir/fake/DEBIAN/control"
dpkg-deb -b --root-owner-group "$dir/fake" "$dir/stage/opt/libcuda1.deb" >/dev/null
cp "$B"/e2e/driver/{vecadd,threads} "$dir/stage/opt/tests/"

# --- installed, used, upgraded, purged
. tests/system/service/world.sh
world_needs packages bare
world packages 280 "$PWD/$here/inside.sh"

# --- apt in the least Debian there is: are all dependencies named?
[ -n "$whole" ] || { skip "a clean build, and a minimal Debian by mmdebstrap: where VGPU_TEST_PACKAGES=1 asks for them"; exit 0; }
command -v mmdebstrap >/dev/null || { skip "mmdebstrap: not installed here"; exit 0; }
chmod 755 "$dir" "$dir/build"
if ! timeout 400 mmdebstrap --variant=minbase --include=apt --skip=cleanup/apt bookworm "$dir/least" >"$dir/log" 2>&1; then
	skip "mmdebstrap: $(tail -n 1 "$dir/log")"
	exit 0
fi
cp "${debs[@]}" "$dir/stage/opt/tests/vecadd" "$dir/least/opt/"
printf '#!/bin/sh\nexit 101\n' >"$dir/least/usr/sbin/policy-rc.d" && chmod 755 "$dir/least/usr/sbin/policy-rc.d"
mount --bind /proc "$dir/least/proc" && mount --bind /dev "$dir/least/dev"
trap 'umount "$dir/least/proc" "$dir/least/dev"; cleanup' EXIT
in_least() { chroot "$dir/least" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" >"$dir/log" 2>&1; }
cp /etc/resolv.conf "$dir/least/etc/"
in_least sh -c 'apt-get install -y --no-install-recommends /opt/*.deb' && ok "apt installs them in a minimal Debian 12" || fail "apt: $(tail -n 20 "$dir/log")"
in_least /usr/bin/vgpu run --private --memory 256M -- /opt/vecadd && ok "a program runs there" || fail "vgpu run: $(cat "$dir/log")"
in_least sh -c 'ldconfig -p | grep -q /usr/lib/vgpu/libcuda.so.1' && ok "the loader has our libcuda.so.1" || fail "ldconfig"
in_least sh -c 'apt-get purge -y vgpu libcuda-lite libcuda-lite-dev libcuda-lite-system && ! find / -xdev -iname "*vgpu*" -not -path "/proc/*" -not -path "/opt/*" | grep .' &&
	ok "purged there without a trace" || fail "left: $(tail -n 5 "$dir/log")"
