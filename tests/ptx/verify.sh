#!/bin/bash
# SPDX-License-Identifier: MIT
# A fault of mutants/known.txt (setp-k7) built into the JIT: verify has to tell the kernel and the line that show it.
# usage: verify.sh BUILD
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 2
dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-test-XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
cpu=tools/vgpu-stub/cpu
python3 - "$dir/jit_setp.c" <<'PY' || exit 1
import sys
t = open("tests/ptx/mutants/known.txt").read().split("== setp-k7")[1].split("\n== ")[0]
old, new = t.split("-- old\n")[1].split("-- new\n")
s = open("tools/vgpu-stub/cpu/jit_setp.c").read()
if s.count(old[:-1]) != 1:
    sys.exit("the fault's text stands there no more")
open(sys.argv[1], "w").write(s.replace(old[:-1], new.rstrip("\n")))
PY
"${CC:-gcc}" -O1 -std=gnu11 -w -fno-strict-aliasing -ffp-contract=off -frounding-math -D_GNU_SOURCE -DVGPU_NO_LIBCPUID -iquote $cpu \
	-Ifw-protocol -Iagent -Ilibcuda-lite/include -I$cpu -c -o "$dir/jit_setp.o" "$dir/jit_setp.c" &&
	"${CC:-gcc}" -o "$dir/ptxrun" "$B/obj/plain/tests/ptx/ptxrun.o" "$dir/jit_setp.o" \
		$(ls "$B"/obj/stub/$cpu/*.o "$B"/obj/stub/$cpu/strip/*.o "$B"/obj/plain/fw-protocol/vgpu_cubin.o | grep -v /jit_setp.o) -llz4 -lzstd -lm -lpthread || exit 1
grep -q avx512f /proc/cpuinfo || { echo "no AVX-512: no JIT to be wrong"; exit 77; }
out=$("$dir/ptxrun" -m verify tests/ptx/cases/*setp*.ptx 2>&1) && { echo "nothing was found"; exit 1; }
grep -q 'Verify: kernel least writes another value on the JIT' <<<"$out" && grep -q 'at least, PTX line 33: st.global.u32' <<<"$out" &&
	grep -q 'JIT 0x00000000, interpreter 0x00000006' <<<"$out" || { head -20 <<<"$out"; exit 1; }
echo "the planted fault is told: $(grep -m1 'PTX line' <<<"$out")"
