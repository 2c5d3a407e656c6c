#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu bench engine: it compares every result with C's and prints every figure. How large they are is no test.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/.." && pwd)

"$V/vgpu" bench engine -j -t 0.01 --binary "$here/e2e/kernels/misc.ptx" >"$dir/json" 2>"$dir/err" && python3 - "$dir/json" <<'PY' &&
import json, math, os, sys
r = json.load(open(sys.argv[1]))
keys = {"saxpy", "mmvq_q8_0", "mmvq_q4_0", "rms_norm", "block_reduce", "quantize_q8_1"}
figures = [r["launch_us"]["empty1"], r["launch_us"]["empty1000"], r["compile_ms"]["p50"], r["compile_ms"]["p99"]]
for k in "over_c", "jit_over_interp":
    assert keys <= set(r[k]), r[k]
    figures += r[k].values()
if len(os.sched_getaffinity(0)) > 1:
    figures.append(r["cores2_over_c2"])
assert all(math.isfinite(f) and f > 0 for f in figures), figures
assert r["compile_ms"]["entries"] == 11 and r["compile_ms"]["failed"] == 0, r["compile_ms"]
PY
	ok "bench engine: all results right, all figures there" || fail "bench engine: $(cat "$dir/err" "$dir/json")"
"$V/vgpu" bench engine --frob 2>/dev/null; [ $? = 2 ] && ok "bench engine: usage" || fail "bench engine: an option that is not there is taken"
