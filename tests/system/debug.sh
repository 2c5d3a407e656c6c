#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu debug: stops, steps, registers and memory of kernels whose values are known; device cores, and files that are none.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT VGPU_ENGINE VGPU_CPU_ISA "${!CUDA_@}"
export XDG_RUNTIME_DIR=$dir TMPDIR=$dir
P=$B/test/system/debug
printf '%s\n' '// the program that the lines of debug.c are of' '__device__ int square(int v) {' '	v = v * v;' '	return v;' '}' \
	'__global__ void sum(int *to, int *from, int n)' '{' '	int i = blockIdx.x * blockDim.x + threadIdx.x, k = 0;' '	int v = from[i];' \
	'	v = square(v);' '	part[threadIdx.x] = v; __syncthreads();' '	do {' '		k++; } while (k < n);' '	to[i] = v + k;' '}' >"$dir/sum.cu"

# debug COMMANDS ARGS...: to $dir/out, errors behind it
debug() {
	printf '%s\n' "$1" >"$dir/script"
	shift
	timeout 100 "$V/vgpu" debug -x "$dir/script" --batch "$@" >"$dir/out" 2>&1
	st=$?
}
# said WHAT TEXT...: each line stands there, in this order
said() {
	local what=$1 line rest n
	shift
	rest=$(cat "$dir/out")
	for line; do
		n=${rest#*"$line"}
		if [ "$n" = "$rest" ]; then
			fail "$what: no '$line' in: $(cat "$dir/out")"
			return
		fi
		rest=$n
	done
	ok "$what"
}

debug 'break sum
run
info args
next
print %r5
next
print %r6
step
backtrace
finish
print %r7
thread 5,0,0
print %r7
step
next
x/2w shared:16
info threads
delete
continue' -- "$P" "$dir"
[ $st = 0 ] && said "a session" 'breakpoint 1' 'kernel _Z3sumPiS_i, launch 1, block (0,0,0), thread (0,0,0)' "at $dir/sum.cu:8, PTX line" '8	' 'n (4 bytes at 16) = 3' \
	"$dir/sum.cu:9," '%r5 = 0' "$dir/sum.cu:10," '%r6 = 1' '#0  square at' 'sum.cu:3' '#0  square' '#1  _Z3sumPiS_i at' 'sum.cu:10' \
	"sum.cu:11" '%r7 = 1' 'thread (5,0,0), warp 0, lane 5' '%r7 = 36' 'sum.cu:12' 'sum.cu:13' ': 0x19 0x24' 'ffffffff  running' 'synchronize: 0' '0 wrong' 'exit status 0' ||
	fail "a session: exit $st: $(cat "$dir/out")"

debug 'break sum.cu:13 if %r8 == 2
run
print %r8
info breakpoints
break _Z3sumPiS_i:49 block 1,0,0 thread 31,0,0
delete 1
continue
print tid
print ctaid
print %r5
stepi
print %r7
stepi
print/x %rd7-%rd1
list
continue' -- "$P" "$dir"
[ $st = 0 ] && said "by line, condition, block and thread" 'breakpoint 1: sum.cu:13, if %r8 == 2' 'breakpoint 1' '%r8 = 2' 'held 1 time' 'breakpoint 2: kernel _Z3sumPiS_i, PTX line 49, block (1,0,0), thread (31,0,0)' \
	'block (1,0,0), thread (31,0,0)' 'tid = (31,0,0)' 'ctaid = (1,0,0)' '%r5 = 63' '%r7 = 4099' '= 0xfc' '->   51' 'exit status 0' || fail "by line: exit $st: $(cat "$dir/out")"

debug 'tbreak square every
run
backtrace
watch to+4
watch from 8
watch to+4
info breakpoints
continue
lanes %r7
continue
continue' -- "$P" "$dir"
[ $st = 0 ] && said "a watched word" '#1  _Z3sumPiS_i' 'watchpoint 2: 4 bytes' 'watchpoint 3: 8 bytes' 'watch 4 bytes' 'was 0x0, is 0x7, by st.global.u32 [%rd7], %r7' 'lane  1 (1,0,0)  7' 'lane 31 (31,0,0)  1027' 'watchpoint 4' 'exit status 0' ||
	fail "a watched word: exit $st: $(cat "$dir/out")"
debug 'run
backtrace
print %rd4-%rd2
continue' -- "$P" "$dir" fault
[ $st = 1 ] && said "a fault stands before anybody hears of it" 'fault: illegal address: global read of 4 bytes' 'address 0x' 'sum.cu:9, PTX line 31: ld.global.u32 %r6, [%rd4]' '%rd4-%rd2 = 0' 'synchronize: 700' 'exit status 1' || fail "a fault: exit $st: $(cat "$dir/out")"

# a kernel without an end: ^C stops it; kill ends it and leaves nothing
printf 'run\nprint %%r1\nkill\n' >"$dir/script"
timeout 100 "$V/vgpu" debug -x "$dir/script" --batch -- "$P" "$dir" spin >"$dir/out" 2>&1 &
pid=$!
tool=
# its context has computed for a second: more than a beginning takes
running() {
	local tree c
	tool=$(pgrep -P $pid -x vgpu) || return
	tree=$(pgrep -P "$tool" -x vgpu) && tree=$(pgrep -P "$tree" -x vgpu-stub) || return
	for c in $(pgrep -P "$tree" -x vgpu-context); do
		[ "$(sed 's/.*) //' "/proc/$c/stat" | cut -d' ' -f12)" -gt "$(getconf CLK_TCK)" ] && return
	done
	return 1
}
until_true running || fail "the kernel does not run: $(cat "$dir/out")"
kill -INT "$tool" && wait $pid && said "^C stops a kernel, kill ends the program" 'interrupted' 'spin' '%r1 = ' || fail "^C: $(cat "$dir/out")"
[ -z "$(find "$dir" -mindepth 1 -name 'vgpu-*')" ] && ok "nothing is left behind" || fail "left behind: $(find "$dir" -mindepth 1 -name 'vgpu-*')"

debug 'frobnicate' -- "$P" "$dir"; [ $st = 1 ] && said "an unknown command ends a script" 'no such command' || fail "an unknown command: $st"
debug 'break sum if %r1 = 5' -- "$P" "$dir"; [ $st = 1 ] && said "a condition that is none" 'if REGISTER OP NUMBER' || fail "a condition: $st"
debug 'print %r1' -- "$P" "$dir"; [ $st = 1 ] && said "where nothing stands" 'no kernel stands' || fail "print before run: $st"
debug 'run' -- "$P" "$dir"; [ $st = 0 ] && said "no breakpoints: as without" '0 wrong' || fail "no breakpoints: $st"
debug 'break nothing_like_it
run
info breakpoints' -- "$P" "$dir"; said "a breakpoint that nothing has" '0 wrong' 'not in any code so far'
printf 'run\n' | timeout 60 "$V/vgpu" debug -e 'tbreak sum' -- cat >"$dir/out" 2>&1; st=$?
[ $st = 0 ] && said "commands from standard input, which is then not the program's" 'exit status 0' || fail "standard input: $st: $(cat "$dir/out")"
printf 'words\n' | timeout 60 "$V/vgpu" debug --batch -e run -- cat >"$dir/out" 2>&1; [ $? = 0 ] && said "--batch: it is" 'words' || fail "--batch"
timeout 60 "$V/vgpu" debug --batch -e run -- /nope/nope >"$dir/out" 2>&1; [ $? = 126 ] && ok "a program that is not there" || fail "no program: $(cat "$dir/out")"
timeout 60 "$V/vgpu" debug -c "$dir/nope" </dev/null >"$dir/out" 2>&1; [ $? = 1 ] && said "no core" 'No such file' || fail "no core"

# --- lines as a compiler writes them
if command -v clang >/dev/null; then
	cat >"$dir/lines.cu" <<'END'
#include <cstdio>
__device__ __noinline__ int twice(int v)
{
	int w = v + v;
	return w;
}
__global__ void lines(int *p)
{
	int v = threadIdx.x;
	v = twice(v);
	p[threadIdx.x] = v;
}
int main()
{
	int *p, h[32];
	cudaMalloc(&p, sizeof(h));
	lines<<<1, 32>>>(p);
	cudaMemcpy(h, p, sizeof(h), cudaMemcpyDefault);
	printf("%d\n", h[31]);
	return h[31] != 62;
}
END
	if "$V/vgpu" cc -gline-tables-only -o "$dir/lines" "$dir/lines.cu" >"$dir/cc.log" 2>&1; then
		debug 'break lines.cu:11
break twice
run
backtrace
continue
info threads
continue' -- "$dir/lines"
		[ $st = 0 ] && said "a program by vgpu cc: its functions and lines" '#1  ' 'lines.cu:10' 'lines.cu:11' '	p[threadIdx.x] = v;' '62' 'exit status 0' || fail "by vgpu cc: exit $st: $(cat "$dir/out")"
	else
		skip "lines by vgpu cc: $(tail -n 1 "$dir/cc.log")"
	fi
else
	skip "lines by a compiler: no clang"
fi

# --- cores
core() { timeout 100 env "$@" "$V/vgpu" run --private -- "$P" "$dir" fault >"$dir/out" 2>&1; st=$?; }
cd "$dir" || exit 1
core CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_FILE="at %h %% %p"
f=$(echo "at $(uname -n) % "*)
[ $st = 134 ] && [ -s "$f" ] && [[ $f =~ [0-9]+$ ]] && [ "$(stat -c %a "$f")" = 600 ] && grep -q "device core: at $(uname -n) % [0-9]* " out && ok "a core by environment, its name by %h and %p, then SIGABRT" || fail "a core: exit $st, $(ls "$dir"), $(cat out)"
mv "$f" one
if command -v readelf >/dev/null; then
	readelf -hlnW one >elf 2>&1 && grep -q 'CORE (Core file)' elf && grep -q CUDA elf && grep -q 'VGPU ' elf && grep -q LOAD elf && ! grep -qi warning elf && ok "readelf knows what it is" || fail "readelf: $(cat elf)"
fi
core CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1
f=$(echo core_*_"$(uname -n)"_*.nvcudmp); [ $st = 134 ] && [ -s "$f" ] && ok "its name where none is said" || fail "default name: $st $(ls)"
rm -f -- "$f"
core CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_FILE=two CUDA_COREDUMP_GENERATION_FLAGS=skip_abort,skip_shared_memory
[ $st = 1 ] && grep -q 'synchronize: 700' out && [ -s two ] && ok "skip_abort: the program gets its error" || fail "skip_abort: $st $(cat out)"
core CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_FILE=three CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION=0 CUDA_ENABLE_LIGHTWEIGHT_COREDUMP=1
[ $st = 1 ] && [ -s three ] && ok "CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION=0" || fail "no abort: $st $(cat out)"
core CUDA_COREDUMP_FILE=four; [ $st = 1 ] && [ ! -e four ] && ok "none where none is asked for" || fail "unasked: $st"
core CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_FILE=/nope/nope
[ $st = 1 ] && grep -q '/nope/nope: No such file' out && ok "one that cannot be written is told, and nothing else changes" || fail "unwritable: $st $(cat out)"

look() { local f=$1; shift; timeout 20 "$V/vgpu" debug -c "$f" --batch "$@" >out 2>&1; st=$?; }
look one -e backtrace -e 'print %rd4-%rd2' -e 'print n' -e list -e 'info threads' -e 'info kernel' -e 'x/2w to' -e 'x/2w shared:0' -e 'lanes/x %rd4'
[ $st = 0 ] && said "vgpu debug -c" 'illegal address: global read of 4 bytes' 'block (0,0,0), thread (0,0,0), address 0x' 'sum.cu:9, PTX line 31: ld.global.u32 %r6, [%rd4]' '	int v = from[i];' '= 0' 'n = 3' '->   31' 'running' 'grid (2,1,1) of blocks (32,1,1)' \
	': 0x0 0x0' ': 0x0 0x0' 'lane  0' || fail "vgpu debug -c: $st $(cat out)"
look one -e step; [ $st = 1 ] && said "nothing runs in a core" 'this is a core' || fail "step in a core: $st"
look two -e 'x/2w to'; [ $st = 0 ] && ok "memory that was not left out is there" || fail "two: $(cat out)"
look two -e 'x shared:0'; [ $st = 1 ] && said "skip_shared_memory" 'this is not in the core' || fail "skip_shared_memory: $(cat out)"
look three -e 'x/2w to'; [ $st = 1 ] && said "a lightweight core" 'this is not in the core' || fail "lightweight: $(cat out)"

# what compiled code kept is what the interpreter has
for how in interp jit avx2; do
	[ $how = avx2 ] && isa=avx2 e=jit || { isa=; e=$how; }
	core CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_FILE=core-$how VGPU_ENGINE=$e ${isa:+VGPU_CPU_ISA=$isa}
	"$V/vgpu" debug -c core-$how --batch -e 'info registers' | grep '^%' >regs-$how
done
[ "$(wc -l <regs-interp)" -ge 6 ] && [ "$(wc -l <regs-jit)" -ge 4 ] && [ -z "$(comm -13 <(sort regs-interp) <(sort regs-jit))" ] && [ -z "$(comm -13 <(sort regs-interp) <(sort regs-avx2))" ] &&
	ok "registers of compiled code are the interpreter's" || fail "registers: $(head -n 20 regs-*)"

# several blocks may be one block's work in code; a core is of the one that was at fault, as the interpreter has it
cat >rows.cu <<'END'
#include <cstdio>
__global__ void rows(const float *m, const float *v, float *out, int n, int bad) {
	__shared__ int who[32];
	int b = blockIdx.x;
	float s = 0;
	who[threadIdx.x] = b * 100 + threadIdx.x;
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += 32)
		s += m[b * n + i] * v[i];
	m += b == bad ? 1L << 44 : 0;
	out[b * 32 + threadIdx.x] = s + m[threadIdx.x] + who[31 - threadIdx.x];
}
int main() {
	float *m, *v, *out;
	cudaMalloc(&m, 4096 * 64 * 4);
	cudaMalloc(&v, 64 * 4);
	cudaMalloc(&out, 4096 * 32 * 4);
	rows<<<4096, 32>>>(m, v, out, 64, 66);
	return cudaDeviceSynchronize() ? 1 : 0;
}
END
if "$V/vgpu" cc -o rows rows.cu >cc.log 2>&1; then
	for how in interp jit avx2; do
		[ $how = avx2 ] && isa=avx2 e=jit || { isa=; e=$how; }
		timeout 100 env CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 CUDA_COREDUMP_FILE=rows-$how VGPU_ENGINE=$e ${isa:+VGPU_CPU_ISA=$isa} "$V/vgpu" run --private -- ./rows >out 2>&1
		look rows-$how -e backtrace -e 'x/2w shared:0'
		said "a core of a block among others ($how)" 'illegal address: global read of 4 bytes' 'block (66,0,0), thread (' ': 0x19c8 0x19c9'
		"$V/vgpu" debug -c rows-$how --batch -e 'info registers' | grep '^%' >rows-regs-$how
	done
	[ "$(wc -l <rows-regs-interp)" -ge 3 ] && [ "$(wc -l <rows-regs-jit)" -ge 3 ] && [ -z "$(comm -13 <(sort rows-regs-interp) <(sort rows-regs-jit))" ] && [ -z "$(comm -13 <(sort rows-regs-interp) <(sort rows-regs-avx2))" ] &&
		ok "its registers are the interpreter's" || fail "registers: $(head -n 20 rows-regs-*)"
