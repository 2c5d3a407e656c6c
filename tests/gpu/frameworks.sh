#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unmodified PyTorch, Triton, CuPy, JAX, numba and programs of nvcc's, on a GPU: natively, then on VGPU-STUB with --engine cuda as "vgpu run"
# has them, and the results of both beside each other. For a machine with an NVIDIA driver, what is to be tried, and the built tree
# (make all). What fails natively says nothing about us and is skipped; bits that have to be the same are compared.
#
#   frameworks.sh [-d N] [-b LIBCUBLAS] [-p PYTHON] [-t S] [-j N] BUILD [LIBCUDA] [PART...]
#                                          -d: which GPU; -p: whose packages (python3); -t: seconds for a part, natively and here each (40)
#                                          -b: the host's libcublas.so.13 (default: PYTHON's wheel); "" for the engine's own kernels
#                                          -j: so many parts at once (5)
#
# The parts: torch compile program sorts parts managed cupy numba jax, speed (figures, alone at the end), typed (a private device), and
# more-... (what NVIDIA's other libraries do with our libcudart: told, not counted). The logs stay in BUILD/gpu/frameworks.
set -u
number=0 blas=auto python=python3 most=40 at_once=5
while getopts d:b:p:t:j: o; do
	case $o in d) number=$OPTARG ;; b) blas=$OPTARG ;; p) python=$OPTARG ;; t) most=$OPTARG ;; j) at_once=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n 's/^#   \(frameworks.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
