#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that carry NVIDIA's cudart inside, built by nvcc with its defaults: under vgpu run, and by LD_AUDIT alone, they run on
# our libcudart, and nothing of the one inside ever runs.
. "$(dirname "$0")/../system/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT
export XDG_RUNTIME_DIR=$dir
here=$(cd "$(dirname "$0")" && pwd)
why=$("$here/../../tools/toolkit/fetch.sh" "$B/nvcc" | tail -n 1) || { echo "${why:-no nvcc}"; exit 77; }
nvcc=$B/nvcc/bin/nvcc
. "$here/../nvcc/lib.sh"
w=$B/turn
mkdir -p "$w"
# built FILE SOURCE OPTION...
built() {
	local out=$w/$1 src=tests/turn/$2
	shift 2
	(cd "$here/../.." && nvcc_make "$out" "$src" "$@" "$src") >"$dir/nvcc.log" 2>&1 || { fail "nvcc: $(tail -n 3 "$dir/nvcc.log")"; exit 1; }
}
built work work.cu
built fixed work.cu -Xcompiler -fno-pie -Xlinker -no-pie
built hard work.cu -Xcompiler -fcf-protection=full -Xlinker -z,relro,-z,now
built threads work.cu -default-stream per-thread
built libwork.so work.cu -DLIBRARY -shared -Xcompiler -fPIC
cc -O1 -o "$w/library" "$here/library.c" -ldl -lpthread || exit 1
# some linkers' .eh_frame is among what is written to
printf '.section .eh_frame, "aw", @progbits\n.section .note.GNU-stack, "", @progbits\n' >"$w/writable.s" && cc -c -o "$w/writable.o" "$w/writable.s" || exit 1
built writable work.cu "${w#"$(cd "$here/../.." && pwd)/"}/writable.o"
for p in work fixed hard threads writable libwork.so; do strip -o "$w/stripped-$p" "$w/$p"; done
# as one of 12.6 or before: the name is not where it is looked for
sed 's/__cudaInitModule/__cudaInitModul_/g' "$w/stripped-work" >"$w/blind" && chmod +x "$w/blind"
cc -std=gnu11 -O1 -Wall -Wextra -o "$w/found" "$here/found.c" "$here/../../libcuda-lite/turn/carried.c" "$here/../../libcuda-lite/turn/stripped.c" || exit 1

# A runtime 11, which PyPI's nvcc does not bring: its names, each a function that traps, between two of the names that only the static
# library has. 11's are those of 12 without the renamed one, and with the references to textures.
trapping() { # NAME...
	printf '.text\n.balign 16\n'
	for f in __cudart1 "$@" __cudart2; do
		printf '.globl %s\n.type %s, @function\n%s: .fill 64, 1, 0xcc\n.size %s, 64\n' "$f" "$f" "$f" "$f"
	done
	printf '.section .note.GNU-stack, "", @progbits\n'
}
# shellcheck disable=SC2046
trapping $(grep -vx cudaGetDeviceProperties_v2 "$here/../abi/cudart12.txt") cudaGetTextureReference cudaBindTexture cudaBindTexture2D cudaBindTextureToArray \
	cudaBindSurfaceToArray cudaGetSurfaceReference cudaGetTextureAlignmentOffset cudaUnbindTexture __cudaRegisterTexture __cudaRegisterSurface >"$w/eleven.s"
# shellcheck disable=SC2046
trapping $(cat "$here/../abi/cudart13.txt") cudaCallOfTomorrow cudaAnotherOne >"$w/lacks.s"
cc -std=gnu11 -O1 -Wall -Wextra -o "$w/lacks" "$here/lacks.c" "$w/lacks.s" || exit 1
cc -std=gnu11 -O1 -Wall -Wextra -o "$w/eleven" "$here/eleven.c" "$w/eleven.s" || exit 1
grep -v 'cudaCtxResetPersistingL2Cache' "$w/eleven.s" >"$w/ten.s"
cc -std=gnu11 -O1 -o "$w/ten" "$here/eleven.c" "$w/ten.s" || exit 1

