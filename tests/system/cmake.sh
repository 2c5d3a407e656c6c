#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# find_package(CUDAToolkit) of CMake's own, which finds lib/vgpu/sdk: in the build tree and installed; nothing of NVIDIA's anywhere.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT CUDACXX CUDA_PATH CUDA_HOME CUDAToolkit_ROOT
export XDG_RUNTIME_DIR=$dir
command -v cmake >/dev/null || { skip "find_package: no cmake"; exit 0; }
cd "$(dirname "$0")/../.." || exit
PREFIX=$dir/prefix SYSCONFDIR=$dir/prefix/etc DESTDIR='' tools/service/install.sh install "$B" >"$dir/log" 2>&1 || fail "install: $(tail -n 3 "$dir/log")"
for at in "$B/lib/sdk" "$dir/prefix/lib/vgpu/sdk"; do
	t=$dir/out-${#at}
	name=$([ "$at" = "$B/lib/sdk" ] && echo "the build tree" || echo "an installed vgpu")
	if cmake -S tests/system/cmake -B "$t" -DCUDAToolkit_ROOT="$at" >"$dir/log" 2>&1 && grep -q "toolkit 13.1.0 in $at/bin" "$dir/log"; then
		ok "found: $name"
	else
		fail "find_package: $(tail -n 12 "$dir/log")"
		continue
	fi
	for p in ask ask_static; do
		cmake --build "$t" --target $p >"$dir/log" 2>&1 && timeout 60 "$V/vgpu" run -- "$t/$p" >"$dir/out" 2>&1 && grep -q '^answered: 1 devices, 1 boards' "$dir/out" &&
			ok "$name: $p links and runs" || fail "$name, $p: $(tail -n 5 "$dir/log" "$dir/out")"
	done
	readelf -d "$t/ask_static" | grep -q libcudart && fail "$name: ask_static wants libcudart.so" || ok "$name: cudart is in the static one"
done
"$B/lib/sdk/bin/nvcc" --version | grep -q 'V13\.1\.0.*vgpu' && ok "nvcc --version says whose it is" || fail "nvcc --version"