B=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/gpu/driver.sh
. "$here/driver.sh"
find_driver frameworks "${2:-}" "frameworks.sh BUILD LIBCUDA"
shift $(($# > 1 ? 2 : 1))
parts=${*:-torch program compile sorts parts managed cupy jax numba more-fft more-cudnn more-linalg more-sparse more-cudnn_half typed speed}

dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-frameworks-XXXXXX")
logs=$B/gpu/frameworks
mkdir -p "$logs"
bad=0
trap cleanup EXIT
has() { [[ " $parts " == *" $1 "* ]]; }
# caches of compilers of its own for each: what is compiled natively is not found here
apart() { # native|here PART COMMAND...
	local c=$dir/cache-$1-$2
	shift 2
	mkdir -p "$c"
	(
		export CUPY_CACHE_DIR="$c/cupy" TRITON_CACHE_DIR="$c/triton" TORCHINDUCTOR_CACHE_DIR="$c/inductor" CUDA_CACHE_PATH="$c/driver" \
			NUMBA_CACHE_DIR="$c/numba" PYTORCH_KERNEL_CACHE_PATH="$c" TORCHINDUCTOR_COMPILE_THREADS=1 XLA_PYTHON_CLIENT_PREALLOCATE=false \
			PYTHONDONTWRITEBYTECODE=1
		"$@"
	)
}
native() { # COMMAND...
	if [ -n "${VGPU_HOST_AGENT:-}" ]; then
		VGPU_AGENT=$VGPU_HOST_AGENT "$B/bin/vgpu" run -- "$@"
	else
		env -u VGPU_AGENT CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-$number}" LD_LIBRARY_PATH="$(dirname "$lib")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
	fi
}
ours() { VGPU_AGENT=$dir/agent "$B/bin/vgpu" run ${verbose:-} -- "$@"; }
ms() { echo $(($(date +%s%N) / 1000000)); }

command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
command -v "$python" >/dev/null || { echo "skip frameworks no $python here"; exit 77; }
if [ "$blas" = auto ]; then
	blas=$("$python" -c 'import glob, sys
print(next((f for p in sys.path if p for f in glob.glob(glob.escape(p) + "/nvidia/c*/lib/libcublas.so.13")), ""))')
fi
echo "driver: $lib; cuBLAS: ${blas:-none}; python: $(command -v "$python")"

start_gpu 60 || { echo "FAIL frameworks the $failed does not start"; tail -n 15 "$logs/stub.log" "$logs/agent.log"; exit 1; }

# compile PROGRAM WORD...: by nvcc
compile() {
	local p=$1
	shift
	command -v nvcc >/dev/null || { echo "no nvcc here" >"$logs/$p.nvcc"; return 1; }
	timeout -k 2 90 nvcc -O2 -std=c++17 -o "$dir/$p" "$@" >"$logs/$p.nvcc" 2>&1
}
cc=$(VGPU_AGENT="$dir/agent" "$B/bin/vgpu" smi -j | sed -n 's/.*"compute_capability": *"\([0-9]*\)\.\([0-9]*\)".*/\1\2/p' | head -n 1)
machine="-gencode arch=compute_$cc,code=sm_$cc" both="-gencode arch=compute_$cc,code=[sm_$cc,compute_$cc]"
[ -z "${VGPU_HOST_AGENT:-}" ] || machine="-gencode arch=compute_$cc,code=compute_$cc" both="-gencode arch=compute_$cc,code=compute_$cc"
# what a part runs: in the array run
prepare() {
	case $1 in
	torch) run=("$python" "$here/frameworks/torch_eager.py") ;;
	compile) run=("$python" "$here/frameworks/torch_compile.py") ;;
	cupy) run=("$python" "$here/frameworks/cupy_arrays.py") ;;
	jax) run=("$python" "$here/frameworks/jax_arrays.py") ;;
	numba) run=("$python" "$here/../languages/numba_kernels.py") ;;
	speed) run=("$python" "$here/frameworks/speed.py") ;;
	more-*) run=("$python" "$here/frameworks/more.py" "${1#more-}") ;;
	# machine code alone; PTX for an older GPU, which the driver compiles; both
	program) run=("$dir/$1") && compile "$1" $machine "$here/frameworks/$1.cu" ;;
	sorts | managed) run=("$dir/$1") && compile "$1" -gencode arch=compute_80,code=compute_80 "$here/frameworks/$1.cu" ;;
	parts) run=("$dir/$1") && compile parts -rdc=true $both "$here/frameworks/parts_a.cu" "$here/frameworks/parts_b.cu" -lcudadevrt ;;
	*) return 1 ;;
	esac
}
# one PART: its lines go to standard output
one() {
	local part=$1 run=() t u st verbose=''
	prepare "$part" || { echo "skip frameworks/$part cannot be made: $(tail -n 1 "$logs/$part.nvcc" 2>/dev/null)"; return; }
	[[ $part != more-* ]] || verbose=-v
	t=$(ms)
	if [[ $part != more-* ]]; then
		apart native "$part" native timeout -k 2 "$most" "${run[@]}" >"$logs/$part.native" 2>"$logs/$part.native.err" </dev/null
		echo "ended with $?" >>"$logs/$part.native.err"
	fi
	u=$(ms)
	apart here "$part" ours timeout -k 2 "$most" "${run[@]}" >"$logs/$part.here" 2>"$logs/$part.here.err" </dev/null
	st=$?
	echo "ended with $st" >>"$logs/$part.here.err"
	if [[ $part == more-* ]]; then
		echo "     frameworks/$part: $(grep "^ok\|^no" "$logs/$part.here" || echo "ended with $st: $(grep -v "^vgpu: .*=" "$logs/$part.here.err" | tail -n 2 | head -n 1)")"
		return
	fi
	python3 "$here/frameworks/compare.py" "$part" "$logs/$part.native" "$logs/$part.here" $((u - t)) $(($(ms) - u)) "$st"
}
part_in_turn() {
	one "$1" >"$dir/said.$1" 2>&1
	cat "$dir/said.$1"
}
for part in $parts; do
	case $part in speed | typed) continue ;; esac
	while [ "$(jobs -pr | wc -l)" -ge $((at_once + 2)) ]; do sleep 0.05; done
	part_in_turn "$part" &
	mine="${mine:-} $!"
done
for p in ${mine:-}; do wait "$p"; done
if has typed; then
	t=$(ms)
	out=$(timeout -k 2 "$most" "$B/bin/vgpu" run --engine cuda --cuda-library "$lib" --cuda-device "$number" ${blas:+--cublas-library "$blas"} -- "$python" -c \
		'import torch; a = torch.ones(64, 64, device="cuda"); print("sum", (a @ a + 1).sum().item())' 2>"$logs/typed.err" </dev/null)
	if [ "$out" = "sum 266240.0" ]; then echo "ok frameworks/typed $(($(ms) - t)) ms"; else echo "FAIL frameworks/typed $out $(tail -n 2 "$logs/typed.err" | tr '\n' ' ')" >"$dir/said.typed"; cat "$dir/said.typed"; fi
fi
! has speed || part_in_turn speed
grep "sandbox forbids\|mapping that it was not given\|cuBLAS\|CUBLAS\|matrix products without\|kernel-time\|did not answer" "$logs/stub.log" | sort | uniq -c | sort -rn | head -n 12
! cat "$dir"/said.* 2>/dev/null | grep -q "^FAIL" || bad=1
[ $bad = 0 ] || grep -v ": DMA_\|admin op\|: ready" "$logs/stub.log" | tail -n 20 | cut -c1-300
exit $bad
