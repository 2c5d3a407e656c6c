#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu bench: every figure is there and a number where this machine can have one. How large they are is no test.
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
    figures += [r["cores2_over_c2"], *r["cores2_over_one"].values()]
assert all(math.isfinite(f) and f > 0 for f in figures), figures
assert r["compile_ms"]["entries"] == 11 and r["compile_ms"]["failed"] == 0, r["compile_ms"]
PY
	ok "bench engine: all results right, all figures there" || fail "bench engine: $(cat "$dir/err" "$dir/json")"
"$V/vgpu" bench engine --frob 2>/dev/null; [ $? = 2 ] && ok "bench engine: usage" || fail "bench engine: an option that is not there is taken"

"$V/vgpu" bench launch -j -d "$dir/dist" >"$dir/json" 2>"$dir/err" && python3 - "$dir/json" "$dir/dist" <<'PY' &&
import json, math, os, sys, xml.dom.minidom
r = json.load(open(sys.argv[1]))
cpus = len(os.sched_getaffinity(0))
for k in "submit_ns", "submit64_ns", "submit0_ns", "submit16_ns", "submit_runtime_ns", "graph_ns", "event_ns", "copy_submit_ns", "sync_ns", "complete_ns", "first_ns":
    assert 0 < r[k]["p50"] <= r[k]["p99"] <= r[k]["p999"], (k, r[k])
for k in "noop_per_s", "launch_per_s", "tsc_ghz":
    assert r[k] > 0, (k, r[k])
assert all(v > 0 for v in r["clients_launch_per_s"].values()) and set(r["clients_launch_per_s"]) == {"1", "2", "4", "8", "16", "32"}
assert all(v > 0 for v in r["streams_launch_per_s"].values())
assert r["mode_sync_ns"]["adaptive"]["p50"] > 0 and r["mode_sync_ns"]["sleep"]["p50"] > 0
assert r["idle_wakeups_per_s"] >= 0
for k in "submit_over_push", "submit64_over_push", "graph_over_submit", "sync_over_unix", "first_over_futex":
    assert r[k] > 0 if cpus > 1 else r[k] is None, (k, r[k])
assert "sync_over_line" in r
# HdrHistogram's format: value, percentile, count, never smaller than the line before, and the last one is all
rows = [l.split() for l in open(sys.argv[2] + "/sync.hgrm") if l.strip() and not l.startswith("#")][1:]
for a, b in zip(rows, rows[1:]):
    assert all(float(x) <= float(y) for x, y in zip(a[:3], b[:3])), (a, b)
assert float(rows[-1][1]) == 1 and int(rows[-1][2]) == 4000, rows[-1]
svg = xml.dom.minidom.parse(sys.argv[2] + "/launch.svg")
assert len(svg.getElementsByTagName("polyline")) >= 4
PY
	ok "bench launch: all figures there, distributions and picture in their formats" || fail "bench launch: $(cat "$dir/err" "$dir/json")"
"$V/vgpu" bench copy -j -m 4M >"$dir/json" 2>"$dir/err" && python3 - "$dir/json" <<'PY' &&
import json, sys
r = json.load(open(sys.argv[1]))
assert [s["bytes"] for s in r["sizes"]] == [4 ** k for k in range(1, 12)]
assert all(s[k][w] > 0 for s in r["sizes"] for k in ("pinned_ns", "pageable_ns") for w in ("h2d", "d2h"))
assert all(r[k][w] > 0 for k in ("pinned_over_memcpy", "pageable_over_memcpy") for w in ("h2d", "d2h"))
PY
	ok "bench copy: all sizes, both ways" || fail "bench copy: $(cat "$dir/err" "$dir/json")"
"$V/vgpu" bench scale -q -j >"$dir/json" 2>"$dir/err" && python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["alone_per_s"] > 0 and r["beside_idle_per_s"] > 0 and r["idle_clients"] == 31' "$dir/json" &&
	ok "bench scale: a client beside 31 idle ones" || fail "bench scale: $(cat "$dir/err" "$dir/json")"
"$V/vgpu" bench fair -q -j >"$dir/json" 2>"$dir/err" && python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert [[h["weight"] for h in c] for c in r["shares"]] == [[100, 100], [100, 300], [100, 100, 200], [100, 1000]]
# of six digits each
assert all(abs(sum(h["share"] for h in c) - 1) < 1e-5 and all(h["share"] > 0 for h in c) for c in r["shares"])
for k in "alone", "beside_hog":
    assert r[k]["p99_ns"] >= r[k]["p50_ns"] > 0' "$dir/json" &&
	ok "bench fair: a share for each hog, a wait for the small client" || fail "bench fair: $(cat "$dir/err" "$dir/json")"
for w in launch copy scale fair; do
	"$V/vgpu" bench $w -Z 2>/dev/null; [ $? = 2 ] || fail "bench $w: an option that is not there is taken"
	"$V/vgpu" bench $w more 2>/dev/null; [ $? = 2 ] || fail "bench $w: an argument that means nothing is taken"
done
"$B/bin/vgpu" run --private -- "$B/test/bench/launch_plain" -j >"$dir/json" 2>"$dir/err" && python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["submit_ns"]["p50"] > 0 and r["sync_ns"]["p50"] > 0 and r["launch_per_s"] > 0' "$dir/json" &&
	ok "a plain C program measures the same" || fail "launch_plain: $(cat "$dir/err" "$dir/json")"
