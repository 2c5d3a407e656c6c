#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The programs of shown/, which print what their kernels left, on every engine: the same lines of each, for there is no other reference here but
# agreement. Where shown/h100.txt lies, what a GPU printed ("PROGRAM LINE" each), that is what all have to print.
#   shown.sh BUILD [PROGRAM]
set -u
cd "$(dirname "$0")/../.." || exit
B=$1
. tests/nvcc/lib.sh
nvcc_get "$B"
out=$B/nvcc-out/shown golden=tests/nvcc/shown/h100.txt
programs=${2:-$(cd tests/nvcc/shown && echo *.cu)}

build() { # PROGRAM
	nvcc_make "$out/$1" "tests/nvcc/shown/$1.cu tests/nvcc/shown/show.h" -std=c++17 -O2 -extended-lambda -cudart shared -rdc=false \
		-gencode arch=compute_90,code=compute_90 "tests/nvcc/shown/$1.cu" && return
	echo "FAIL $1 does not compile"
	rm -f "$out/$1"
}
run() { # PROGRAM NAME ISA ENGINE
	local st=0
	VGPU_CPU_ISA=$3 VGPU_ENGINE=$4 timeout 100 "$B/bin/vgpu" run --private --cc 9.0 -- "$out/$1" >"$out/$1.$2.txt" 2>"$out/$1.$2.log" || st=$?
	[ $st = 0 ] && return
	echo "FAIL $1/$2 ended with status $st: $(tail -n 1 "$out/$1.$2.log")"
	return 1
}
# same NAME WANT GOT
same() {
	if cmp -s "$2" "$3"; then
		echo "ok   $1"
	else
		echo "FAIL $1 prints other lines"
		diff "$2" "$3" | head -n 6
	fi
}
for p in $programs; do
	while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n; done
	build "${p%.cu}" &
done
wait
for p in $programs; do
	p=${p%.cu}
	[ -x "$out/$p" ] || continue
	run "$p" interp '' interp || continue
	want=$out/$p.interp.txt
	if [ -e $golden ] && grep -q "^$p " $golden; then
		want=$out/$p.golden.txt
		sed -n "s/^$p //p" $golden >"$want"
		same "$p/interp, a GPU's" "$want" "$out/$p.interp.txt"
	fi
	run "$p" jit '' jit && same "$p/jit" "$want" "$out/$p.jit.txt"
	run "$p" avx2 avx2 jit && same "$p/avx2" "$want" "$out/$p.avx2.txt"
done