start_stub --cc 7.5
start_agent
right() {       # NAME COMMAND...
	local name=$1 st
	shift
	"$@" >"$dir/out" 2>"$dir/err"; st=$?
	[ $st = 0 ] && grep -q '^right$' "$dir/out" && [ "$(grep -c '^device says 4[01]$' "$dir/out")" -ge 2 ] && [ ! -s "$dir/err" ] && ok "$name" ||
		fail "$name: status $st: $(cat "$dir/out" "$dir/err")"
}
run=("$V/vgpu" run --)
right "nvcc's default" "${run[@]}" "$w/work"
right "not position-independent" "${run[@]}" "$w/fixed"
right "hardened: landing pads, RELRO, bound at once" "${run[@]}" "$w/hard"
right "a default stream per thread" "${run[@]}" "$w/threads"
right "started through the loader" "${run[@]}" /lib64/ld-linux-x86-64.so.2 "$w/work"
right "bound at once by environment" env LD_BIND_NOW=1 "${run[@]}" "$w/work"
right "a library of its own, opened, closed and opened again" "${run[@]}" "$w/library" "$w/libwork.so"
right "by one line of environment, without vgpu run" env LD_AUDIT="$B/lib/libvgpu-turn.so" "$w/work"
right "the same for a library" env LD_AUDIT="$B/lib/libvgpu-turn.so" "$w/library" "$w/libwork.so"
for p in work fixed hard threads writable; do
	right "stripped: $p" "${run[@]}" "$w/stripped-$p"
done
right "stripped: a library, opened, closed and opened again" "${run[@]}" "$w/library" "$w/stripped-libwork.so"
right "stripped, by one line of environment" env LD_AUDIT="$B/lib/libvgpu-turn.so" "$w/stripped-work"
# what is found without symbols is what the symbols say, to the last of them
for p in work fixed hard threads writable libwork.so; do
	said=$("$w/found" "$w/$p" "$w/stripped-$p" 2>&1) && ok "found without symbols, $p: $said" || fail "without symbols, $p: $said"
done
# another auditor beside it
printf 'unsigned la_version(unsigned v) { return v; }\n' >"$dir/la.c" && cc -shared -fPIC -o "$dir/la.so" "$dir/la.c"
right "beside another audit library" env LD_AUDIT="$dir/la.so" "${run[@]}" "$w/work"

# eleven PROGRAM WHAT: the program of CUDA 11, by either way
eleven() {
	local how start st
	for how in "vgpu run" LD_AUDIT; do
		[ "$how" = LD_AUDIT ] && start=(env LD_AUDIT="$B/lib/libvgpu-turn.so") || start=("${run[@]}")
		"${start[@]}" "$1" >"$dir/out" 2>"$dir/err"; st=$?
		[ $st = 0 ] && [ "$(cat "$dir/out")" = right ] && [ ! -s "$dir/err" ] &&
			ok "$2, by $how" || fail "$2, by $how: status $st: $(cat "$dir/out" "$dir/err")"
	done
}
eleven "$w/eleven" "a runtime 11: what 12 changed is as it was"
# The same program with CUDA 11's shared library, which it has in an RPATH of its own, under its name or as auditwheel renames it: there each
# of its functions traps.
sed 's/\.so\.12/.so.11.0/' "$here/../../linker/libcudart.12.map" >"$w/eleven.map"
for name in libcudart.so.11.0 libcudart-0123abcd.so.11.8.89; do
	mkdir -p "$w/own"
	cc -shared -s -Wl,-soname,$name -Wl,--version-script="$w/eleven.map" -o "$w/own/$name" "$w/eleven.s" &&
		cc -std=gnu11 -O1 -Wall -Wextra -o "$w/needs" "$here/eleven.c" "$w/own/$name" -Wl,--disable-new-dtags,-rpath,"$w/own" || exit 1
	eleven "$w/needs" "$name of its own gives way to ours"
	"$w/needs" >/dev/null 2>&1; st=$?
	[ $st = 133 ] && ok "$name of its own traps otherwise" || fail "$name alone: status $st"
done
cc -std=gnu11 -O1 -Wall -Wextra -o "$w/needs" "$here/eleven.c" "$B/lib/libcudart.so.11.0" -Wl,-rpath-link,"$B/lib" 2>"$dir/ld" || exit 1   # ld sees both, and says so
LD_LIBRARY_PATH=$B/lib "$w/needs" >"$dir/out" 2>"$dir/err" && [ "$(cat "$dir/out")" = right ] && ok "libcudart.so.11.0 by LD_LIBRARY_PATH" ||
	fail "libcudart.so.11.0 by LD_LIBRARY_PATH: $(cat "$dir/out" "$dir/err")"
