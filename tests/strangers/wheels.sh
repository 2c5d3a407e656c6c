#!/bin/bash
# SPDX-License-Identifier: MIT
# Wheels of PyPI that nobody here had tried, unmodified: vgpu run -- python, and what a program of ours finds wrong with them.
#   tests/strangers/wheels.sh BUILD [NAME...]      default: openmm drjit compute warp faiss images slang random keops bytes tuner pyfr vkfft; by name only: mujoco (minutes), thinc, aer, mojo (1 GB each), iree, cudf (5 GB)
# Each has a virtual environment in BUILD/strangers, with the versions below; what they are and compare: wheels/NAME_*.py.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip wheels: some 4 GB: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/wheels.sh BUILD NAME"; exit 0; }
mkdir -p "$B/strangers"
bad=0

packages() {
	case $1 in
	openmm) echo openmm==8.6.1 openmm-cuda-12==8.6.1 nvidia-cuda-nvrtc-cu12==12.9.86 numpy==2.2.6 ;;
	drjit) echo drjit==1.5.0 numpy==2.2.6 ;;
	compute) echo 'cuda-cccl[cu13]==1.2.1' cuda-bindings==13.5.0 cuda-core==1.2.2 'cuda-toolkit==13.5.0' numpy==2.4.6 ;;
	warp) echo warp-lang==1.19.0 numpy==2.2.6 ;;
	mujoco) echo warp-lang==1.19.0 mujoco==4.0.0 mujoco-warp==4.0.0 absl-py 'etils[epath]' ;;
	faiss) echo numpy==2.4.6 packaging ;;
	images) echo pyclesperanto==0.25.1 pyclesperanto-cuda==0.25.1 scipy==1.17.1 numpy==2.2.6 ;;
	slang) echo slangpy==0.43.1 nvidia-cuda-nvrtc==13.2.86 nvidia-cuda-runtime==13.2.86 nvidia-cuda-crt==13.2.86 numpy==2.2.6 ;;
	random) echo cupy-cuda13x==14.2.0 nvidia-curand==10.4.5.25 nvidia-cuda-nvrtc==13.1.115 nvidia-cuda-runtime==13.1.80 numpy==2.2.6 ;;
	iree) echo iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 jax==0.10.2 jaxlib==0.10.2 numpy==2.2.6 ;;
	cudf) echo cudf-cu12==26.10.2 ;;
	keops) echo pykeops==2.3 nvidia-cuda-nvrtc==13.1.115 nvidia-cuda-runtime==13.1.80 nvidia-cuda-crt==13.1.115 nvidia-cuda-cccl==13.1.115 numpy==2.4.6 ;;
	bytes) echo numpy==2.4.6 ;;
	tuner) echo kernel_tuner==1.5.0 cupy-cuda13x==14.2.0 cuda-bindings==13.1.1 cuda-core==1.2.2 nvidia-cuda-nvrtc==13.1.115 nvidia-cuda-runtime==13.1.80 ;;
	pyfr) echo pyfr==3.1 mpich==5.0.2 nvidia-cuda-nvrtc==13.1.115 ;;
	vkfft) echo cupy-cuda13x==14.2.0 nvidia-cuda-nvrtc==13.1.115 nvidia-cuda-runtime==13.1.80 scipy==1.17.1 setuptools==75.1.0 wheel==0.48.0 ;;
	thinc) echo thinc==8.3.11 spacy==3.8.11 click cupy-cuda13x==14.2.0 nvidia-curand==10.4.5.25 nvidia-cuda-nvrtc==13.1.115 nvidia-cuda-runtime==13.1.80 ;;
	aer) echo 'qiskit<3' scipy==1.17.1 psutil python-dateutil ;;
	mojo) echo mojo==1.2.0 ;;
	*) return 1 ;;
	esac
}
# Made once; whole when it has its list in it.
environment() {
	local want
	want=$(packages "$1") || { echo "wheels.sh: no $1 here" >&2; exit 2; }
	venv=$B/strangers/$1
	[ "$(cat "$venv/have" 2>/dev/null)" = "$want" ] && return 0
	# shellcheck disable=SC2086
	python3 -m venv "$venv" >"$venv.log" 2>&1 && timeout 1200 "$venv/bin/pip" -q --disable-pip-version-check install $want >>"$venv.log" 2>&1 || return 1
	# what is not to bring torch, or all of MAX, with it
	case $1 in
	bytes) timeout 300 "$venv/bin/pip" -q --disable-pip-version-check install --no-deps bitsandbytes==0.50.2 >>"$venv.log" 2>&1 || return 1 ;;
	faiss) timeout 300 "$venv/bin/pip" -q --disable-pip-version-check install --no-deps faiss-gpu-cu12==1.14.1.post1 >>"$venv.log" 2>&1 || return 1 ;;
	# of cuQuantum the libraries that it is linked with; for cuSOLVER's and cuSPARSE's names ours do
	aer) timeout 900 "$venv/bin/pip" -q --disable-pip-version-check install --no-deps qiskit-aer-gpu==0.18.2 custatevec-cu12==1.15.0 cutensornet-cu12==2.14.0 cutensor-cu12==2.8.1 >>"$venv.log" 2>&1 || return 1 ;;
	mojo) timeout 600 "$venv/bin/pip" -q --disable-pip-version-check install --no-deps max-core==26.7.0 max-mojo-libs==26.7.0 >>"$venv.log" 2>&1 || return 1 ;;
	vkfft)
		# its sources, by nvcc, against our libraries
		"$B/bin/vgpu" toolkit --nvcc "$B/nvcc" "$venv/toolkit" >>"$venv.log" 2>&1 &&
			VKFFT_BACKEND=cuda CUDA_PATH=$venv/toolkit CPATH=$(echo "$venv"/lib/python3*/site-packages/nvidia/cu13/include) LIBRARY_PATH=$B/lib \
				timeout 900 "$venv/bin/pip" -q --disable-pip-version-check install --no-deps --no-build-isolation --no-binary :all: pyvkfft==2025.1.1 >>"$venv.log" 2>&1 || return 1
		;;
	esac
	# it takes OpenCL first, where it is
	[ "$1" != images ] || "$venv/bin/pip" -q uninstall -y pyclesperanto-opencl >>"$venv.log" 2>&1
	echo "$want" >"$venv/have"
}
# program NAME CC FILE ARGUMENTS...
program() {
	local said st with=("$venv/bin/python" -W ignore)
	[ "${3##*.}" != mojo ] || with=("$venv/bin/mojo" run)
	said=$(timeout "${limit:-900}" "$B/bin/vgpu" run --cc "$2" -- "${with[@]}" "$here/wheels/$3" "${@:4}" 2>"$venv.err")
	st=$?
	sed -En "s#^(ok|FAIL|skip) #\1 $1/$2/#p" <<<"$said"
	[ $st = 0 ] && return
	grep -q '^FAIL' <<<"$said" || echo "FAIL $1/$2 status $st: $(tail -n 1 "$venv.err")"
	bad=1
}

