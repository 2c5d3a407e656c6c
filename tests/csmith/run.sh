#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Random C++ programs of csmith's (Debian's package), a program in each of 64 threads, compiled for the device by clang and, with -c nvcc or
# -c both, by NVIDIA's nvcc: what each thread has at the end is what the same text has on the host, by g++ or by clang++ (which go through some
# expressions in different orders). On compiled code for AVX-512 and AVX2 and on the interpreter. What a failure leaves is in BUILD/test/csmith.
#   run.sh BUILD [-n PROGRAMS] [-s FIRST_SEED] [-c clang|nvcc|both]
set -u
cd "$(dirname "$0")/../.." || exit
B=${1:?usage: run.sh BUILD [-n PROGRAMS] [-s FIRST_SEED] [-c clang|nvcc|both]}
shift
n=6 first=1 by=clang threads=64
while getopts n:s:c: o; do
	case $o in
	n) n=$OPTARG ;; s) first=$OPTARG ;; c) by=$OPTARG ;; *) exit 2 ;;
	esac
done
here=tests/csmith
math=/usr/include/csmith/safe_math.h
if ! command -v csmith >/dev/null || [ ! -e $math ]; then
	echo "there is no csmith (Debian's csmith and libcsmith-dev)"
	exit 77
fi
if [ "$by" != clang ]; then
	. tests/nvcc/lib.sh
	nvcc_get "$B"
fi
out=$B/test/csmith
mkdir -p "$out" || exit 1
# floats are left out: what becomes of one that no whole number holds is each side's own
awk '/^STATIC float/ { exit } { print } /^[ \t]*#if/ { n++ } /^[ \t]*#endif/ { n-- } END { while (n-- > 0) print "#endif" }' $math >"$out/safe_int.h"
${CC:-gcc} -O1 -Wall -Wextra -Ilibcuda-lite/include -o "$out/launch" $here/launch.c -L"$B/lib" -l:libcuda.so.1 || exit 1

flags=(-w -fno-strict-aliasing -fwrapv -I"$here" -I"$out")
# What the host has, by g++ and by clang++, a line each of all threads. Programs that take long there have no end, as some of csmith's have.
host() { # NAME
	g++ -x c++ -O1 -fpermissive "${flags[@]}" "$out/$1.cu" -o "$out/$1.g++" && timeout 4 "$out/$1.g++" $threads >"$out/$1.want" || return
	if clang++ -x c++ -O1 -Wno-c++11-narrowing "${flags[@]}" "$out/$1.cu" -o "$out/$1.clang++"; then
		timeout 8 "$out/$1.clang++" $threads >"$out/$1.want2" || rm -f "$out/$1.want2"
	fi
} 2>/dev/null

# LINE of launch: are its threads' numbers those of one of the hosts?
right() { # NAME FILE KERNEL NUMBER...
	local name=$1 kernel=$3 got w
	shift 3
	got=$*
	for w in "$out/$name.want" "$out/$name.want2"; do
		[ -e "$w" ] || continue
		# each block of half as many threads has one program
		[ "$got" != "$(if [ "$kernel" = alike ]; then awk -v n=$((threads / 32)) 'NR <= n { for (i = 0; i < 32; i++) print }' "$w"; else cat "$w"; fi | paste -sd ' ')" ] || return 0
	done
	return 1
}

one() { # SEED
	local name=s$1 files=() mode line bad=''
	# in a folder of its own: it leaves a file there
	# shellcheck disable=SC2046
	(cd "$out" && csmith --lang-cpp --cpp11 --no-argc --no-volatiles --no-volatile-pointers --no-packed-struct -s "$1" \
		$(case $(($1 % 5)) in 0) echo --no-bitfields ;; 1) echo --max-funcs 15 ;; 2) echo --max-block-depth 7 --no-unions ;; 3) echo --max-expr-complexity 20 ;; esac)) >"$out/$name.cpp" || return
	PYTHONDONTWRITEBYTECODE=1 python3 $here/kernel.py "$out/$name.cpp" "$1" >"$out/$name.cu" || { echo "FAIL $1 is not what kernel.py reads"; return; }
	host "$name" || { rm -f "$out/$name".*; return; }
	# neither compiler takes all of them
	if [ "$by" != nvcc ] && "$B/bin/vgpu" cc -ptx -arch=sm_75 -Wno-c++11-narrowing "${flags[@]}" -o "$out/$name.clang.ptx" "$out/$name.cu" >"$out/$name.log" 2>&1; then
		files+=("$out/$name.clang.ptx")
	fi
	if [ "$by" != clang ] && "$nvcc" -ptx -arch=compute_75 -w -I"$here" -I"$out" -o "$out/$name.nvcc.ptx" "$out/$name.cu" >>"$out/$name.log" 2>&1; then
		files+=("$out/$name.nvcc.ptx")
	fi
	[ ${#files[@]} != 0 ] || { rm -f "$out/$name".*; return; }
	for mode in jit avx2 interp; do
		VGPU_ENGINE=${mode/avx2/jit} VGPU_CPU_ISA=$([ $mode = avx2 ] && echo avx2) timeout 120 "$B/bin/vgpu" run --private --cc 9.0 -- "$out/launch" $threads "${files[@]}" >"$out/$name.got" 2>&1
		[ "$(grep -c ^"$out" "$out/$name.got")" = $((3 * ${#files[@]})) ] || bad="$mode: $(tail -n 1 "$out/$name.got")"
		while read -r line; do
			# shellcheck disable=SC2086
			right "$name" $line || bad="$mode: $(cut -d ' ' -f 1,2 <<<"$line")"
		done < <(grep ^"$out" "$out/$name.got")
		[ -z "$bad" ] || break
	done
	if [ -n "$bad" ]; then
		echo "FAIL $1 $bad"
	else
		echo "ok $1"
		rm -f "$out/$name".*
	fi
}
for ((seed = first; seed < first + n; seed++)); do one $seed; done
