#!/bin/bash
# SPDX-License-Identifier: MIT
# Languages and frameworks as PyPI has them, unmodified, on the device: vgpu run -- python, nothing else set.
#   tests/languages/run.sh BUILD [NAME...]         default: triton numba core tinygrad cupy jax taichi halide
# "cupy-suite" and "tinygrad-suite" are those packages' own tests, of their source packages: [EVERY=K] takes each K-th, [FROM=J] from the J-th on, [LIMIT=S] is each
# part's time; the latter wants torch's environment too, whose results are its reference.
# Each has a virtual environment of its own in BUILD/languages, with the versions below. "numba-suite" is numba-cuda's own tests,
# some twenty minutes: by name only; so are "clangcupy" (CuPy without NVIDIA's NVRTC: by clang), "triton-wide", seven hundred kernels over all of its language,
# "jax13" (CUDA 13's plugin), "jax-wide", tensorflow (2 GB), torch (7 GB), "torch-samples", its operators by its own samples, "torch-digits", these over all magnitudes,
# "torch-gems", FlagGems' operators by its own bounds, "torch-newest", the same of 2.15, "torch-extension", extensions in CUDA C++, "torch-packages", two of PyPI's built from their sources, "torch-modules", its modules and optimisers by its own samples, and "torch-inductor", [COUNT=] operators by torch.compile.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
shift
bad=0 option=
[ $# -gt 0 ] || [ "${VGPU_TEST_LANGUAGES:-}" = 1 ] || { echo "skip languages: 2 GB of wheels from PyPI: VGPU_TEST_LANGUAGES=1 asks for them, or tests/languages/run.sh BUILD NAME"; exit 0; }

packages() {
	case $1 in
	triton | triton-wide) echo triton==3.6.0 numpy==2.2.6 ;;
	numba | numba-suite) echo 'numba-cuda[cu13]==0.30.4' cuda-bindings==13.0.3 filecheck==1.0.3 cffi==2.0.0 ml_dtypes==0.5.4 pytest==8.4.2 ;;
	core) echo 'cuda-core[cu13]==1.2.2' cuda-bindings==13.5.0 cuda-toolkit==13.5.0 numpy==2.4.6 ;;
	tinygrad | tinygrad-suite) echo tinygrad==0.12.0 numpy==2.2.6 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 pytest==8.4.2 \
		hypothesis==6.170.17 ;;
	cupy | cupy-suite) echo cupy-cuda12x==14.2.0 pytest==8.4.2 numpy==2.2.6 ml_dtypes==0.5.4 nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-cccl-cu12==12.9.27 ;;
	clangcupy) echo cupy-cuda12x==14.2.0 numpy==2.2.6 ;;
	jax | jax-wide) echo jax==0.10.2 jaxlib==0.10.2 jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2 nvidia-cuda-nvcc-cu12==12.9.86 numpy==2.2.6 ;;
	jax13) echo jax==0.10.2 jaxlib==0.10.2 jax-cuda13-plugin==0.10.2 jax-cuda13-pjrt==0.10.2 nvidia-nvvm nvidia-cuda-nvcc==13.0.88 numpy==2.2.6 ;;
	tensorflow) echo tensorflow==2.21.0 keras==3.15.1 numpy==2.4.6 nvidia-cuda-nvcc-cu12==12.9.86 ;;
	torch | torch-samples | torch-gems | torch-inductor | torch-digits | torch-modules) echo torch==2.9.1 torchvision==0.24.1 flag_gems==5.0.2 numpy==1.26.4 expecttest==0.3.0 ;;
	torch-newest | torch-extension | torch-packages) echo torch==2.15.0 flag_gems==5.0.2 numpy==1.26.4 expecttest==0.3.0 ninja==1.13.2 setuptools==84.2.1 \
		nvidia-cuda-nvcc==13.2.86 nvidia-nvvm==13.2.86 nvidia-cuda-crt==13.2.86 nvidia-cuda-cccl==13.2.86 ;;
	taichi) echo taichi==1.7.4 numpy==2.2.6 ;;
	halide) echo halide==21.0.0 numpy==2.2.6 ;;
	*) return 1 ;;
	esac
}
# The environment, made once; whole when it has its list in it.
environment() {
	local want
	want=$(packages "$1") || return 1
	venv=$B/languages/${1%%-*}
	[ "$(cat "$venv/have" 2>/dev/null)" = "$want" ] && return 0
	mkdir -p "$B/languages"
	# shellcheck disable=SC2086
	python3 -m venv "$venv" >"$venv.log" 2>&1 && timeout 1800 "$venv/bin/pip" -q --disable-pip-version-check install $want >>"$venv.log" 2>&1 &&
		echo "$want" >"$venv/have"
}
# program NAME CC FILE ARGUMENTS...: its own "ok" and "FAIL" lines
program() {
	local name=$1 cc=$2 said
	shift 2
	said=$(timeout 1500 "$B/bin/vgpu" run $option --cc "$cc" -- "$venv/bin/python" -W ignore "$@" 2>"$venv.err" | tr -d "\\0")
	st=$?
	sed -En "s#^(ok|FAIL|skip) #\1 $name/$cc/#p" <<<"$said"
	if [ $st != 0 ] && ! grep -q '^FAIL' <<<"$said"; then
		echo "FAIL $name/$cc status $st: $(tail -1 "$venv.err")"
	fi
	[ $st = 0 ] || bad=1
}

