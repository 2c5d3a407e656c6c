#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs every test and ends with "N passed, N failed, N skipped". A test exits 0 (passed), 77 (skipped, its
# last line is the reason) or anything else (failed, its output is shown). Scripts that hold
# many scenarios print "ok NAME", "FAIL NAME reason" or "skip NAME reason" lines; each counts.
#
#   tests/run.sh BUILD [PATTERN]        PATTERN: only tests whose name matches it
set -u
cd "$(dirname "$0")/.."
B=$(cd "$1" && pwd)
only=${2:-}
log=$B/test-logs
mkdir -p "$log"
passed=0 failed=0 skipped=0
export VGPU_BIN=$B/bin VGPU_LIB=$B/lib VGPU_BUILD=$B
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
unset VGPU_AGENT LD_PRELOAD CUDA_VISIBLE_DEVICES

wanted() { [ -z "$only" ] || [[ $1 =~ $only ]]; }

# t NAME TIMEOUT_S COMMAND...
t() {
	local name=$1 limit=$2 out st
	shift 2
	wanted "$name" || return 0
	out=$log/${name//\//_}.log
	timeout -k 5 "$limit" "$@" >"$out" 2>&1 </dev/null
	st=$?
	case $st in
	0)  passed=$((passed + 1)); echo "ok   $name" ;;
	77) skipped=$((skipped + 1)); echo "skip $name: $(tail -n 1 "$out")" ;;
	*)  failed=$((failed + 1))
	    [ $st = 124 ] && echo "(no end within $limit s)" >>"$out"
	    echo "FAIL $name (exit $st)"; tail -n 30 "$out" | sed 's/^/     | /' ;;
	esac
}

# many NAME TIMEOUT_S COMMAND...: counts the scenario lines; none at all, or a bad exit without FAIL, is a failure
many() {
	local name=$1 limit=$2 out st ok bad skip
	shift 2
	wanted "$name" || return 0
	out=$log/${name//\//_}.log
	timeout -k 5 "$limit" "$@" >"$out" 2>&1 </dev/null
	st=$?
	ok=$(grep -c '^ok ' "$out"); bad=$(grep -c '^FAIL ' "$out"); skip=$(grep -c '^skip ' "$out")
	if [ $st != 0 ] && [ "$bad" = 0 ] || [ $((ok + bad + skip)) = 0 ]; then
		bad=$((bad + 1))
		echo "FAIL $name (exit $st)"; tail -n 30 "$out" | sed 's/^/     | /'
	fi
	grep -E '^(FAIL|skip) ' "$out" | sed "s|^\([A-Za-z]*\) |\1 $name/|"
	[ "$bad" = 0 ] || tail -n 40 "$out" | sed 's/^/     | /'
	echo "     $name: $ok ok, $bad failed, $skip skipped"
	passed=$((passed + ok)); failed=$((failed + bad)); skipped=$((skipped + skip))
}

. tests/list.sh

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
