#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain.sh [BUILD [ROUNDS]]: do the figures of `vgpu bench launch` agree with those of a plain C program that knows
# nothing but <cuda.h>? Both use the same agent and device, which are kept off the first CPU as the bench's own are, and
# run in turn; medians of all rounds and their ratio. How far a program is from itself says how quiet the machine was:
# "spread" is the larger of the two, third quartile over first. A benchmark: it judges nothing, and a busy machine
# spoils it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "${1:-build}" && pwd)
n=${2:-9}
if [ -z "${PLAIN_DIR:-}" ]; then
	[ -x "$B/test/bench/launch_plain" ] || make -s -C "${B%/*}" "${B##*/}/test/bench/launch_plain"
	export PLAIN_DIR PLAIN_CPUS
	PLAIN_DIR=$(mktemp -d)
	trap 'rm -rf "$PLAIN_DIR"' EXIT
	# the CPUs that we may use, one a line; the first is the client's
	PLAIN_CPUS=$(taskset -cp $$ | sed 's/.*: //')
	others=$(tr , '\n' <<<"$PLAIN_CPUS" | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done | tail -n +2 | paste -sd,)
	taskset -c "${others:-$PLAIN_CPUS}" "$B/bin/vgpu" run --private -- "${BASH:-bash}" "$here/plain.sh" "$B" "$n"
	exit
fi
for i in $(seq "$n"); do
	taskset -c "$PLAIN_CPUS" "$B/bin/vgpu" bench launch -q -j >"$PLAIN_DIR/bench.$i"
	taskset -c "$PLAIN_CPUS" "$B/test/bench/launch_plain" -j >"$PLAIN_DIR/plain.$i"
done
python3 - "$PLAIN_DIR" "$n" <<'PY'
import json, statistics, sys
tmp, n = sys.argv[1], int(sys.argv[2])
load = lambda who: [json.load(open(f"{tmp}/{who}.{i}")) for i in range(1, n + 1)]
bench, plain = load("bench"), load("plain")
pick = lambda runs, k: [r[k]["p50"] if isinstance(r[k], dict) else r[k] for r in runs]
def spread(v):
    q = statistics.quantiles(v, n=4) if len(v) > 2 else [min(v), 0, max(v)]
    return q[2] / q[0]
print(f"{'':16}{'bench launch':>14}{'plain C':>14}{'ratio':>8}{'spread':>8}")
for k in "submit0_ns", "submit_ns", "submit16_ns", "submit64_ns", "sync_ns", "launch_per_s":
    a, b = pick(bench, k), pick(plain, k)
    x, y = statistics.median(a), statistics.median(b)
    print(f"{k:16}{x:14.1f}{y:14.1f}{max(x, y) / min(x, y):8.2f}{max(spread(a), spread(b)):8.2f}")
PY
