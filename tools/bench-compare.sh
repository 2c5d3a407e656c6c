#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench-compare.sh [-n ROUNDS] [-b plain|launch|copy|scale|engine] BUILD_A BUILD_B
#
# Two builds, in turn, so that what else the machine does meets both alike: A B B A A B B A ... Every number of the
# bench's JSON: the median of each, and the median of the rounds' ratios B over A with the middle half of them.
# plain (the default) is tests/bench/launch_plain, which takes two seconds. The other build comes from
#     git worktree add ../before COMMIT && make -C ../before all test-bins
set -eu
n=6 bench=plain
while getopts n:b: o; do
	case $o in
	n) n=$OPTARG ;;
	b) bench=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 2 ] || { sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
A=$(cd "$1" && pwd) B=$(cd "$2" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset VGPU_AGENT

# one BUILD: a private device and agent of that build, its own libraries
one() {
	case $bench in
	plain) "$1/bin/vgpu" run --private -- "$1/test/bench/launch_plain" -j ;;
	*) "$1/bin/vgpu" run --private -- "$1/bin/vgpu" bench "$bench" -j ;;
	esac
}
for i in $(seq "$n"); do
	order="A B"
	[ $((i % 2)) = 1 ] || order="B A"
	for x in $order; do
		build=$A
		[ $x = A ] || build=$B
		one "$build" >"$tmp/$x.$i" || { echo "bench-compare: $build: $bench failed" >&2; exit 1; }
	done
	echo "round $i of $n" >&2
done
python3 - "$tmp" "$n" <<'PY'
import json, statistics, sys
tmp, n = sys.argv[1], int(sys.argv[2])

def flat(o, at=""):
    if isinstance(o, dict):
        name = f"[{o['bytes']}]" if "bytes" in o else ""
        for k, v in o.items():
            yield from flat(v, f"{at}{name}.{k}" if at else k)
    elif isinstance(o, list):
        for i, v in enumerate(o):
            yield from flat(v, at if isinstance(v, dict) and "bytes" in v else f"{at}[{i}]")
    elif isinstance(o, (int, float)) and not isinstance(o, bool):
        yield at, o

load = lambda who: [dict(flat(json.load(open(f"{tmp}/{who}.{i}")))) for i in range(1, n + 1)]
a, b = load("A"), load("B")
print(f"{'':36}{'A':>13}{'B':>13}{'B/A':>8}   middle half")
for k in a[0]:
    if not all(k in r for r in a + b):
        continue
    ratios = sorted(y[k] / x[k] for x, y in zip(a, b) if x[k])
    if not ratios:
        continue
    low, high = ratios[len(ratios) // 4], ratios[(3 * len(ratios) - 1) // 4]
    print(f"{k:36}{statistics.median(r[k] for r in a):13.6g}{statistics.median(r[k] for r in b):13.6g}"
          f"{statistics.median(ratios):8.3f}   {low:.3f} .. {high:.3f}")
PY
