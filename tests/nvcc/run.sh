#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The programs of programs/, compiled by nvcc and run by the JIT and by the interpreter (smaller inputs), some by the JIT for AVX2 too, each on a device of its own.
#   run.sh BUILD [PROGRAM]
set -u
cd "$(dirname "$0")/../.." || exit
B=$1
. tests/nvcc/lib.sh
nvcc_get "$B"
out=$B/nvcc-out/programs

# the compute capability that a program is compiled and run for
cc() { case $1 in tile) echo 10.0 ;; cluster) echo 9.0 ;; errors) echo 8.0 ;; *) echo 7.5 ;; esac; }
build() { # PROGRAM
	local arch sources="tests/nvcc/programs/$1.cu tests/nvcc/programs/check.h tests/nvcc/programs/wrong.h"
	[ "$1" = tile ] && sources+=" tests/nvcc/programs/sort.cu"
	[ "$1" = plain ] && sources+=" $(echo tests/nvcc/programs/{lane,block}*.h)"
	arch=compute_$(cc "$1" | tr -d .)
	nvcc_make "$out/$1" "$sources" -std=c++17 -O2 -cudart shared \
		-gencode "arch=$arch,code=$arch" "tests/nvcc/programs/$1.cu" && return
	echo "FAIL $1 does not compile"
	rm -f "$out/$1"
}
# run ENGINE PROGRAM ARGUMENT...: its lines with the engine's name in them; an end without a FAIL of its own is one too
run() {
	local engine=$1 program=$2 st=0 log=$out/$1.$2.log isa=
	[ "$engine" = avx2 ] && isa=avx2
	shift 2
	VGPU_ENGINE=${engine/avx2/jit} VGPU_CPU_ISA=${isa:-${VGPU_CPU_ISA:-}} timeout 200 "$B/bin/vgpu" run --private --cc "$(cc "$program")" -- "$out/$program" "$@" >"$log" 2>&1 || st=$?
	sed -E "s/^(ok|FAIL) /\1 $program\/$engine\//" "$log"
	[ $st = 0 ] || grep -q '^FAIL ' "$log" || echo "FAIL $program/$engine ended with status $st"
}
programs=${2:-$(cd tests/nvcc/programs && echo *.cu)}
for p in $programs; do
	while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
	build "${p%.cu}" &
done
wait
for p in $programs; do
	p=${p%.cu}
	[ -x "$out/$p" ] || continue
	run jit "$p"
	run interp "$p" 60000
	case $p in locks | families | instep) run avx2 "$p" ;; esac
done
