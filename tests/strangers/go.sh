#!/bin/bash
# SPDX-License-Identifier: MIT
# Go programs over cgo, unmodified: gorgonia.org/cu's own tests, and mumax3 (micromagnetism; its kernels are PTX in its source) on those of
# its own simulations that need no Fourier transform; each says itself what it expects. A demagnetising field must end with the name of cuFFT's call.
#   tests/strangers/go.sh BUILD [NAME...]      gorgonia mumax
# CUDA 12's headers, and cuRAND's library, which mumax3 is linked with, come from PyPI.
set -uo pipefail
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || [ "${VGPU_TEST_STRANGERS:-}" = 1 ] || { echo "skip go: 300 MB of PyPI's and Go's: VGPU_TEST_STRANGERS=1 asks for them, or tests/strangers/go.sh BUILD NAME"; exit 0; }
command -v go >/dev/null || { echo "skip go: no go here"; exit 0; }
dir=$B/strangers/go
nv=$dir/headers/nvidia
mkdir -p "$dir/lib"
bad=0
if [ ! -e "$dir/have" ]; then
	timeout 600 python3 -m pip -q --disable-pip-version-check install --no-deps --upgrade --target "$dir/headers" nvidia-cuda-runtime-cu12==12.4.127 \
		nvidia-cuda-nvcc-cu12==12.4.131 nvidia-cufft-cu12==11.2.1.3 nvidia-curand-cu12==10.3.5.147 >"$dir/log" 2>&1 || {
		echo "skip go: CUDA's headers cannot be had: $(tail -n 1 "$dir/log")"
		exit 0
	}
	touch "$dir/have"
fi
ln -sf "$B/lib/vgpu/xla/libcufft.so.11" "$dir/lib/libcufft.so"
ln -sf "$nv/curand/lib/libcurand.so.10" "$dir/lib/libcurand.so"
cat >"$dir/go.mod" <<EOF
module strangers
go 1.22
require gorgonia.org/cu v0.9.6
require github.com/mumax/3 v0.0.0-20261020084628-54efa12420b2
EOF
export GOFLAGS=-mod=mod CGO_LDFLAGS="-L$dir/lib -L$B/lib/dev-12" CGO_CFLAGS=
for part in cuda_runtime cuda_nvcc cufft curand; do CGO_CFLAGS+=" -I$nv/$part/include"; done

# build NAME go's words...
build() {
	(cd "$dir" && timeout 600 go "${@:2}") >"$dir/log" 2>&1 && return 0
	if grep -q 'proxy\|dial tcp\|not available' "$dir/log"; then
		echo "skip $1: its module cannot be had: $(head -n 1 "$dir/log")"
	else
		echo "FAIL $1 does not build: $(grep -m 1 error "$dir/log" || tail -n 1 "$dir/log")"
		bad=1
	fi
	return 1
}

gorgonia() {
	local t
	build gorgonia test -c -vet=off -o cu.test gorgonia.org/cu || return
	cd "$(cd "$dir" && go list -m -f '{{.Dir}}' gorgonia.org/cu)" || return
	# apart: TestMalloc does not hold its goroutine to one thread, where its context is; TestLargeBatch is a hundred thousand rounds;
	# TestMultipleContextSingleHostThread wants a kernel to write another context's memory
	for t in TestBatchContext TestAttributes TestLaunchAndSync TestAllocAndCopy TestContext TestMultipleContext TestCUContext TestDevice TestVersion TestJIT \
		TestArray TestDevicePtr_AddressRange TestMemInfo TestMemcpy TestMemcpyAsync TestMemset TestModule; do
		# a goroutine that moves to another thread has no context there, as with NVIDIA's driver: such a try does not count
		for _ in 1 2 3 4 5; do
			timeout 100 "$B/bin/vgpu" run --cc 7.5 -- "$dir/cu.test" -test.v -test.run "^$t\$" >"$dir/out" 2>&1
			grep -aq InvalidContext "$dir/out" || break
		done
		if grep -aq "^--- PASS: $t" "$dir/out"; then
			echo "ok gorgonia/$t"
		else
			echo "FAIL gorgonia/$t: $(tail -n 1 "$dir/out")"
			bad=1
		fi
	done
}

mumax() {
	local t said
	build mumax build -o mumax3 github.com/mumax/3/cmd/mumax3 || return
	cd "$(cd "$dir" && go list -m -f '{{.Dir}}' github.com/mumax/3)/test" || return
	export LD_LIBRARY_PATH=$nv/curand/lib:$B/lib/vgpu/xla
	for t in exchange exchange_inhomo custom_exchange anisenergy mel-field mel-force-dmxdx-dmydx; do
		if timeout 200 "$B/bin/vgpu" run --cc 7.5 -- "$dir/mumax3" -http '' -f -o "$dir/$t.out" "$t.mx3" >"$dir/out" 2>&1 && grep -aq ' OK$' "$dir/out"; then
			echo "ok mumax/$t"
		else
			echo "FAIL mumax/$t: $(grep -a 'have:' "$dir/out" || tail -n 1 "$dir/out")"
			bad=1
		fi
	done
	printf '%s\n' 'setgridsize(32,32,1)' 'setcellsize(4e-9,4e-9,4e-9)' msat=800e3 'm=uniform(1,0,0)' 'print(B_demag.Average())' >"$dir/demag.mx3"
	said=$(timeout 100 "$B/bin/vgpu" run --cc 7.5 -- "$dir/mumax3" -http '' -f -o "$dir/demag.out" "$dir/demag.mx3" 2>&1) && { echo "FAIL mumax/demag: it had a Fourier transform"; bad=1; return; }
	if grep -aq 'vgpu libcufft: cufftPlan3d is not supported' <<<"$said"; then
		echo "ok mumax/demag is refused by name"
	else
		echo "FAIL mumax/demag: nobody says what is missing"
		bad=1
	fi
}

for name in "${@:-gorgonia mumax}"; do
	for name in $name; do
		case $name in
		gorgonia | mumax) (bad=0; $name; exit $bad) || bad=1 ;;
		*) echo "go.sh: no $name here" >&2; exit 2 ;;
		esac
	done
done
exit $bad
