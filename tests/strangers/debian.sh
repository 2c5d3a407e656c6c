#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of Debian's main that open libcuda.so.1, as they are packaged. Each is installed where it lacks and apt can; where it
# cannot be had, it is skipped.
#   tests/strangers/debian.sh BUILD [NAME...]      default: clang ffmpeg hashcat
# clang: OpenMP offloaded by LLVM 19, whose plugin loads what our ptxas and nvlink make; libdevice comes from NVIDIA's nvcc on PyPI.
# ffmpeg: filters of frames on the device against those on the CPU. Those that compute the same (copies, nearest neighbours,
# overlays, thumbnails) are compared to the byte; those that round or choose otherwise by their distance from the CPU's in dB, and between
# the three engines to the byte.
# hashcat: kernels by NVIDIA's NVRTC from PyPI; each mode finds its own example's password.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip debian: clang-19 and ffmpeg, some 900 MB: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/debian.sh BUILD NAME"; exit 0; }
out=$B/test/strangers
mkdir -p "$out"
bad=0
engines=("" VGPU_CPU_ISA=avx2 VGPU_ENGINE=interp)
fail() { echo "FAIL $*"; bad=1; }

# have NAME PROGRAM PACKAGE...
have() {
	local name=$1 program=$2
	shift 2
	command -v "$program" >/dev/null && dpkg -s "$@" >/dev/null 2>&1 && return 0
	[ "$(id -u)" = 0 ] && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$@" >"$out/apt.log" 2>&1 && return 0
	echo "skip $name: no $*: $(tail -n 1 "$out/apt.log" 2>/dev/null)"
	return 1
}

clang() {
	local e llvm=/usr/lib/llvm-19/lib sdk=$out/cuda mode
	have clang clang-19 clang-19 clang-tools-19 libomp-19-dev llvm-19 || return
	local why
	why=$(tools/toolkit/fetch.sh "$B/nvcc") || { echo "skip clang: no libdevice: $(tail -n 1 <<<"$why")"; return; }
	rm -rf "$sdk"
	mkdir -p "$sdk/bin" "$sdk/include" "$sdk/lib64" "$sdk/nvvm"
	ln -s "$B/nvcc/nvvm/libdevice" "$sdk/nvvm/libdevice"
	ln -s "$B/lib/vgpu/bin/ptxas" "$B/lib/vgpu/bin/nvlink" "$sdk/bin"
	# LLVM's device runtime compiled together with the program; linked to it by nvlink
	for mode in -foffload-lto ""; do
		local name=clang${mode:+-lto} source=tests/offload/omp.c
		[ -n "$mode" ] || source=tests/strangers/small.c
		# shellcheck disable=SC2086
		if ! LIBRARY_PATH=$llvm timeout 300 clang-19 -O2 -w $mode -DLLVM_GAPS --cuda-path="$sdk" -fopenmp -fopenmp-targets=nvptx64-nvidia-cuda \
		     -Xopenmp-target -march=sm_61 "$source" -lm -latomic -o "$out/$name" >"$out/log" 2>&1; then
			fail "$name is not compiled: $(grep -m 1 error "$out/log")"
			continue
		fi
		LD_LIBRARY_PATH=$llvm OMP_TARGET_OFFLOAD=DISABLED "$out/$name" >"$out/$name.host" 2>/dev/null
		for e in "${engines[@]}"; do
			if env ${e:+"$e"} LD_LIBRARY_PATH=$llvm OMP_TARGET_OFFLOAD=MANDATORY timeout 200 "$B/bin/vgpu" run -- "$out/$name" >"$out/said" 2>"$out/err" &&
			   cmp -s "$out/$name.host" "$out/said" && grep -q 'ran on the device' "$out/err"; then
				echo "ok $name${e:+/${e#*=}}: $(wc -l <"$out/said") lines as on the host"
			else
				fail "$name${e:+/${e#*=}}: $(diff "$out/$name.host" "$out/said" | sed -n 2p) $(tail -n 1 "$out/err")"
			fi
		done
	done
}

