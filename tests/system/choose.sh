#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu run gives its private device the compute capability that the command's GPU code wants, and says so.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT
export XDG_RUNTIME_DIR=$dir
CC=${CC:-cc}
w=$dir/w
mkdir -p "$w/beside" "$w/up"
cat >"$w/cc.c" <<'C'
#include <cuda.h>
#include <stdio.h>
int main(void)
{
	int major = 0, minor = 0;

	if (cuInit(0) || cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) ||
	    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0))
		return 1;
	printf("%d.%d\n", major, minor);
	return 0;
}
C
# fatbin NAME ARCH...: an assembler file with one fat binary for each ARCH, or several in one, as in 61,75; each begins as $head says
head=
fatbin() {
	local name=$1 a b args
	shift
	printf '.section .nv_fatbin,"a"\n' >"$w/$name.S"
	for a in "$@"; do
		args=()
		for b in ${a//,/ }; do
			printf '.version 8.0\n.target sm_%s\n.address_size 64\n%s\n.visible .entry k() { ret; }\n' "$b" "$head" >"$w/$b.ptx"
			args+=("$b:$w/$b.ptx")
		done
		"$B/e2e/mkfatbin" -o "$w/$name.$a" "${args[@]}" || exit 1
		printf '.balign 8\n.incbin "%s"\n' "$w/$name.$a" >>"$w/$name.S"
	done
	printf '.section .note.GNU-stack,"",@progbits\n' >>"$w/$name.S"
}
program() { $CC -I"$(dirname "$0")/../../libcuda-lite/include" -o "$w/$1" "$w/cc.c" ${2:+"$w/$2.S"} "$B/lib/libcuda.so.1" ${3:-} || exit 1; }

program none
# is NAME CC COMMAND...: the device has it, and where that is not the default one line says it
is() {
	local name=$1 want=$2 got
	shift 2
	got=$("$V/vgpu" run --private -- "$@" 2>"$dir/err")
	if [ "$got" != "$want" ]; then
		fail "$name: ${got:-none}, want $want ($(cat "$dir/err"))"
	elif [ "$want" = 6.1 ] && [ -s "$dir/err" ]; then
		fail "$name: $(cat "$dir/err")"
	elif [ "$want" != 6.1 ] && { ! grep -q "^vgpu: device of compute capability $want, by .*--cc overrides" "$dir/err" || [ "$(wc -l <"$dir/err")" != 1 ]; }; then
		fail "$name: not said, or not in one line: $(cat "$dir/err")"
	else
		ok "$name: $want"
	fi
}
is "no GPU code" 6.1 "$w/none"
for t in 75:7.5 52:6.1 61:6.1 61,75,120:6.1 80,90:8.0 90:9.0 100:10.0 103:10.3 110:11.0 120:12.0 121:12.1 53,101:6.1; do
	fatbin f "${t%:*}"
	program p f
	is "PTX for ${t%:*}" "${t#*:}" "$w/p"
done
fatbin f 61,75 90 80,100
program p f
is "fat binaries of different kinds: where all run" 9.0 "$w/p"
is "behind another program" 9.0 timeout 60 "$w/p"
printf '#!%s\n' "$w/p" >"$w/script" && chmod +x "$w/script"
is "behind a script" 9.0 "$w/script"
fatbin l 103
$CC -shared -fPIC -o "$w/up/libup.so" "$w/l.S" && program linked "" "-L$w/up -Wl,--no-as-needed -lup -Wl,-rpath,$w/up"
is "in a library that it is linked with" 10.3 "$w/linked"
fatbin l 86
$CC -shared -fPIC -o "$w/beside/libbeside.so" "$w/l.S" && cp "$w/none" "$w/beside/prog"
is "in a library beside it" 8.6 "$w/beside/prog"
# NVIDIA's libcudadevrt, which nvcc links in for the highest device of its release, is none of the program's
fatbin own 80
head='.extern .func (.param .b32 r) cnpLaunchDevice (.param .b64 a);' fatbin devrt 121
cat "$w/own.S" "$w/devrt.S" >"$w/both.S"
program p both
is "beside NVIDIA's libcudadevrt" 8.0 "$w/p"
fatbin other 121
cat "$w/own.S" "$w/other.S" >"$w/both.S"
program p both
is "beside anything else" 12.1 "$w/p"
# an interpreter
ln -s "$w/none" "$w/python3.99"
is "Python" 7.5 "$w/python3.99"
got=$("$V/vgpu" run --cc 8.9 -- "$w/p" 2>"$dir/err")
[ "$got" = 8.9 ] && [ ! -s "$dir/err" ] && ok "--cc overrides" || fail "--cc: $got $(cat "$dir/err")"
"$V/vgpu" run -v --private -- "$w/none" 2>&1 | grep -q "^vgpu: device of compute capability 6.1, by the default" && ok "-v says the default too" || fail "-v says nothing"

# a device that is too low: the line names the one that does. Nothing above the device's capability is ever loaded.
cat >"$dir/load.py" <<'PY'
import ctypes, sys
c = ctypes.CDLL("libcuda.so.1")
ctx, m = ctypes.c_void_p(), ctypes.c_void_p()
assert c.cuInit(0) == 0 and c.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0) == 0 and c.cuCtxSetCurrent(ctx) == 0
print(c.cuModuleLoadData(ctypes.byref(m), open(sys.argv[1], "rb").read() + b"\0"))
PY
printf '.version 9.0\n.target sm_100f\n.address_size 64\n.visible .entry k() { ret; }\n' >"$w/100f.ptx"
load() {        # NAME CC FILE ERROR PATTERN
	local got
	got=$("$V/vgpu" run --private --cc "$2" -- python3 "$dir/load.py" "$w/$3" 2>"$dir/err")
	[ "$got" = "$4" ] && { [ -z "$5" ] || grep -q "$5" "$dir/err"; } && ok "$1" || fail "$1: $got $(cat "$dir/err")"
}
load "a fat binary for a newer device names it" 7.5 f.90 209 'vgpu run --cc 9.0$'
load "PTX text for a newer device names it" 6.1 75.ptx 209 'on one of 7.5 it runs: vgpu run --cc 7.5$'
load "PTX for a device that none is, the next one" 6.1 101.ptx 209 'vgpu run --cc 10.3$'
load "PTX for a family runs on its later members" 10.3 100f.ptx 0 ''
load "and on no other" 12.0 100f.ptx 209 'PTX for sm_100f'
