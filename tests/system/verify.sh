#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu run --verify: programs that pass without it pass with it, nothing differs, and the last line says so.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT VGPU_ENGINE
export XDG_RUNTIME_DIR=$dir
for p in vecadd reduce matmul hist scan globals managed vmm; do
	timeout 60 "$V/vgpu" run --verify -- "$B/e2e/driver/$p" >"$dir/out" 2>"$dir/err"; st=$?
	if ! "$V/vgpu" run --verify -- "$V/vgpu" smi | grep -q 'JIT, verified'; then skip "$p: no JIT here"; continue; fi
	[ $st = 0 ] && ! grep -q ===== "$dir/out" && tail -n 1 "$dir/err" | grep -q '^verify: [1-9][0-9]* launches compared, 0 differ' &&
		ok "$p: $(tail -n 1 "$dir/err")" || fail "$p: $st, $(head -n 5 "$dir/out" "$dir/err")"
done
