#!/bin/sh
# SPDX-License-Identifier: MIT
# libcudart's own behaviour, both ABIs, over a driver that only records (mock_cuda.c).
#   tests/abi/test_runtime.sh [BUILD]       exit 0 passed, 1 failed, 77 skipped with the reason
set -eu
cd "$(dirname "$0")/../.." || exit
B=${1:-build}
CC=${CC:-gcc}
for v in 12 13; do
	[ -e "$B/lib/libcudart.so.$v" ] || { echo "no $B/lib/libcudart.so.$v: build first"; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
flags="-std=gnu11 -O1 -g -Wall -Wextra -Werror -Ilibcuda-lite/include -Itests/abi"

$CC $flags -fPIC -c -o "$tmp/mock.o" tests/abi/mock_cuda.c
nm --defined-only "$tmp/mock.o" | awk '{print $3}' | sort >"$tmp/have"
for v in 12 13; do
	nm -D --undefined-only "$B/lib/libcudart.so.$v" | awk '$2 ~ /^cu[A-Z]/ {print $2}' | sort >"$tmp/need"
	# what the mock has no body for answers 801, CUDA_ERROR_NOT_SUPPORTED
	comm -23 "$tmp/need" "$tmp/have" | sed 's/.*/int &(void); int &(void) { return 801; }/' >"$tmp/rest.c"
	mkdir -p "$tmp/$v"
	$CC -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$tmp/$v/libcuda.so.1" "$tmp/mock.o" "$tmp/rest.c"
	$CC $flags -DCUDART_VERSION=${v}000 -o "$tmp/$v/behaviour" tests/abi/runtime_behaviour.c \
		"$B/lib/libcudart.so.$v" "$tmp/$v/libcuda.so.1" -lpthread
	env -u LD_PRELOAD LD_LIBRARY_PATH="$tmp/$v:$B/lib" timeout 60 "$tmp/$v/behaviour"
done
