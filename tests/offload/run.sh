#!/bin/bash
# SPDX-License-Identifier: MIT
# OpenMP and OpenACC as Debian's gcc compiles them for nvptx: libgomp's plugin loads libcuda.so.1, links PTX by cuLinkAddData and launches.
#   tests/offload/run.sh BUILD
# Each program compares with the host, and says whether it was on the device: libgomp goes to the host without a word. On both
# engines, several times where warps meet at locks.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
out=$B/test/offload
mkdir -p "$out"
bad=0

echo 'int main(void) { return 0; }' >"$out/none.c"
if ! gcc -fopenmp -foffload=nvptx-none "$out/none.c" -o "$out/none" 2>"$out/log" || [ ! -e "$(gcc -print-file-name=libgomp-plugin-nvptx.so.1)" ]; then
	echo "skip offload: no gcc-offload-nvptx and libgomp-plugin-nvptx1 here: $(head -n 1 "$out/log")"
	exit 0
fi

one() { # one NAME ISA TIMES
	local said st
	for _ in $(seq "$3"); do
		said=$(VGPU_CPU_ISA=$2 ACC_DEVICE_TYPE=nvidia OMP_TARGET_OFFLOAD=MANDATORY timeout 120 "$B/bin/vgpu" run -- "$out/$1" 2>&1)
		st=$?
		if [ $st != 0 ] || ! grep -q 'bad= *0 .*on device' <<<"$said"; then
			echo "FAIL $1${2:+/$2} status $st: $(grep -v '^$' <<<"$said" | head -n 1)"
			bad=1
			return
		fi
	done
	echo "ok $1${2:+/$2}: $(tail -n 1 <<<"$said" | sed 's/^ *//')"
}

for p in stencil reductions atomics math async acc; do
	how=-fopenmp
	[ $p = acc ] && how=-fopenacc
	# whoever builds within vgpu run has its ptxas in the way: gcc's assembler has code for sm_35 looked at by that
	within=
	[ $p = stencil ] && within="$B/bin/vgpu run --private --"
	if ! $within gcc -O2 $how -foffload=nvptx-none -foffload=-lm "$here/$p.c" -o "$out/$p" -lm >"$out/log" 2>&1; then
		echo "FAIL $p is not compiled: $(grep -m 1 error "$out/log")"
		bad=1
		continue
	fi
	# the same each time, where no warp waits for another
	case $p in stencil|math) often="1 1" ;; *) often="3 2" ;; esac
	one $p "" "${often% *}"
	one $p avx2 "${often#* }"
done
# same PROGRAM: what it prints is what it prints on the host, and it says that it was on the device
same() {
	local isa
	if ! OMP_TARGET_OFFLOAD=DISABLED ACC_DEVICE_TYPE=host timeout 120 "$out/$1" >"$out/$1.host" 2>"$out/log"; then
		echo "FAIL $1 on the host: $(tail -n 1 "$out/log")"
		bad=1
		return
	fi
	for isa in "" avx2; do
		if VGPU_CPU_ISA=$isa ACC_DEVICE_TYPE=nvidia OMP_TARGET_OFFLOAD=MANDATORY timeout 120 "$B/bin/vgpu" run -- "$out/$1" >"$out/$1.said" 2>"$out/log" &&
		   cmp -s "$out/$1.host" "$out/$1.said" && grep -q 'ran on the device' "$out/log"; then
			echo "ok $1${isa:+/$isa}: $(wc -l <"$out/$1.said") lines as on the host"
		else
			echo "FAIL $1${isa:+/$isa}: $(diff "$out/$1.host" "$out/$1.said" | sed -n 2p) $(tail -n 1 "$out/log")"
			bad=1
		fi
	done
}
if gcc -O2 -fopenmp -foffload=nvptx-none "-foffload-options=-lm -latomic" "$here/omp.c" -o "$out/omp" -lm >"$out/log" 2>&1; then
	same omp
else
	echo "FAIL omp is not compiled: $(grep -m 1 -E 'error|unresolved' "$out/log")"
	bad=1
fi
if ! command -v gfortran >/dev/null || ! gfortran -J "$out" -O2 -fopenmp -foffload=nvptx-none "-foffload=-lgfortran -lm" "$here/fortran.f90" -o "$out/fortran" >"$out/log" 2>&1; then
	echo "skip fortran: no gfortran that offloads here"
else
	one fortran "" 2
	one fortran avx2 1
	for p in openmp openacc; do
		if gfortran -J "$out" -O2 -cpp -f$p -foffload=nvptx-none "-foffload-options=-lgfortran -lm -latomic" "$here/arrays.f90" -o "$out/arrays-$p" >"$out/log" 2>&1; then
			same "arrays-$p"
		else
			echo "FAIL arrays-$p is not compiled: $(grep -m 1 error "$out/log")"
			bad=1
		fi
	done
fi
exit $bad