# source PACKAGE VERSION: its source package, unpacked in $src
source_of() {
	src=$venv/src/$1-$2
	[ -d "$src" ] && return 0
	mkdir -p "$venv/src"
	# CuPy's builder asks for CUDA's headers before it says its name, but not where documents are made
	READTHEDOCS=True timeout 600 "$venv/bin/pip" -q --disable-pip-version-check download --no-deps --no-binary "$1" -d "$venv/src" "$1==$2" >>"$venv.log" 2>&1 &&
		tar -C "$venv/src" -xf "$venv/src/$1-$2.tar.gz"
}
# suite NAME CC PERCENT FOLDER ARGUMENTS...: a package's own tests from a folder, each argument in a process of its own; percent of them may fail
suite() {
	local name=$1 cc=$2 percent=$3 at=$4 ran=0 failed=0 left=0 r f a part
	shift 4
	: >"$venv.txt"
	for part in "$@"; do
		(cd "$at" && timeout -k 60 "${LIMIT:-3600}" "$B/bin/vgpu" run --cc "$cc" -- "$venv/bin/python" "$here/pytest_suite.py" -e "${EVERY:-1}" -f "${FROM:-0}" \
			-a 'lib(cufft|curand|cusolver|cusparse|cusparselt|cutensor|nccl|cudnn)|(CUFFT|CUSOLVER_STATUS|CUSPARSE_STATUS)_NOT_SUPPORTED' "$part") >"$venv.part" 2>"$venv.err"
		st=$?
		cat "$venv.part" >>"$venv.txt"
		if ! read -r r f a < <(sed -n 's/^ran \([0-9]*\) failed \([0-9]*\) skipped [0-9]* absent \([0-9]*\)$/\1 \2 \3/p' "$venv.part"); then
			echo "FAIL $name $part did not end: status $st: $(tail -1 "$venv.err")"
			bad=1
			continue
		fi
		ran=$((ran + r)) failed=$((failed + f)) left=$((left + a))
	done
	if [ $ran -gt 0 ] && [ $((failed * 100)) -le $((ran * percent)) ]; then
		echo "ok $name $failed of $ran fail, $percent of a hundred may; $left want a library that is not there"
	else
		echo "FAIL $name $failed of $ran fail: $venv.txt"
		bad=1
	fi
}

