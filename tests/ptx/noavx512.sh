#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On a processor that has no AVX-512 nothing may be executed that wants it, and a machine that has it does not notice: gcc once kept an argument
# in xmm16 in a function that all code passes. So: which objects of the device have such instructions at all, and cases of
# the engine on qemu's processor, which has AVX2 and traps on anything newer.
#
#   tests/ptx/noavx512.sh BUILD
set -u
B=$1
here=$(cd "$(dirname "$0")" && pwd)
bad=

# what only a table chosen by CPUID leads to, and values of code for AVX-512
allowed=' lanes_avx512.o product_avx512.o gemm_avx512.o jit_frame.o '
found=0
while read -r o; do
	objdump -d --no-show-raw-insn "$o" | grep -qE '%zmm|%k[1-7]\b|%[xy]mm(1[6-9]|2[0-9]|3[01])' || continue
	found=$((found + 1))
	case $allowed in
	*" ${o##*/} "*) ;;
	*) echo "${o#"$B/"} has instructions of AVX-512"; bad=1 ;;
	esac
done < <(find "$B/obj/stub" "$B/obj/lib" "$B/obj/agent" -name '*.o')
[ "$found" -ge 3 ] || { echo "objdump found AVX-512 in $found objects: this test no longer sees any"; bad=1; }
[ -z "$bad" ] || exit 1

command -v qemu-x86_64 >/dev/null || { echo "no qemu-x86_64 (Debian: qemu-user)"; exit 77; }
for c in cf_lanes_part bar_divergent func_shared warp_reads_once; do set -- "$@" "$here/cases/$c.ptx"; done
shift
out=$(qemu-x86_64 -cpu max,avx512f=off "$B/test/ptx/plain/ptxrun" -m jit -g 4 "$@" 2>&1) || { echo "$out"; exit 1; }
echo "$out" | tail -1