for name in "${@:-openmm drjit compute warp faiss images slang random keops bytes tuner pyfr vkfft}"; do
	for name in $name; do
		if ! environment "$name"; then
			echo "skip $name: its packages cannot be had: $(tail -n 1 "$venv.log")"
			continue
		fi
		site=$(echo "$venv"/lib/python3*/site-packages)
		case $name in
		openmm) program "$name" 7.5 openmm_forces.py ;;
		drjit) program "$name" 7.5 drjit_ops.py ;;
		compute) program "$name" 8.0 compute_ops.py ;;
		warp) program "$name" 8.0 warp_ops.py ;;
		# NVRTC has its kernels for minutes
		mujoco) limit=2700 WARP_CACHE_PATH=$venv/cache program "$name" 8.0 mujoco_tests.py ;;
		# it loads cudart and cuBLAS of NVIDIA's packages, unless it is told not to
		faiss) _FAISS_WHEEL_DISABLE_CUDA_PRELOAD=1 program "$name" 7.5 faiss_refused.py ;;
		images) program "$name" 8.0 images_ops.py ;;
		iree)
			program "$name" 7.5 iree_ops.py sm_75
			program "$name" 8.0 iree_ops.py sm_80
			;;
		cudf) program "$name" 12.0 cudf_frames.py ;;
		random) program "$name" 12.0 cupy_random.py ;;
		keops)
			# a host's compiler builds what calls NVRTC, in a folder of its own
			KEOPS_CACHE_FOLDER=$venv/cache CUDA_PATH=$site/nvidia/cu13 CPATH=$site/nvidia/cu13/include/cccl program "$name" 7.5 keops_ops.py
			;;
		bytes) program "$name" 9.0 bytes_ops.py ;;
		tuner)
			program "$name" 7.5 tuner_ops.py cupy
			program "$name" 7.5 tuner_ops.py nvcuda
			;;
		pyfr) program "$name" 7.5 pyfr_flow.py ;;
		vkfft) program "$name" 10.0 vkfft_ops.py ;;
		thinc) program "$name" 12.0 thinc_ops.py ;;
		aer) LD_LIBRARY_PATH=$site/cuquantum/lib:$site/cutensor/lib:$B/lib/vgpu/xla program "$name" 7.5 aer_circuits.py ;;
		mojo) program "$name" 8.0 kernels.mojo ;;
		slang)
			# it looks into $CUDA_PATH/lib64 for the name without a number
			mkdir -p "$venv/cuda/lib64"
			ln -sfn "$site/nvidia/cu13/include" "$venv/cuda/include"
			for f in libnvrtc.so libnvrtc.so.13 libnvrtc.so.13.2.86; do ln -sf "$site/nvidia/cu13/lib/libnvrtc.so.13" "$venv/cuda/lib64/$f"; done
			CUDA_PATH=$venv/cuda program "$name" 8.0 slang_ops.py
			;;
		esac
	done
done
exit $bad