else
	skip "a core of a block among others: $(tail -n 1 cc.log)"
fi

# attributes
timeout 60 "$V/vgpu" run --private -- "$P" "$dir" set "$dir/by call" >out 2>&1; st=$?
[ $st = 1 ] && [ -s "by call" ] && ok "cuCoredumpSetAttribute" || fail "cuCoredumpSetAttribute: $st $(cat out)"
timeout 60 "$V/vgpu" run --private -- "$P" "$dir" flag "$dir/by flag" >out 2>&1; st=$?
[ $st = 1 ] && [ -s "by flag" ] && ok "CU_CTX_COREDUMP_ENABLE" || fail "CU_CTX_COREDUMP_ENABLE: $st $(cat out)"

# files that are none, or no longer
bad=
for n in 0 40 200 1000 "$(($(stat -c %s one) - 1))"; do
	head -c "$n" one >cut
	look cut -e backtrace
	[ $st = 1 ] && [ "$(wc -l <out)" = 1 ] && grep -qE '^vgpu: cut: its? ' out || bad="$bad $n: $st $(cat out)"
done
[ -z "$bad" ] && ok "a core that was cut is told to be none" || fail "cut: $bad"
cp one bad && printf 'vgpu-core 9' | dd of=bad bs=1 seek=$(grep -abo 'vgpu-core 1' one | cut -d: -f1) conv=notrunc status=none
look bad; [ $st = 1 ] && said "one of a later release" 'of a later release' || fail "later: $(cat out)"
look "$V/vgpu"; [ $st = 1 ] && said "another ELF file" 'it is no core of a device' || fail "another ELF: $(cat out)"
look /dev/zero; [ $st = 1 ] && said "a file without an end" 'no file that could be a core' || fail "/dev/zero: $(cat out)"
look "$dir"; [ $st = 1 ] && ok "a folder" || fail "a folder: $(cat out)"

# gdb, for the host's side: stops in a call, and the program goes on
if command -v gdb >/dev/null; then
	timeout 100 "$V/vgpu" run --private -- gdb -nx -q -batch -ex 'set breakpoint pending on' -ex 'break cuLaunchKernel' -ex run -ex 'backtrace 1' -ex delete -ex continue --args "$B/e2e/driver/vecadd" >out 2>&1
	said "gdb stops a program in cuLaunchKernel, and it goes on" '#0 ' 'in cuLaunchKernel ' 'vecadd: ok' 'exited normally'
else
	skip "gdb: not installed"
fi
