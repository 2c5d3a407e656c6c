#!/bin/bash
# SPDX-License-Identifier: MIT
# vgpu nvlink: what ptxas -c of ours wrote becomes one file that every loader takes; words and exit status are those of NVIDIA's
# nvlink 13.1, and so are names, sizes and values of variables in what it writes (LLVM's OpenMP reads them there).
# Usage: tests/system/nvlink.sh BUILD
. "$(dirname "$0")/lib.sh"
P=$B/lib/vgpu/bin/ptxas
L=$B/lib/vgpu/bin/nvlink
failed=0
say() { # NAME CONDITION...
	local name=$1
	shift
	if "$@" >"$dir/out" 2>&1; then echo "ok $name"; else echo "FAIL $name $(tail -2 "$dir/out" | tr '\n' ' ')"; failed=1; fi
}
said() { # STATUS TEXT ARGUMENTS...
	local st=$1 text=$2
	shift 2
	"$L" "$@" >"$dir/e" 2>&1
	[ $? = "$st" ] || { echo "not $st"; cat "$dir/e"; return 1; }
	[ -z "$text" ] || grep -qF -e "$text" "$dir/e" || { echo "no '$text' in:"; cat "$dir/e"; return 1; }
}
cd "$dir" || exit
cat >main.ptx <<'K'
.version 6.0
.target sm_61
.address_size 64
.extern .func (.param .b32 r) other(.param .b32 v);
.extern .global .align 4 .u32 base;
.visible .const .align 4 .u32 cc[2] = {17, 34};
.visible .global .align 4 .b8 none[12];
.visible .global .align 8 .u64 where = generic(none);
.visible .global .align 8 .u64 row[3] = {4295098368, 0, 5};
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.param .b32 v;
	.param .b32 w;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	st.param.b32 [v], %r1;
	call (w), other, (v);
	ld.param.b32 %r2, [w];
	ld.global.u32 %r3, [base];
	add.u32 %r2, %r2, %r3;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r2;
	ret;
}
K
cat >other.ptx <<'K'
.version 6.4
.target sm_60
.address_size 64
.visible .global .align 4 .u32 base = 1000;
.visible .func (.param .b32 r) other(.param .b32 v)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [v];
	mul.lo.u32 %r2, %r1, 7;
	st.param.b32 [r], %r2;
	ret;
}
K
for f in main other; do "$P" -c -arch sm_61 -o $f.cubin $f.ptx || failed=1; done
say linked said 0 '' -arch sm_61 -o whole.cubin -m64 -L "$dir" main.cubin other.cubin
say undefined said 255 "nvlink error   : Undefined reference to 'other' in 'main.cubin'" -arch sm_61 -o x main.cubin
say writes_nothing [ ! -e x ]
say no_arch said 255 "nvlink fatal   : Unknown arch name '(null)'" -o x main.cubin
say no_output said 255 "nvlink fatal   : Must specify output file with -o option" -arch sm_61 main.cubin other.cubin
say no_input said 255 "nvlink fatal   : No input files specified" -arch sm_61 -o x
say version said 0 'Cuda compilation tools, release 12.8' --version
ar rc libmore.a other.cubin
say library said 0 '' -arch=sm_61 -o more.cubin main.cubin -L"$dir" -lmore
say no_library said 255 "Undefined reference to 'other'" -arch=sm_61 -o x main.cubin -L"$dir" -lnone
# what the device does not have is told here
sed 's/mul.lo.u32 %r2, %r1, 7;/tcgen05.wait::ld.sync.aligned;/; s/sm_60/sm_100a/; s/version 6.4/version 8.6/' other.ptx >bad.ptx
"$P" -c -arch sm_100a -o bad.cubin bad.ptx
say lacking said 255 "in kernel 'k'" -arch sm_100a -o x main.cubin bad.cubin
say lacking_named grep -q 'nvlink .*error   : .*tcgen05' e
# without our note it is NVIDIA's
python3 -c 'import sys; b = bytearray(open("main.cubin", "rb").read()); b[64:84] = bytes(20); open("theirs.cubin", "wb").write(b)'
say cubin_refused said 255 'theirs.cubin: a cubin (machine code of one GPU)' -arch sm_61 -o x theirs.cubin

if command -v readelf >/dev/null; then
	readelf -sSW whole.cubin >elf 2>elf.err
	say readelf_clean [ ! -s elf.err ]
	symbols() { [ "$(awk '$4 == "OBJECT" || $4 == "FUNC" && $8 == "k" { print $8, $4 == "FUNC" ? "" : $3 }' elf | sort | tr -s ' \n' ' ')" = "base 4 cc 8 k none 12 row 24 where 8 " ]; }
	say symbols symbols
fi
# ELF by hand: the values, and an address is 0 until it is loaded
cat >values.py <<'P'
import struct, sys
b = open("whole.cubin", "rb").read()
shoff, shnum = struct.unpack_from("<Q", b, 40)[0], struct.unpack_from("<H", b, 60)[0]
sections = [struct.unpack_from("<IIQQQQIIQQ", b, shoff + 64 * i) for i in range(shnum)]
table = next(s for s in sections if s[1] == 2)
got = {}
for at in range(table[4], table[4] + table[5], 24):
    name, info, other, index, value, size = struct.unpack_from("<IBBHQQ", b, at)
    name = b[sections[table[6]][4] + name:].split(b"\0")[0].decode()
    if info & 15 == 1:
        s = sections[index]
        got[name] = None if s[1] == 8 else b[s[4] + value:s[4] + value + size]
want = {"base": struct.pack("<I", 1000), "cc": struct.pack("<II", 17, 34), "none": None, "where": bytes(8), "row": struct.pack("<QQQ", 4295098368, 0, 5)}
sys.exit(0 if got == want else f"{got}")
P
say values python3 values.py
again() { "$L" -arch sm_61 -o again.cubin main.cubin other.cubin && cmp whole.cubin again.cubin; }
say same_again again
cat >load.py <<'P'
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
c = ctypes.c_void_p
def ok(r, what):
    if r: sys.exit(f"{what}: {r}")
ok(cu.cuInit(0), "cuInit")
ctx, m, f, mem, p, n = c(), c(), c(), ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_size_t()
ok(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0), "retain"); ok(cu.cuCtxSetCurrent(ctx), "current")
ok(cu.cuMemAlloc_v2(ctypes.byref(mem), ctypes.c_size_t(64)), "alloc")
ok(cu.cuModuleLoad(ctypes.byref(m), sys.argv[1].encode()), "load")
ok(cu.cuModuleGetFunction(ctypes.byref(f), m, b"k"), "function")
a = (c * 1)(ctypes.cast(ctypes.byref(mem), c))
ok(cu.cuLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, None, a, None), "launch")
out = (ctypes.c_uint32 * 8)()
ok(cu.cuMemcpyDtoH_v2(out, mem, ctypes.c_size_t(32)), "copy")
if list(out) != [1000 + 7 * i for i in range(8)]: sys.exit(str(list(out)))
where = ctypes.c_uint64()
ok(cu.cuModuleGetGlobal_v2(ctypes.byref(p), ctypes.byref(n), m, b"where"), "where"); ok(cu.cuMemcpyDtoH_v2(ctypes.byref(where), p, n), "copy")
ok(cu.cuModuleGetGlobal_v2(ctypes.byref(p), ctypes.byref(n), m, b"none"), "none")
if where.value != p.value: sys.exit("where")
P
for f in whole more; do say "runs_$f" "$V/vgpu" run --private -- python3 load.py $f.cubin; done
exit $failed
