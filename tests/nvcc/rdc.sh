#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Separate compilation, nvcc -rdc=true: PTX alone, and nvcc's own -arch=sm_XX, which embeds machine code with it; cudart shared
# and linked in.
#   rdc.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit
B=$1
. tests/nvcc/lib.sh
nvcc_get "$B"
out=$B/nvcc-out/rdc
src=tests/nvcc/rdc

one() { # NAME FLAG...: FILES, in the folder
	local name=$1 f files=()
	shift
	for f in ${FILES-main.cu other.cu}; do files+=("$src/$f"); done
	if ! nvcc_make "$out/$name" "${files[*]} $src/other.h" -rdc=true "$@" "${files[@]}"; then
		echo "FAIL $name does not compile"
		return
	fi
	# shellcheck disable=SC2086
	timeout 200 "$B/bin/vgpu" run --private ${device---cc 8.0} -- "$out/$name" >"$out/$name.said" 2>&1 ||
		echo "FAIL $name ended with status $?: $(grep -v agent "$out/$name.said" | tail -1)"
	sed -En "s/^(ok|FAIL) /\1 $name\//p" "$out/$name.said"
}
one ptx -cudart shared -gencode arch=compute_75,code=compute_75
# beside the device runtime of NVIDIA's libcudadevrt.a, whose PTX is for the highest device of all
device='--cc 12.1' one highest -cudart shared -gencode arch=compute_75,code=compute_75
device='' one chosen -cudart shared -gencode arch=compute_75,code=compute_75
grep -q 'device of compute capability 7.5' "$out/chosen.said" && echo "ok chosen/7.5" || echo "FAIL chosen: $(head -n 1 "$out/chosen.said")"
one arch -cudart shared -arch=sm_80
one static -arch=sm_80
