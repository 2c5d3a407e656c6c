#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Does the model find faults of order? Each of mutants.py is built in a copy of the tree and run against it, for as long as the
# tests run it at most. By hand: a quarter of an hour.
#   mutants.sh BUILD [SECONDS [FIRST [LAST]]]
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$(cd "$1" && pwd)
seconds=${2:-5}
W=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-mutants-XXXXXX")
trap 'rm -rf "$W"' EXIT
git ls-files | tar -cf - -T - | tar -xf - -C "$W"
mkdir -p "$W/build/test/order"
cp "$B/test/order/order" "$W/build/test/order/order"
cd "$W" || exit 1
make -s build/bin/vgpu build/bin/vgpu-agent build/bin/vgpu-stub libs >/dev/null || { echo "the copy does not build"; exit 1; }
n=0 killed=0
for ((i = ${3:-0}; i < $(python3 tests/order/mutants.py count) && i <= ${4:-999}; i++)); do
	name=$(python3 tests/order/mutants.py name $i)
	python3 tests/order/mutants.py apply $i || exit 1
	if ! make -s build/bin/vgpu-stub libs >"$W/log" 2>&1; then
		echo "FAIL $name: does not build: $(grep -m 1 error "$W/log")"
		exit 1
	fi
	n=$((n + 1))
	if out=$(LD_LIBRARY_PATH=$W/build/lib tests/order/run.sh build "$seconds") && ! grep -q ^FAIL <<<"$out"; then
		echo "SURVIVED $i $name"
	else
		killed=$((killed + 1))
		echo "killed $i $name: $(grep -m 1 ^FAIL <<<"$out" | cut -c1-150)"
	fi
	python3 tests/order/mutants.py revert $i
done
echo "$n mutants, $killed killed"
[ "$n" = "$killed" ]