F='ffmpeg -hide_banner -v error -nostdin -y'
# device FILTERS ENGINE: MD5 of the frames
device() {
	env ${2:+"$2"} timeout 200 "$B/bin/vgpu" run -- $F -init_hw_device cuda=c -filter_hw_device c -i "$out/in.y4m" -filter_complex "$1" -f md5 - 2>"$out/err"
}
# near FILTERS CPU: average PSNR of the two, in whole dB
near() {
	"$B/bin/vgpu" run -- $F -init_hw_device cuda=c -filter_hw_device c -i "$out/in.y4m" -filter_complex "$1" "$out/device.y4m" 2>"$out/err" &&
		$F -i "$out/in.y4m" -filter_complex "$2" "$out/cpu.y4m" &&
		ffmpeg -hide_banner -nostdin -i "$out/device.y4m" -i "$out/cpu.y4m" -lavfi psnr -f null - 2>&1 | sed -n 's/.*average:\([0-9]*\).*/\1/p'
}
# filter NAME FILTERS CPU [DB]: on three engines, and as the CPU's filters do it, or so near
filter() {
	local e first='' md5 db
	for e in "${engines[@]}"; do
		md5=$(device "$2" "$e")
		[ -n "$md5" ] || { fail "ffmpeg/$1${e:+/${e#*=}}: $(head -n 1 "$out/err")"; return; }
		[ "${first:=$md5}" = "$md5" ] || { fail "ffmpeg/$1: ${e#*=} has other frames"; return; }
	done
	if [ -n "${4:-}" ]; then
		db=$(near "$2" "$3")
		if [ "${db:-0}" -ge "$4" ]; then echo "ok ffmpeg/$1, $db dB from the CPU's"; else fail "ffmpeg/$1: ${db:-0} dB from the CPU's frames"; fi
	elif [ "$($F -i "$out/in.y4m" -filter_complex "$3" -f md5 -)" != "$first" ]; then
		fail "ffmpeg/$1: not the CPU's frames"
	else
		echo "ok ffmpeg/$1 as on the CPU"
	fi
}
ffmpeg_filters() {
	have ffmpeg ffmpeg ffmpeg || return
	if ! ffmpeg -hide_banner -filters 2>&1 | grep scale_cuda >/dev/null; then
		echo "skip ffmpeg: this one has no filters for CUDA"
		return
	fi
	$F -f lavfi -i testsrc2=size=320x240:rate=5:duration=2 -pix_fmt yuv420p "$out/in.y4m" || return
	local down='hwdownload,format=yuv420p'
	filter copy "hwupload,$down" null
	filter nearest "hwupload,scale_cuda=480:360:interp_algo=nearest,$down" scale=480:360:flags=neighbor
	filter overlay "split[a][b];[b]crop=100:80[c];[a]hwupload[d];[c]hwupload[e];[d][e]overlay_cuda=x=30:y=40,$down" \
		"split[a][b];[b]crop=100:80[c];[a][c]overlay=x=30:y=40"
	filter thumbnail "hwupload,thumbnail_cuda=n=5,$down" thumbnail=n=5
	filter nv12 "hwupload,scale_cuda=format=nv12,hwdownload,format=nv12,format=yuv420p" null
	for a in bicubic lanczos; do
		filter $a "hwupload,scale_cuda=480:360:interp_algo=$a,$down" scale=480:360:flags=$a 38
	done
	# it reads integers through a linear filter, which CUDA does not support (cudaErrorInvalidFilterSetting): the nearest, here
	filter bilinear "hwupload,scale_cuda=480:360:interp_algo=bilinear,$down" scale=480:360:flags=bilinear 30
	filter yadif "hwupload,yadif_cuda=mode=send_field,$down" yadif=mode=send_field 45
	filter p010 "hwupload,scale_cuda=format=p010le,hwdownload,format=p010le,format=yuv420p" null 50
}

# Each mode finds the password of its own example among others: by a word list, or, MODE/mask, by trying all of a mask.
hashcat_modes() {
	local e mode m hash pass word said
	have hashcat hashcat hashcat || return
	if ! ls "$out"/nvrtc/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 >/dev/null 2>&1 &&
	   ! timeout 600 python3 -m pip -q --disable-pip-version-check install --no-deps --target "$out/nvrtc" nvidia-cuda-nvrtc-cu12==12.9.86 >"$out/log" 2>&1; then
		echo "skip hashcat: no NVRTC from PyPI: $(tail -n 1 "$out/log")"
		return
	fi
	for mode in 0 0/mask 10 100 110 300 500 900 1000 1100 1400 1500 1700 1710 2600 3000 3200 5100 5500 5600 6000 10800 13100 17300 18200; do
		m=${mode%/*}
		said=$(hashcat --example-hashes --machine-readable -m "$m" 2>/dev/null)
		hash=$(sed -n 's/.*"example_hash": "\([^"]*\)".*/\1/p' <<<"$said")
		pass=$(sed -n 's/.*"example_pass": "\([^"]*\)".*/\1/p' <<<"$said")
		word=$out/words
		[ "$mode" = "$m" ] || word='?lashc?lt'
		echo "$hash" >"$out/hash"
		printf '%s\n' aaaa hashcas "$pass" zzzz >"$out/words"
		e=''
		[ "$m" != 1400 ] || e=VGPU_CPU_ISA=avx2
		said=$(env ${e:+"$e"} LD_LIBRARY_PATH="$out/nvrtc/nvidia/cuda_nvrtc/lib" timeout 300 "$B/bin/vgpu" run --cc 7.5 -- \
			hashcat -m "$m" -a "$([ "$mode" = "$m" ] && echo 0 || echo 3)" "$out/hash" "$word" --potfile-disable -d 1 --quiet --force \
			--outfile-format=2 --session="vgpu-$$" 2>"$out/err")
		if grep -qxF -- "$pass" <<<"$said"; then echo "ok hashcat/$mode: $pass"; else fail "hashcat/$mode: '$pass' is not found: $(tail -n 1 "$out/err")"; fi
	done
}

for name in "${@:-clang ffmpeg hashcat}"; do
	for name in $name; do
		case $name in
		clang) clang ;;
		ffmpeg) ffmpeg_filters ;;
		hashcat) hashcat_modes ;;
		*) echo "debian.sh: no $name here: clang ffmpeg hashcat" >&2; exit 2 ;;
		esac
	done
done
exit $bad