VGPU_TURN=1 "${run[@]}" "$w/eleven" 2>&1 | grep -q "the CUDA runtime inside, 11, is turned over to our libcudart.so.12$" && ok "VGPU_TURN=1 says that 12's serves 11" ||
	fail "VGPU_TURN=1 and 11"
"$V/vgpu" trace -c -- "$w/eleven" 2>&1 | grep -q '__cuda11_cudaGraphInstantiate' && ok "vgpu trace shows 11's calls" || fail "trace and 11"
"$V/vgpu" doctor -- "$w/eleven" 2>&1 | grep -q '^fail  static cudart: cudart 11 inside, .*turned over by vgpu run$' && ok "doctor knows 11" || fail "doctor and 11"
"${run[@]}" "$w/ten" >"$dir/out" 2>&1; st=$?
[ $st = 133 ] && grep -q 'cannot be turned over to ours: it is older than 11$' "$dir/out" && ok "an older one is left alone, and told" || fail "older: $st $(cat "$dir/out")"

# Nothing of it runs: in these copies every function of the static cudart is int3 throughout.
for p in work fixed hard libwork.so; do
	python3 "$here/trap.py" "$w/$p" "$dir/trap-$p" >"$dir/count" || { fail "trap.py $p"; continue; }
	case $p in
	lib*) right "nothing of the static cudart runs, $p: $(cat "$dir/count")" "${run[@]}" "$w/library" "$dir/trap-$p" ;;
	*) right "nothing of the static cudart runs, $p: $(cat "$dir/count")" "${run[@]}" "$dir/trap-$p" ;;
	esac
done
st=$(env VGPU_TURN=0 bash -c '"$@" >/dev/null 2>&1; echo $?' - "${run[@]}" "$dir/trap-work" 2>/dev/null)
[ $st = 133 ] && ok "and would trap if it did" || fail "not turned over, the copy ends with $st"

# Writable and executable at once: never, nor afterwards. 
cat >"$dir/wx.py" <<'PY'
import subprocess, sys
out = subprocess.run(["strace", "-f", *sys.argv[1:]], capture_output=True, text=True)
bad = [l for l in out.stderr.splitlines() if "PROT_WRITE|PROT_EXEC" in l]
assert "right" in out.stdout, out.stdout + out.stderr[-2000:]
assert not bad, bad
PY
if command -v strace >/dev/null; then
	python3 "$dir/wx.py" -e trace=mprotect,mmap env LD_AUDIT="$B/lib/libvgpu-turn.so" "$w/work" 2>"$dir/err" &&
		ok "no memory is writable and executable at once" || fail "writable code: $(tail -n 3 "$dir/err")"
	python3 "$dir/wx.py" -e trace=mprotect,mmap -e inject=pwrite64:error=EPERM env LD_AUDIT="$B/lib/libvgpu-turn.so" "$w/library" "$w/libwork.so" \
		2>"$dir/err" && ok "nor where the kernel refuses writes through /proc/self/mem" || fail "without /proc/self/mem: $(tail -n 3 "$dir/err")"
else
	skip "no memory is writable and executable at once: strace is not installed"
fi
# without /proc, in a mount namespace of its own
if unshare -rm true 2>/dev/null; then
	printf '#!/bin/sh\nmount -t tmpfs none /proc && exec "$@"\n' >"$dir/noproc" && chmod +x "$dir/noproc"
	VGPU_AGENT=$dir/agent unshare -rm "$dir/noproc" env LD_AUDIT="$B/lib/libvgpu-turn.so" LD_PRELOAD="$B/lib/libcuda.so.1" "$w/work" >"$dir/out" 2>&1
	# the program's own file cannot be told then: it is left alone, and says so
	grep -q "^right$\|NVIDIA's own CUDA runtime" "$dir/out" && ok "without /proc: it runs, or it is told" || fail "without /proc: $(cat "$dir/out")"
else
	skip "without /proc: no mount namespace here"
fi