for name in "${@:-triton numba core tinygrad cupy jax taichi halide}"; do
for name in $name; do
	if ! environment "$name"; then
		echo "skip $name its packages cannot be had: $(tail -1 "$B/languages/${name%%-*}.log" 2>/dev/null)"
		continue
	fi
	case $name in
	triton)
		# an empty cache: what is looked at is compiled by ptxas of ours
		TRITON_CACHE_DIR=$(mktemp -d) && export TRITON_CACHE_DIR
		for cc in 7.5 8.0 9.0; do
			program "$name" $cc "$here/triton_kernels.py"
		done
		program "$name" 9.0 "$here/triton_tma.py"
		rm -rf "$TRITON_CACHE_DIR"
		unset TRITON_CACHE_DIR
		;;
	triton-wide)
		TRITON_CACHE_DIR=$(mktemp -d) && export TRITON_CACHE_DIR
		for cc in 7.5 8.0 9.0; do
			program "$name" $cc "$here/triton_wide.py"
		done
		rm -rf "$TRITON_CACHE_DIR"
		unset TRITON_CACHE_DIR
		;;
	numba)
		for cc in 7.5 8.0; do
			program "$name" $cc "$here/numba_kernels.py"
		done
		;;
	core)
		for cc in 8.0 9.0; do
			program "$name" $cc "$here/core_ops.py"
		done
		;;
	numba-suite)
		timeout 3600 "$B/bin/vgpu" run --cc 8.0 -- "$venv/bin/python" "$here/numba_suite.py" 2>"$venv.err" | tee "$venv.txt" | grep -v '^not '
		read -r ran failed < <(sed -n 's/^ran \([0-9]*\) failed \([0-9]*\) .*/\1 \2/p' "$venv.txt")
		if [ -n "${ran:-}" ] && [ $((failed * 100)) -le $((ran * 2)) ]; then
			echo "ok $name $failed of $ran fail, two of a hundred may"
		else
			echo "FAIL $name ${failed:-all} of ${ran:-?} fail: $venv.txt"
			bad=1
		fi
		;;
	tinygrad)
		program "$name" 7.5 "$here/tinygrad_ops.py"
		CUDA_PTX=1 program "$name-ptx" 8.0 "$here/tinygrad_ops.py"
		;;
	tinygrad-suite)
		torch=$(echo "$B"/languages/torch/lib/python3*/site-packages)
		if ! [ -d "$torch/torch" ] || ! source_of tinygrad 0.12.0; then
			echo "skip $name wants tinygrad's source package, and torch's environment: tests/languages/run.sh BUILD torch makes it"
			continue
		fi
		# its own NVRTC before torch's, which is of CUDA 12 and has not cuda_fp16.h beside it; a cache would hide that
		torch=$(echo "$venv"/lib/python3*/site-packages):$torch
		export CACHELEVEL=0
		PYTHONPATH=$torch DEV=CUDA suite "$name" 7.5 0 "$src" test/test_ops.py
		# its isnan is setp.ne of a number with itself, which is false for NaN: three tests, and so on hardware
		PYTHONPATH=$torch DEV=CUDA CUDA_PTX=1 suite "$name-ptx" 8.0 1 "$src" test/test_ops.py
		unset CACHELEVEL
		;;
	cupy-suite)
		source_of cupy 14.2.0 || { echo "skip $name its source package cannot be had: $(tail -1 "$venv.log")"; continue; }
		# a part of it compiles by nvcc, and does not even load without: a toolkit of ours has one
		[ -x "$venv/toolkit/bin/nvcc" ] || "$B/bin/vgpu" toolkit "$venv/toolkit" >>"$venv.log" 2>&1
		[ ! -x "$venv/toolkit/bin/nvcc" ] || export NVCC=$venv/toolkit/bin/nvcc
		export CUPY_TEST_GPU_LIMIT=1
		suite "$name" 10.0 3 "$src/tests" cupy_tests/{core,creation,math,sorting,logic,indexing,statistics,manipulation}_tests \
			cupy_tests/linalg_tests/test_product.py cupy_tests/test_cublas.py
		unset NVCC CUPY_TEST_GPU_LIMIT
		;;
	cupy)
		# its CUB and thrust kernels are for 10.0 at least
		program "$name" 10.0 "$here/cupy_ops.py"
		program "$name-low" 8.0 "$here/cupy_low.py"
		;;
	clangcupy)
		program "$name" 10.0 "$here/cupy_ops.py"
		;;
	torch)
		option=--torch
		program "$name" 8.0 "$here/torch_eager.py"
		program "$name-train" 8.0 "$here/torch_train.py"
		program "$name-edges" 8.0 "$here/torch_edges.py"
		program "$name-vision" 8.0 "$here/torch_vision.py"
		for cc in 8.0 9.0; do
			program "$name-compile" $cc "$here/torch_compile.py"
		done
		program "$name-ranks" 8.0 "$here/torch_ranks.py"
		program "$name-triton" 9.0 "$here/torch_triton.py"
		option=
		;;
	torch-newest)
		option=--torch
		program "$name" 8.0 "$here/torch_eager.py"
		program "$name-compile" 8.0 "$here/torch_compile.py"
		program "$name-ranks" 8.0 "$here/torch_ranks.py"
		program "$name-triton" 9.0 "$here/torch_triton.py"
		option=
		;;
	torch-extension)
		# nvcc as its wheels have it, then a toolkit of ours; ninja is beside Python
		option=--torch
		PATH=$venv/bin:$PATH program "$name" 8.0 "$here/torch_extension.py"
		[ -x "$venv/toolkit/bin/nvcc" ] || "$B/bin/vgpu" toolkit "$venv/toolkit" >>"$venv.log" 2>&1
		if [ -x "$venv/toolkit/bin/nvcc" ]; then
			PATH=$venv/bin:$PATH program "$name-toolkit" 8.0 "$here/torch_extension.py" "$venv/toolkit"
		fi
		option=
		;;
	torch-packages)
		# from their sources, as their users build them; torchsort looks for an nvcc on the PATH
		option=--torch
		folder=$(echo "$venv"/lib/python3*/site-packages/nvidia/cu13/bin)
		if FORCE_CUDA=1 FORCE_ONLY_CUDA=1 PATH=$folder:$venv/bin:$PATH timeout 3000 "$B/bin/vgpu" run --torch --cc 8.0 -- "$venv/bin/pip" -q --disable-pip-version-check install \
		   --no-build-isolation --no-deps --no-cache-dir --no-binary :all: torch_scatter==2.1.2 torchsort==0.1.9 >>"$venv.log" 2>&1; then
			program "$name" 8.0 "$here/torch_packages.py"
		else
			echo "FAIL $name they are not built: $(grep -m 1 -E 'error[: ]' "$venv.log")"
			bad=1
		fi
		option=
		;;
	torch-samples)
		option=--torch
		program "$name" 8.0 "$here/torch_samples.py"
		option=
		;;
	torch-digits)
		option=--torch
		program "$name" 8.0 "$here/torch_digits.py"
		option=
		;;
	torch-modules)
		option=--torch
		program "$name" 8.0 "$here/torch_modules.py"
		option=
		;;
	torch-gems)
		option=--torch
		program "$name" 8.0 "$here/torch_gems.py"
		option=
		;;
	torch-inductor)
		option=--torch
		program "$name" 8.0 "$here/torch_inductor.py" "${COUNT:-300}"
		option=
		;;
	tensorflow)
		# its PTX is for 9.0
		program "$name" 9.0 "$here/tensorflow_ops.py"
		;;
	taichi)
		program "$name" 8.0 "$here/taichi_ops.py"
		;;
	halide)
		for cc in 6.1 8.6; do
			program "$name" $cc "$here/halide_ops.py" $cc
		done
		;;
	jax | jax13)
		# its plugin's own kernels are for 12.0
		program "$name" 12.0 "$here/jax_ops.py"
		;;
	jax-wide)
		program "$name" 12.0 "$here/jax_wide.py"
		;;
	esac
done
done
exit $bad
