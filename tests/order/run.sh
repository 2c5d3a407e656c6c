#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Random programs against the model of the ordering rules, on the JIT and on the interpreter, with and without a device that
# takes what may run in another order than it came. Other programs every day of the year would find more; these are the same each time.
#   run.sh BUILD [SECONDS]        of each of the four
set -u
B=$(cd "$1" && pwd)
for engine in jit interp; do
	for shuffle in 0 7; do
		name="$engine$([ $shuffle = 0 ] || echo ', shuffled')"
		if out=$(VGPU_ENGINE=$engine VGPU_STUB_SHUFFLE=$shuffle timeout -k 5 90 "$B/bin/vgpu" run --private -- \
			timeout -k 2 60 "$B/test/order/order" -s $((1 + shuffle * 1000)) -n 100000 -t "${2:-5}" 2>&1); then
			echo "ok $name: $(tail -n 1 <<<"$out")"
		else
			echo "FAIL $name: exit $?: $(head -n 3 <<<"$out" | tr '\n' ';')"
		fi
	done
done