"${run[@]}" "$w/lacks" >"$dir/out" 2>"$dir/err"
[ "$(cat "$dir/out")" = $'801 801\n801 801' ] && [ "$(grep -c 'cudaCallOfTomorrow is not supported' "$dir/err")" = 1 ] &&
	[ "$(grep -c 'cudaAnotherOne is not supported' "$dir/err")" = 1 ] && ok "what ours lacks answers NOT_SUPPORTED, named once" ||
	fail "missing names: $(cat "$dir/out" "$dir/err")"
"${run[@]}" "$w/blind" >"$dir/out" 2>"$dir/err"
grep -q '^right$' "$dir/out" && fail "a program without symbols and names ran?" || { grep -q "$w/blind: NVIDIA's own CUDA runtime .*cannot work here" "$dir/err" &&
	ok "a program whose runtime cannot be found is told" || fail "blind: $(cat "$dir/out" "$dir/err")"; }
# names of the driver's that are a library's own variables: its own, whatever is preloaded
cc -O1 -Wall -Wextra -shared -fPIC -o "$w/libpointers.so" "$here/pointers.c" -ldl && cc -O1 -Wall -Wextra -DPROGRAM -o "$w/pointers" "$here/pointers.c" -ldl || exit 1
for how in "${V}/vgpu run --" "env LD_BIND_NOW=1 $V/vgpu run --"; do
	# shellcheck disable=SC2086
	said=$($how "$w/pointers" "$w/libpointers.so" 2>"$dir/err"); st=$?
	[ $st = 0 ] && [ "$said" = 8 ] && ok "a library's own variables of the driver's names" || fail "own variables: status $st: $said $(cat "$dir/err")"
done
# a library of NVIDIA's under the name that auditwheel gives it, beside a program that needs that name: ours is opened
mkdir -p "$w/repaired"
printf 'libcudart.so.13 { cudaGetDeviceCount; };\n' >"$w/map"
printf 'int cudaGetDeviceCount(int *n) { *n = 77; return 100; }\n' >"$w/theirs.c"
printf '#include <stdio.h>\nint cudaGetDeviceCount(int *);\nint main(void) { int n = 0, e = cudaGetDeviceCount(&n); printf("%%d %%d\\n", e, n); return 0; }\n' >"$w/needs.c"
cc -shared -fPIC -Wl,-soname,libcudart-15a7433b.so.13.1.80 -Wl,--version-script="$w/map" -o "$w/repaired/libcudart-15a7433b.so.13.1.80" "$w/theirs.c" &&
	cc -o "$w/needs" "$w/needs.c" "$w/repaired/libcudart-15a7433b.so.13.1.80" -Wl,-rpath,"$w/repaired" || exit 1
[ "$("$w/needs")" = "100 77" ] && said=$("${run[@]}" "$w/needs" 2>&1) && [ "$said" = "0 1" ] && ok "a renamed libcudart beside a program: ours instead" ||
	fail "a renamed libcudart: $said"
# opened by its path, as wheels are, by a link that has no number, too: ours again, and no second one beside it
cat >"$w/opens.c" <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int n = 0, (*count)(int *) = NULL;
		void *h = dlopen(argv[i], RTLD_NOW), *ours = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
		if (h)
			*(void **)&count = dlsym(h, "cudaGetDeviceCount");
		int e = count ? count(&n) : -1;
		printf("%d %d %d\n", e, n, h == ours);
	}
	return 0;
}
EOF
cc -shared -fPIC -Wl,-soname,libcudart.so.13 -Wl,--version-script="$w/map" -o "$w/repaired/libcudart.so.13.1.80" "$w/theirs.c" &&
	ln -sf libcudart.so.13.1.80 "$w/repaired/libcudart.so.13" && ln -sf libcudart.so.13 "$w/repaired/libcudart.so" && cc -o "$w/opens" "$w/opens.c" -ldl || exit 1
said=$("${run[@]}" "$w/opens" "$w"/repaired/libcudart.so{.13,.13.1.80,} 2>&1) && [ "$said" = $'0 1 1\n0 1 1\n0 1 1' ] && ok "a libcudart by its path: ours instead" ||
	fail "a libcudart by its path: $said"
