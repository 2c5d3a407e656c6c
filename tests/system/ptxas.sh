#!/bin/bash
# SPDX-License-Identifier: MIT
# vgpu ptxas, and what it writes: options and messages in ptxas's form, the container as readelf sees it, every loader that
# takes it, NVIDIA's cubins refused by name, damaged ones refused.
# Usage: tests/system/ptxas.sh BUILD
. "$(dirname "$0")/lib.sh"
P=$B/lib/vgpu/bin/ptxas
failed=0
say() { # NAME CONDITION...
	local name=$1
	shift
	if "$@" >"$dir/out" 2>&1; then echo "ok $name"; else echo "FAIL $name $(tail -2 "$dir/out" | tr '\n' ' ')"; failed=1; fi
}
has() { grep -q -e "$1" "$2" || { echo "no '$1' in:"; cat "$2"; return 1; }; }

cat >"$dir/k" <<'K'
.version 9.9
.target sm_61
.address_size 64
// .entry comment
.visible .global .align 4 .u32 g[2] = {7, 8};
.visible .entry three(.param .u64 out)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<3>;
	.shared .align 4 .b32 s[40];
	ld.param.u64 %rd1, [out];
	ld.global.u32 %r1, [g+4];
	mov.u32 %r2, %tid.x;
	st.shared.u32 [s], %r1;
	mad.lo.u32 %r3, %r2, 3, %r1;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r3;
	ret;
}
.visible .entry second()
{
	ret;
}
K
version() { "$P" --version >"$dir/v" && has 'release 12.8, V12.8' "$dir/v" && "$P" --vgpu-version=12.4 --version >"$dir/v" && has 'release 12.4' "$dir/v" &&
	VGPU_PTXAS_RELEASE=11.8 "$P" -V >"$dir/v" && has 'release 11.8, V11.8' "$dir/v"; }
say version version
# an input without suffix; options in all their forms
options() { "$P" -v -m64 -O3 --gpu-name=sm_61 --maxrregcount 14 -lineinfo --fmad=false "$dir/k" -o "$dir/k.cubin" 2>"$dir/e" &&
	has "Compiling entry function 'three' for 'sm_61'" "$dir/e" && has 'bytes stack frame, 0 bytes spill stores' "$dir/e" &&
	has 'Used [0-9]* registers, 160 bytes smem' "$dir/e" && has '8 bytes gmem' "$dir/e"; }
say options options
said() { # STATUS TEXT ARGUMENTS...
	local st=$1 text=$2
	shift 2
	"$P" "$@" >"$dir/e" 2>&1
	[ $? = "$st" ] || { cat "$dir/e"; return 1; }
	[ -z "$text" ] || has "$text" "$dir/e"
}
sed 's/mad.lo/mud.lo/' "$dir/k" >"$dir/bad.ptx"
say error said 255 "bad.ptx, line 15; error   : .*mud" -arch sm_61 -o "$dir/x" "$dir/bad.ptx"
[ ! -e "$dir/x" ] && echo "ok error_writes_nothing" || { echo "FAIL error_writes_nothing"; failed=1; }
say error_aborts has 'ptxas fatal   : Ptx assembly aborted due to errors' "$dir/e"
# legal, and not there: the instruction's name, at compile time
sed 's/sm_61/sm_100a/; s/mov.u32 %r2, %tid.x;/mov.u32 %r2, %tid.x; tcgen05.wait::ld.sync.aligned;/' "$dir/k" >"$dir/t.ptx"
say lacking said 255 "error   : .*tcgen05" -arch=sm_100a -o "$dir/x" "$dir/t.ptx"
say architecture said 255 "Value 'sm_60x' is not defined for option 'gpu-name'" -arch=sm_60x -o "$dir/x" "$dir/k"
say target said 255 "Program with .target 'sm_61' cannot be compiled to architecture 'sm_60'" -arch=sm_60 -o "$dir/x" "$dir/k"
# gcc has its code for nvptx looked at by the ptxas that it finds
sed 's/sm_61/sm_35/' "$dir/k" >"$dir/o.ptx"
say older said 0 '' -c -o /dev/null "$dir/o.ptx" --gpu-name sm_35 -O0
say oldest said 255 "Value 'sm_13' is not defined for option 'gpu-name'" -arch=sm_13 -o "$dir/x" "$dir/k"
say unknown said 255 "Unknown option '--no-such'" --no-such
say missing said 255 "Could not open input file '$dir/none'" "$dir/none"
say no_entry said 255 "Entry function 'four' not found" -e four -arch=sm_61 -o "$dir/x" "$dir/k"
say string said 0 '' -arch=sm_61 -o "$dir/s.cubin" -ias "$(cat "$dir/k")"
if command -v readelf >/dev/null; then
	readelf -hSsW "$dir/k.cubin" >"$dir/elf" 2>"$dir/elf.err"
	say readelf has 'NVIDIA CUDA architecture' "$dir/elf"
	say readelf_symbols has ' FUNC .* three$' "$dir/elf"
	say readelf_sections has ' .vgpu.ptx ' "$dir/elf"
	[ ! -s "$dir/elf.err" ] && [ "$(grep -c FUNC "$dir/elf")" = 2 ] && echo "ok readelf_clean" || { echo "FAIL readelf_clean"; failed=1; }
