#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An unmodified llama.cpp (npm's node-llama-cpp, CUDA 12) on VGPU-STUB, against its own CPU backend. One line per
# scenario: ok, FAIL or skip.
#   run.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
L=$B/llm
why=$("$here/build.sh" "$B" 2>&1); st=$?
[ $st = 77 ] && { echo "skip llm: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL llm: $why"; exit 1; }
tmp=$(mktemp -d "$L/run-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export LD_LIBRARY_PATH=$L/lib${LLM_EXTRA:+:$LLM_EXTRA}
bad=0

# lines NAME COMMAND...: llm's ok and FAIL lines, with the name; an end without any, or a bad one without FAIL, is a failure
lines() {
	local name=$1 st log
	log=$L/${1//\//_}.log
	shift
	timeout 240 "$B/bin/vgpu" run --private -- "$L/llm" "$L/lib" "$@" >"$tmp/out" 2>"$log"; st=$?
	sed -n "s#^\(ok\|FAIL\) #\1 $name: #p" "$tmp/out"
	grep -q '^FAIL' "$tmp/out" && bad=1
	if [ $st != 0 ] || ! grep -q '^ok' "$tmp/out"; then
		bad=1
		grep -q '^FAIL' "$tmp/out" || echo "FAIL $name (exit $st): $(tail -n 3 "$log" | tr '\n' ' ')"
	fi
}
mk() { "$L/mkgguf" -o "$tmp/$1.gguf" "${@:2}" || { echo "FAIL $1: mkgguf"; bad=1; }; }

lines "products" ops
# the logits of random models: head size 64 and 128, every prompt length where a kernel ends
small="-e 256 -l 2 -f 512 -v 512"
short=1,2,31,33,64
for h in 64 128; do
	heads="-H $((256 / h)) -k $((128 / h))"
	# shellcheck disable=SC2086
	for t in f16 q8_0; do
		mk "$t" -t $t $small $heads
		lines "$t, head $h" logits -p $short,512 "$tmp/$t.gguf"
		rm "$tmp/$t.gguf"
	done
	# CPU and CUDA quantise activations in different blocks, so here the reference is the same weights in F32; the
	# multiples are what "products" measured, times 1.5 (README.md)
	# shellcheck disable=SC2086
	for t in q4_0 q4_k_m; do
		mk "$t" -t $t $small $heads
		mk ref -t $t -D $small $heads
		if [ $t = q4_0 ]; then
			lines "$t, head $h" logits -p $short -k 9 -r "$tmp/ref.gguf" "$tmp/$t.gguf"
		else
			lines "$t, head $h" logits -p 1,2 -r "$tmp/ref.gguf" "$tmp/$t.gguf"
			lines "$t, head $h" logits -p 31,33,64 -k 4.5 -r "$tmp/ref.gguf" "$tmp/$t.gguf"
		fi
		rm "$tmp/$t.gguf" "$tmp/ref.gguf"
	done
done
# so deep that the CPU's own rounding of activations is above the bound
mk deep -t q8_0 -e 128 -l 24 -H 2 -k 1 -f 256 -v 512
mk ref -t q8_0 -D -e 128 -l 24 -H 2 -k 1 -f 256 -v 512
lines "q8_0, 24 layers" logits -p 1,33 -n 8 -r "$tmp/ref.gguf" "$tmp/deep.gguf"

# the model that this project trained: the same text
lines "licences" text -n 256 "$here/model/licences.gguf" "You may copy and distribute" "This License does not" \
	"The purpose of" "A cat is a small animal that"
# what else a runtime does
mk other -t q8_0 -e 256 -l 2 -H 4 -k 2 -f 512 -v 512
lines "checks" checks "$here/model/licences.gguf" "$tmp/other.gguf"
exit $bad
