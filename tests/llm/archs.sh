#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Models of llama.cpp's architectures, types of weights and of the cache (archs.txt) on the unmodified ggml-cuda against its CPU backend:
# the CUDA 12 package at compute capability 6.1. One line a case.
#   archs.sh [-c CC] BUILD [PATTERN]       -c 7.5, -c 8.0: the CUDA 13 package
#   archs.sh -a [-c CC] BUILD [PATTERN]    all of archs.txt, and every other architecture that llama.cpp's authors test
#
# archs.cc is compiled once (20 s of processor time) and kept by its sources in VGPU_TEST_CACHE (~/.cache/vgpu-tests).
set -u
here=$(cd "$(dirname "$0")" && pwd)
all='' cc=6.1 limit=800
while getopts ac: o; do
	case $o in
	a) all=1 limit=7200 ;;
	c) cc=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
B=$(cd "$1" && pwd) || exit
L=$B/llm
only=${2:-}
no() { echo "skip archs: $*"; exit 0; }
why=$("$here/fetch.sh" "$L" "$([ "$cc" = 6.1 ] || echo cuda13)" 2>&1); st=$?
[ $st = 77 ] && no "$(tail -n 1 <<<"$why")"
[ $st = 0 ] || { echo "FAIL archs: $why"; exit 1; }
lib=$L/lib
[ "$cc" = 6.1 ] || lib=$L/cuda13

# --- the program, from the sources of the packaged version
npm=$(sed -n 's/^version=//p' "$here/fetch.sh")
C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/archs-$npm-$(sha256sum <"$here/archs.cc" | cut -c1-12)
mkdir -p "$C" || no "$C cannot be made"
exec 9>"$C/lock"
flock 9
if ! [ -x "$C/archs" ]; then
	command -v g++ >/dev/null || no "g++ is not installed"
	S=$C/src
	why=$("$here/source.sh" "$S" 2>&1) || no "$(tail -n 1 <<<"$why")"
	# the source is included as it is: its warnings are its own
	nice g++ -O1 -DNDEBUG -std=c++17 -w -I"$S/tests" -I"$S/common" -I"$S/src" -I"$S/include" -I"$S/ggml/include" -I"$S/vendor" -o "$C/new" "$here/archs.cc" \
		"$L"/lib/libllama-common.so "$L"/lib/libllama.v*.so "$L"/lib/libggml.v*.so "$L/lib/libggml-base.so" -Wl,--allow-shlib-undefined -lpthread ||
		{ echo "FAIL archs: archs.cc does not compile"; exit 1; }
	rm -rf "$S"
	mv "$C/new" "$C/archs"
fi
flock -u 9

# --- the cases. One that ends the process is written down as that, and the next follows.
tmp=$(mktemp -d "$L/archs-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export LD_LIBRARY_PATH=$lib GGML_NO_BACKTRACE=1     # ggml calls a debugger when it aborts, if there is one
grep -vE '^(#|$)' "$here/archs.txt" | sed 's/^+ //' >"$tmp/known"
grep -vE '^(#|$|[+])' "$here/archs.txt" >"$tmp/cases"
if [ -n "$all" ]; then
	# an architecture that archs.txt runs with more than its name is not run without it
	"$C/archs" "$lib" list | awk 'FILENAME == ARGV[1] { had[$1 " " $2]; next } !($0 in had)' "$tmp/known" - | cat "$tmp/known" - >"$tmp/cases"
fi
grep -E -e "$only" "$tmp/cases" >"$tmp/todo"
bad=0
while [ -s "$tmp/todo" ]; do
	nice timeout $limit "$B/bin/vgpu" run --private --cc "$cc" -- "$C/archs" "$lib" run <"$tmp/todo" 2>"$tmp/err" | tee "$tmp/out"; st=${PIPESTATUS[0]}
	grep -q '^FAIL' "$tmp/out" && bad=1
	n=$(grep -cE '^(ok|FAIL) ' "$tmp/out")
	[ "$n" -ge "$(wc -l <"$tmp/todo")" ] && break
	case=$(sed -n "$((n + 1))p" "$tmp/todo")
	# where the packaged libllama makes no such model of random weights, there is nothing to compare
	sed -n '/^case /h; /^case /!H; ${g;p}' "$tmp/err" >"$tmp/last"
	if [ $st != 124 ] && grep -q '^on the CPU$' "$tmp/last" && ! grep -q '^on the device$' "$tmp/last" && ! grep -qxF -e "$case" "$tmp/known"; then
		echo "skip $case: libllama ends on the CPU (exit $st)"
	else
		echo "FAIL $case: ended, exit $st: $(tail -n 3 "$tmp/last" | tr '\n' ' ')"
		bad=1
	fi
	tail -n "+$((n + 2))" "$tmp/todo" >"$tmp/left"
	mv "$tmp/left" "$tmp/todo"
done
exit $bad
