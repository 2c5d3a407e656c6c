#!/bin/bash
# SPDX-License-Identifier: MIT
# Rust's crates, unmodified: candle, whose kernels nvcc compiles when it is built (half an hour of processor time) and which links our libraries,
# against its CPU backend (rust/src/main.rs); CubeCL, which burn stands on and which has NVRTC compile what it writes: its CUDA runtime's own tests.
#   tests/strangers/rust.sh BUILD [NAME...]      default: cubecl; by name only: candle
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip rust: 1 GB of crates and wheels: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/rust.sh BUILD NAME"; exit 0; }
for tool in cargo python3; do command -v $tool >/dev/null || { echo "skip rust: no $tool here"; exit 0; }; done
dir=$B/strangers/rust nv=$B/strangers/rust/wheels/nvidia
want="nvidia-cuda-nvrtc==13.1.115 nvidia-cuda-runtime==13.1.80 nvidia-cuda-crt==13.1.115 nvidia-cuda-cccl==13.1.115 nvidia-curand==10.4.5.25"
mkdir -p "$dir"
bad=0
if [ "$(cat "$dir/have" 2>/dev/null)" != "$want" ]; then
	# shellcheck disable=SC2086
	timeout 600 python3 -m pip -q --disable-pip-version-check install --no-deps --upgrade --target "$dir/wheels" $want >"$dir/log" 2>&1 || {
		echo "skip rust: CUDA's headers and NVRTC cannot be had: $(tail -n 1 "$dir/log")"
		exit 0
	}
	echo "$want" >"$dir/have"
fi
# built NAME: cargo's words follow, in the folder NAME
built() {
	(cd "$dir/$1" && timeout 3000 cargo "${@:2}") >"$dir/log" 2>&1 && return 0
	if grep -qE 'failed to (download|fetch|get)|Could not resolve|no matching package' "$dir/log"; then
		echo "skip $1: its crates cannot be had: $(grep -m 1 error "$dir/log")"
	else
		echo "FAIL $1 does not build: $(grep -m 1 '^error' "$dir/log" || tail -n 1 "$dir/log")"
		bad=1
	fi
	return 1
}

cubecl() {
	local from program
	mkdir -p "$dir/asks/src"
	printf '[package]\nname = "asks"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ncubecl-cuda = "=0.10.0"\n' >"$dir/asks/Cargo.toml"
	: >"$dir/asks/src/lib.rs"
	built asks fetch || return
	from=$(cd "$dir/asks" && cargo metadata --format-version 1 2>>"$dir/log" | python3 -c 'import json, os, sys
print(*(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "cubecl-cuda"))')
	[ -e "$dir/cubecl/Cargo.toml" ] || { cp -r "$from" "$dir/cubecl" && printf '\n[profile.test]\ndebug = false\n' >>"$dir/cubecl/Cargo.toml"; }
	CUDARC_CUDA_VERSION=13010 built cubecl test --no-run || return
	program=$dir/cubecl/$(sed -n 's/.*Executable.*(\(.*\))/\1/p' "$dir/log")
	# The crate's cubecl.toml, which is looked for in the working folder, has kernels check their indices: they say what is out of bounds, and read
	# zero there. One test reads a vector of four bytes as two halves, whose second one the check takes for a second vector: it can only fail so.
	cubecl_tests "$dir/cubecl" cubecl/checked --skip reinterpret_slice_f16::global::read_from_i8x4
	cubecl_tests "$dir" cubecl/unchecked reinterpret_slice_f16
}

# cubecl_tests FOLDER NAME ARGUMENTS...
cubecl_tests() {
	local said folder=$1 name=$2
	shift 2
	said=$(cd "$folder" && CUDA_PATH=$nv/cu13 LD_LIBRARY_PATH=$nv/cu13/lib timeout 1800 "$B/bin/vgpu" run --cc 8.0 -- "$program" --test-threads=1 "$@" 2>&1)
	if grep -q '^test result: ok. [1-9]' <<<"$said"; then
		echo "ok $name/$(sed -n 's/^test result: ok. \([0-9]* passed\).*/\1/p' <<<"$said")"
	else
		echo "FAIL $name: $(grep -m 1 -E '^    tests::' <<<"$said" || tail -n 1 <<<"$said")"
		bad=1
	fi
}

candle() {
	local said st
	mkdir -p "$dir/candle/src" "$dir/lib"
	cp "$here/rust/Cargo.toml" "$dir/candle/" && cp "$here/rust/src/main.rs" "$dir/candle/src/"
	"$B/bin/vgpu" toolkit --nvcc "$B/nvcc" "$dir/toolkit" >"$dir/log" 2>&1 || { echo "skip candle: nvcc cannot be had: $(tail -n 1 "$dir/log")"; return; }
	# NVIDIA's, for its random numbers
	ln -sf "$nv/cu13/lib/libcurand.so.10" "$dir/lib/libcurand.so"
	NVCC=$dir/toolkit/bin/nvcc PATH=$dir/toolkit/bin:$PATH CUDA_HOME=$dir/toolkit CUDA_PATH=$dir/toolkit LIBRARY_PATH=$dir/lib CUDA_COMPUTE_CAP=80 built candle build --release || return
	said=$(LD_LIBRARY_PATH=$nv/cu13/lib timeout 900 "$B/bin/vgpu" run --cc 8.0 -- "$dir/candle/target/release/strangers-candle" 2>"$dir/err")
	st=$?
	sed -En "s#^(ok|FAIL) #\1 candle/#p" <<<"$said"
	[ $st = 0 ] && return
	grep -q '^FAIL' <<<"$said" || echo "FAIL candle status $st: $(tail -n 1 "$dir/err")"
	bad=1
}

for name in "${@:-cubecl}"; do
	case $name in
	cubecl | candle) $name ;;
	*) echo "rust.sh: no $name here" >&2; exit 2 ;;
	esac
done
exit $bad
