#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All that tests/gpu has, on a machine with a GPU that is lent for minutes: each part within its limit, and the logs packed behind each, so
# that whatever ends this leaves what was done. For a machine with a driver and either the built tree or what pack.sh has made of it.
#
#   all.sh [-a FOLDER] [-t SECONDS] [-l LIBCUDA] BUILD OUT [PART...]
#                                 FOLDER: pack.sh's archives, unpacked first; -t: for everything (570); what comes too late is left out and said
#                                 OUT: a folder for logs.tar.xz; LIBCUDA: the driver's libcuda.so.1, where ldconfig does not know it
#
# The parts, in this order: figures, many (api, shown, programs and maths beside each other), ptx, frameworks. Of one part: its name; "machine",
# what the machine is, is told always. A session with ten minutes of one: pack.sh here, then there
#   tests/gpu/all.sh -a build/gpu/pack build $OUT
set -u
archives='' all=570 cuda=''
while getopts a:t:l: o; do
	case $o in a) archives=$OPTARG ;; t) all=$OPTARG ;; l) cuda=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || { sed -n 's/^#   \(all.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
if [ -n "$archives" ]; then
	[ "$1" = build ] || { echo "all.sh: the archives are of a folder named build" >&2; exit 2; }
	root=$(cd "$here/../.." && pwd)
	for f in "$archives"/*.tar.xz; do tar xJf "$f" -C "$root" & done
	wait
	cd "$root" || exit 2
fi
B=$(cd "$1" && pwd) || exit 2
# shellcheck source=tests/gpu/driver.sh
. "$here/driver.sh"
shift 2
[ $# -gt 0 ] || set -- figures many ptx frameworks
logs=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-all-XXXXXX")
trap 'rm -rf "$logs"' EXIT
bad=0
say() { echo "[$SECONDS s] $*" | tee -a "$logs/all.log"; }
keep() { tar cJf "$out/new.xz" -C "$logs" . 2>/dev/null && mv "$out/new.xz" "$out/logs.tar.xz"; }
# part NAME SECONDS COMMAND...: exit 77 is a part that has nothing to do here
part() {
	local name=$1 seconds=$2 begin=$SECONDS st
	shift 2
	[ "$seconds" -le $((all - SECONDS - 5)) ] || seconds=$((all - SECONDS - 5))
	[ "$seconds" -ge 3 ] || { say "skip gpu/all/$name no time is left"; return; }
	if [ "$1" = driver ]; then
		shift
		driver timeout -k 2 "$seconds" "$@"
	else
		timeout -k 2 "$seconds" "$@"
	fi >"$logs/$name.log" 2>&1 </dev/null
	st=$?
	[ $st = 0 ] || [ $st = 77 ] || echo "$name" >>"$logs/failed"
	say "$([ $st = 0 ] && echo ok || { [ $st = 77 ] && echo skip || echo FAIL; }) gpu/all/$name exit $st, $((SECONDS - begin)) s: $(tail -n 1 "$logs/$name.log" | cut -c 1-200)"
}
# natively, also where the driver is named
driver() { env ${cuda:+LD_LIBRARY_PATH="$(dirname "$cuda")" ${VGPU_HOST_AGENT:+VGPU_AGENT="$VGPU_HOST_AGENT"}} "$@"; }
# take FOLDER: what a script has left in the build tree
take() { [ ! -d "$B/gpu/$1" ] || cp -r "$B/gpu/$1" "$logs/"; }

machine() {
	nvidia-smi
	uname -a
	nproc
	free -g
	id
	python3 --version
	for p in nvcc xz zstd gdb; do command -v $p; done
	ls /usr/local/cuda*/lib64/libcudart* /usr/local/cuda*/lib64/libcublas.so*
	PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep "libcuda\|nvidia-ml\|cublas"
	python3 -m pip list 2>/dev/null | grep -i "nvidia\|torch\|triton\|cupy\|jax\|numba"
	return 0
}
machine >"$logs/machine.log" 2>&1
blas=$(found libcublas.so.13)
say "the host's cuBLAS: ${blas:-none}"

figures() {
	part figures 115 "$here/run.sh" -f -b "$blas" "$B" ${cuda:+"$cuda"}
	mkdir -p "$logs/figures"
	find "$B/gpu" -maxdepth 1 -name '*.log' -exec cp {} "$logs/figures/" \;
	cat "$logs/figures.log"
}
api() {
	part api 100 "$here/api.sh" "$B" ${cuda:+"$cuda"}
	rm -rf "$B/gpu/api/lib"
	take api
}
# programs that nvcc has made; where none were brought along, this machine's own may
shown() {
	local q
	[ -d "$B/gpu/native/shown" ] || { say "skip gpu/all/shown no programs (pack.sh)"; return; }
	for q in "$B"/gpu/native/shown/*; do
		mkdir -p "$logs/dump/${q##*/}"
		SHOW_DUMP=$logs/dump/${q##*/} part "shown.${q##*/}" 30 driver "$q"
	done
}
programs() {
	local q
	if [ ! -d "$B/gpu/native/programs" ]; then
		part programs 80 "$here/programs.sh" "$logs/programs"
		find "$logs/programs" -type f -perm -u+x -delete 2>/dev/null
		return
	fi
	for q in "$B"/gpu/native/programs/*; do part "programs.${q##*/}" 40 driver "$q" & done
	wait
}
maths() {
	local at=$B/gpu/native/maths
	[ -d "$at" ] || at=$B/nvcc-out/maths
	[ -d "$at" ] || { say "skip gpu/all/maths no PTX of the device library (pack.sh)"; return; }
	part maths 60 env ${cuda:+CUDA_LIBRARY="$cuda"} "$B/test/maths/maths" "$at" -m cuda
}
many() {
	api &
	shown &
	programs &
	maths &
	wait
}
ptx() {
	local left=$((all - SECONDS - 20))
	PTX_LOGS=$logs/ptx part ptx 120 "$here/ptx.sh" -t $((left < 110 ? left : 110)) "$B" ${cuda:+"$cuda"}
	cat "$logs/ptx.log"
}
frameworks() {
	part frameworks 150 "$here/frameworks.sh" -t 35 ${blas:+-b "$blas"} "$B" ${cuda:+"$cuda"}
	take frameworks
	tail -n 60 "$logs/frameworks.log"
}
for p; do
	case $p in
	machine) cat "$logs/machine.log" ;;
	figures|many|api|shown|programs|maths|ptx|frameworks) "$p" ;;
	*) say "FAIL gpu/all/$p is no part"; bad=1 ;;
	esac
	keep
done
[ ! -s "$logs/failed" ] || bad=1
say "end"
keep
exit $bad
