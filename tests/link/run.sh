#!/bin/bash
# SPDX-License-Identifier: MIT
# The linker of PTX behind cuLink* and libnvJitLink, case by case; NVIDIA's own nvJitLink says of each whether it links, where
# PyPI has brought it (build/languages/numba).
# Usage: tests/link/run.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
for theirs in "$B"/languages/numba/lib/python3*/site-packages/nvidia/cu13/lib/libnvJitLink.so.13; do :; done
if [ ! -e "$theirs" ]; then
	theirs=
	echo "skip nvidia libnvJitLink is not there: tests/languages/run.sh numba fetches it"
fi
VGPU_TURN=0 "$B/bin/vgpu" run --cc 7.5 -- python3 "$here/run.py" "$B/lib" $theirs 2>/dev/null