# a program without a runtime inside gets none: only what vgpu run preloads, and by LD_AUDIT alone nothing
n=$(LD_AUDIT=$B/lib/libvgpu-turn.so cat /proc/self/maps | grep -c 'libcud')
[ "$n" = 0 ] && ok "a program without one inside gets none" || fail "cat has $n mappings of CUDA libraries"
# its cost: user and system time of a process that does nothing, least of many
cat >"$dir/cost.py" <<'PY'
import os, resource, sys
def least(env):
    best = 9e9
    for _ in range(60):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.waitpid(os.posix_spawn("/bin/true", ["true"], env), 0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best
plain = dict(os.environ)
print(f"{(least(dict(plain, LD_AUDIT=sys.argv[1])) - least(plain)) * 1e3:.2f}")
PY
echo "a process that does nothing costs $(python3 "$dir/cost.py" "$B/lib/libvgpu-turn.so") ms more under the audit library"

"$V/vgpu" trace -c -- "$w/work" >"$dir/out" 2>&1
grep -q 'cudaMallocManaged' "$dir/out" && grep -q '__cudaLaunchKernel\|cudaLaunchKernel' "$dir/out" && ok "vgpu trace shows its runtime calls" ||
	fail "trace: $(head -c 2000 "$dir/out")"
"$V/vgpu" doctor -- "$w/work" >"$dir/out" 2>&1
grep -q '^fail  static cudart: cudart 13 inside, .*turned over by vgpu run$' "$dir/out" && grep -q "fix: vgpu run -- .*LD_AUDIT=$B/lib/libvgpu-turn.so" "$dir/out" &&
	ok "doctor knows it" || fail "doctor: $(cat "$dir/out")"
"${run[@]}" "$V/vgpu" doctor -- "$w/work" >"$dir/out" 2>&1
grep -q '^ok    static cudart: cudart 13 inside work, turned over to our libcudart.so.13' "$dir/out" && grep -q '^verdict: nothing found' "$dir/out" &&
	ok "doctor under vgpu run" || fail "doctor under vgpu run: $(cat "$dir/out")"
"$V/vgpu" doctor -- "$w/stripped-work" 2>&1 | grep -q '^fail  static cudart: cudart 13 inside, .*turned over by vgpu run$' && ok "doctor: without symbols" ||
	fail "doctor: stripped"
"$V/vgpu" doctor -- "$w/blind" 2>&1 | grep -q '^fail  static cudart: .*without its symbols, one before 12.8 cannot be turned over' && ok "doctor: not found" ||
	fail "doctor: blind"
VGPU_TURN=1 "${run[@]}" "$w/work" 2>&1 | grep -q "^vgpu: $w/work: the CUDA runtime inside, 13, is turned over to our libcudart.so.13$" &&
	ok "VGPU_TURN=1 says what is turned over" || fail "VGPU_TURN=1"

# a file whose symbols lie: refused as a whole, told, and never a crash
cat >"$dir/damage.py" <<'PY'
import random, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
shoff, = struct.unpack_from("<Q", data, 40)
n, = struct.unpack_from("<H", data, 60)
sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * 64) for i in range(n)]
sym = next(s for s in sections if s[1] == 2)
r = random.Random(int(sys.argv[3]))
for _ in range(40):
    at = sym[4] + r.randrange(sym[5] // 24) * 24 + r.choice((0, 4, 8, 16))
    struct.pack_into("<I", data, at, r.choice((0, 1, 0xffffffff, r.getrandbits(32))))
open(sys.argv[2], "wb").write(data)
PY
bad=0
for seed in $(seq 25); do
	python3 "$dir/damage.py" "$w/work" "$dir/damaged" "$seed" && chmod +x "$dir/damaged"
	"${run[@]}" "$dir/damaged" >"$dir/out" 2>&1; st=$?
	# right, or refused and then told by libcuda: not killed
	[ $st -lt 128 ] && grep -q "^right$\|cannot be turned over\|NVIDIA's own CUDA runtime" "$dir/out" || { bad=1; fail "damaged symbols, seed $seed: $st $(head -c 300 "$dir/out")"; }
done
[ $bad = 0 ] && ok "25 files with damaged symbols: right or refused, none killed"
# the same without symbols: where functions begin, and what they say of their names, is damaged; what is found then is right or nothing
said=$("$w/found" -d 3000 "$w/work" "$w/stripped-work" 2>&1) && ok "damaged tables: $said" || fail "damaged tables: $said"