else
	echo "skip readelf binutils is not here"
fi
say check "$V/vgpu" check "$dir/k.cubin"

cat >"$dir/load.py" <<'P'
import ctypes, struct, sys, os
cu = ctypes.CDLL("libcuda.so.1")
path = sys.argv[1]
data = open(path, "rb").read()
c = ctypes.c_void_p
def ok(r, what):
    if r: sys.exit(f"FAIL {what} {r}")
ok(cu.cuInit(0), "cuInit")
ctx, dev = c(), ctypes.c_int()
ok(cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0), "retain"); ok(cu.cuCtxSetCurrent(ctx), "current")
mem = ctypes.c_uint64()
ok(cu.cuMemAlloc_v2(ctypes.byref(mem), ctypes.c_size_t(64)), "alloc")
def run(fn, what):
    p = (c * 1)(ctypes.cast(ctypes.byref(mem), c))
    ok(cu.cuMemsetD32_v2(mem, 0, ctypes.c_size_t(8)), "memset")
    ok(cu.cuLaunchKernel(fn, 1, 1, 1, 8, 1, 1, 0, None, p, None), what)
    out = (ctypes.c_uint32 * 8)()
    ok(cu.cuMemcpyDtoH_v2(out, mem, ctypes.c_size_t(32)), what)
    print("ok" if list(out) == [8 + 3 * i for i in range(8)] else "FAIL", what)
def module(what, load):
    m, f = c(), c()
    ok(load(ctypes.byref(m)), what)
    ok(cu.cuModuleGetFunction(ctypes.byref(f), m, b"three"), what)
    run(f, what)
    ok(cu.cuModuleUnload(m), what)
def library(what, load):
    l, k, f = c(), c(), c()
    ok(load(ctypes.byref(l)), what)
    ok(cu.cuLibraryGetKernel(ctypes.byref(k), l, b"three"), what)
    ok(cu.cuKernelGetFunction(ctypes.byref(f), k), what)
    run(f, what)
def fatbin(kind, payload, arch):
    payload += b"\0" * (-len(payload) % 8)
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), 0, 0, 4, 8, arch, 0, 0, 0x11, 0, 0)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, 64 + len(payload)) + head + payload
N = None
def registers(what, image, most):
    m, f, v = c(), c(), ctypes.c_int()
    ok(cu.cuModuleLoadData(ctypes.byref(m), image), what); ok(cu.cuModuleGetFunction(ctypes.byref(f), m, b"three"), what)
    ok(cu.cuFuncGetAttribute(ctypes.byref(v), 4, f), what)
    print("ok" if 0 < v.value <= most else "FAIL", what, "" if v.value <= most else v.value)
registers("maxrregcount", data, 14)
registers("maxnreg", open(sys.argv[2], "rb").read().replace(b"three(.param .u64 out)", b"three(.param .u64 out) .maxnreg 15") + b"\0", 15)
module("load_file", lambda m: cu.cuModuleLoad(m, path.encode()))
module("load_data", lambda m: cu.cuModuleLoadData(m, data))
module("load_data_ex", lambda m: cu.cuModuleLoadDataEx(m, data, 0, N, N))
module("load_fatbin", lambda m: cu.cuModuleLoadFatBinary(m, fatbin(2, data, 61)))
library("library_data", lambda l: cu.cuLibraryLoadData(l, data, N, N, 0, N, N, 0))
library("library_file", lambda l: cu.cuLibraryLoadFromFile(l, path.encode(), N, N, 0, N, N, 0))
library("library_fatbin", lambda l: cu.cuLibraryLoadData(l, fatbin(2, data, 61), N, N, 0, N, N, 0))
m = c()
def refused(what, image, want):
    r = cu.cuModuleLoadData(ctypes.byref(m), image)
    print("ok" if r == want else "FAIL", what, "" if r == want else r)
real = bytearray(data); real[64:84] = bytes(20)       # without our note: NVIDIA's
refused("cubin_refused", bytes(real), 209)
refused("cubin_in_fatbin_refused", fatbin(2, bytes(real), 61), 209)
bad = bytearray(data); bad[64 + 20 + 72:64 + 20 + 80] = struct.pack("<Q", len(data))   # the text begins behind the end
refused("damaged_refused", bytes(bad), 200)
open(path + ".cut", "wb").write(data[:-100])
r = cu.cuModuleLoad(ctypes.byref(m), (path + ".cut").encode())
print("ok" if r == 200 else "FAIL", "cut_file_refused", "" if r == 200 else r)
P
"$V/vgpu" run --private -- python3 "$dir/load.py" "$dir/k.cubin" "$dir/k" 2>"$dir/e" || failed=1
say cubin_named has 'cubin (machine code of one GPU)' "$dir/e"
exit $failed
