#!/bin/sh
# SPDX-License-Identifier: MIT
# A protocol that was released stays as it is: wire/N.txt is the text of both contracts, without comments, when a release with protocol N
# went out; while VGPU_PROTOCOL_VERSION is N the headers say the same. Who changes them raises the number (fw-protocol/README.md, "Versions").
#   tests/abi/test_wire.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
#   tests/abi/test_wire.sh --record      with a release: writes that file
set -eu
cd "$(dirname "$0")/../.."
N=$(sed -n 's/^#define VGPU_PROTOCOL_VERSION \([0-9]*\)$/\1/p' fw-protocol/vgpu_version.h)
kept=tests/abi/wire
wire() { # wire FOLDER
	for f in vgpu_status.h vgpu_cmd.h vgpu_ops.def vgpu_client.h vgpu_device.h; do
		echo "== $f"
		gcc -fpreprocessed -dD -E -P -x c "$1/$f" | sed 's/[[:space:]]\{1,\}/ /g; s/^ //' | grep -v '^#include\|^$'
	done
}
if [ "${1:-}" = --record ]; then
	mkdir -p $kept
	wire fw-protocol >$kept/"$N.txt"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
wire fw-protocol >"$dir/now"
[ "$(grep -c . "$dir/now")" -gt 400 ] || { echo "FAIL the headers were not read"; exit 1; }

# what this would catch: a field that grows, one command more between others, a constant; and that comments are nobody's matter
mutant() { # mutant FILE SED
	rm -rf "$dir/m"
	cp -r fw-protocol "$dir/m"
	sed -i "$2" "$dir/m/$1"
	! cmp -s "fw-protocol/$1" "$dir/m/$1" || { echo "FAIL '$2' changes nothing in $1"; exit 1; }
	wire "$dir/m" | cmp -s - "$dir/now"
}
! mutant vgpu_client.h 's/uint64_t window_quota, memory_quota;/uint32_t window_quota, memory_quota;/' || { echo "FAIL a narrower field is not seen"; exit 1; }
! mutant vgpu_device.h 's/VGPU_ADMIN_SET_RUN,/VGPU_ADMIN_NEW, VGPU_ADMIN_SET_RUN,/' || { echo "FAIL a command more is not seen"; exit 1; }
! mutant vgpu_cmd.h 's/^#define VGPU_MAX_STREAMS .*/#define VGPU_MAX_STREAMS 2048u/' || { echo "FAIL a constant is not seen"; exit 1; }
mutant vgpu_device.h 's/^ \* Contract 2/ * The second contract/' || { echo "FAIL a comment counts"; exit 1; }

if [ ! -e "$kept/$N.txt" ]; then
	echo "protocol $N has not been released: nothing holds it yet"
	exit 0
fi
diff -u "$kept/$N.txt" "$dir/now" && exit 0
echo "FAIL protocol $N was released, and its layouts differ now: raise VGPU_PROTOCOL_VERSION, and VGPU_PROTOCOL_OLDEST where $N cannot be spoken any more"
exit 1
