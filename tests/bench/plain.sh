#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain.sh [BUILD [ROUNDS]]: do the figures of `vgpu bench launch` agree with those of a plain C program that knows
# nothing but <cuda.h>? Runs both in turn, prints medians and their ratio. A benchmark: it judges nothing, and a busy
# machine spoils it.
set -eu
B=$(cd "${1:-build}" && pwd)
n=${2:-3}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
[ -x "$B/test/bench/launch_plain" ] || make -s "${B##*/}/test/bench/launch_plain"
for i in $(seq "$n"); do
	"$B/bin/vgpu" bench launch -j >"$tmp/bench.$i"
	"$B/bin/vgpu" run --private -- "$B/test/bench/launch_plain" -j >"$tmp/plain.$i"
done
python3 - "$tmp" "$n" <<'PY'
import json, statistics, sys
tmp, n = sys.argv[1], int(sys.argv[2])
load = lambda who: [json.load(open(f"{tmp}/{who}.{i}")) for i in range(1, n + 1)]
bench, plain = load("bench"), load("plain")
mid = lambda runs, k: statistics.median(r[k]["p50"] if isinstance(r[k], dict) else r[k] for r in runs)
print(f"{'':16}{'bench launch':>14}{'plain C':>14}{'ratio':>8}")
for k in "submit0_ns", "submit_ns", "submit16_ns", "submit64_ns", "sync_ns", "launch_per_s":
    a, b = mid(bench, k), mid(plain, k)
    print(f"{k:16}{a:14.1f}{b:14.1f}{max(a, b) / min(a, b):8.2f}")
PY
