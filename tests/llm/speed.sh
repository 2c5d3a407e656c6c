#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tokens per second of an unmodified llama.cpp on VGPU-STUB against its own CPU backend: same model (101 M parameters, Q8_0), same
# threads, same run, medians of rounds in turns. A benchmark, not a test.
#   speed.sh [-p] [-m "MODEL ARGUMENTS"] BUILD [LLM SPEED ARGUMENTS]        -p: which kernels take the time, too
set -eu
here=$(cd "$(dirname "$0")" && pwd)
profile='' model="-t q8_0 -e 768 -l 14 -H 12 -k 4 -f 2048 -v 8192"
while getopts pm: o; do
	case $o in p) profile=1 ;; m) model=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
B=$(cd "$1" && pwd)
shift
L=$B/llm
"$here/build.sh" "$B"
tmp=$(mktemp -d "$L/speed-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck disable=SC2086
"$L/mkgguf" -o "$tmp/model.gguf" $model
export LD_LIBRARY_PATH=$L/lib
"$B/bin/vgpu" run --private -- "$L/llm" "$L/lib" speed "$@" "$tmp/model.gguf"
[ -n "$profile" ] || exit 0
gcc -O2 -shared -fPIC -o "$tmp/profile.so" "$here/profile.c" "$here/proc.c" -ldl -lpthread
for what in "prompt of 64 tokens:-p 64 -n 1" "8 tokens after a prompt of 1:-p 1 -n 8"; do
	echo
	echo "${what%%:*}, by kernel"
	# shellcheck disable=SC2016,SC2086
	"$B/bin/vgpu" run --private -- sh -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$tmp/profile.so" \
		"$L/llm" "$L/lib" speed -r 1 ${what#*:} "$tmp/model.gguf" 2>&1 >/dev/null | head -20
done
