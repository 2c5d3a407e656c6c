#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs every test and ends with "N passed, N failed, N skipped". A test exits 0 (passed), 77 (skipped, its
# last line is the reason) or anything else (failed, its output is shown). Scripts that hold
# many scenarios print "ok NAME", "FAIL NAME reason" or "skip NAME reason" lines; each counts.
#
#   tests/run.sh BUILD [PATTERN]        PATTERN: only tests whose name matches it
set -u
cd "$(dirname "$0")/.." || exit
usage() { sed -n 's/^#   \(tests\/run.sh .*\)/usage: \1/p' tests/run.sh; }
case ${1:-} in
-h|--help) usage; exit 0 ;;
''|-*) usage >&2; exit 2 ;;
esac
[ -d "$1" ] || { echo "run.sh: there is no build folder $1 (make makes it)" >&2; usage >&2; exit 2; }
B=$(cd "$1" && pwd)
only=${2:-}
log=$B/test-logs
mkdir -p "$log"
passed=0 failed=0 skipped=0
export VGPU_BIN=$B/bin VGPU_LIB=$B/lib VGPU_BUILD=$B
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
unset VGPU_AGENT LD_PRELOAD CUDA_VISIBLE_DEVICES

wanted() { [ -z "$only" ] || [[ $1 =~ $only ]]; }

# Between `together` and `apart` two tests more run than there are processors (each waits for something now and then); their verdicts
# come in the list's order.
lanes=1 queue=() sleeper='' sleepers=' '
together() { lanes=$(($(nproc) + 2)); }
# asleep t|many ...: one that waits nearly all of its time is started at once, and keeps no other from running
asleep() { sleeper=1; "$@"; sleeper=; }
busy() {
	local p n=0
	for p in $(jobs -pr); do [[ $sleepers == *" $p "* ]] || n=$((n + 1)); done
	echo $n
}
apart() {
	local entry
	while [ -n "$(jobs -pr)" ]; do wait -n; verdicts; done
	# one that was killed together with its shell left no status
	for entry in ${queue[@]+"${queue[@]}"}; do
		entry=$log/$(tr / _ <<<"${entry#* }").status
		[ -s "$entry" ] || echo "1 0 0" >"$entry"
	done
	verdicts
	lanes=1
}
# of those at the head of the queue that have ended
verdicts() {
	local entry
	while [ ${#queue[@]} -gt 0 ]; do
		entry=${queue[0]#* }
		[ -s "$log/${entry//\//_}.status" ] || break
		"${queue[0]%% *}" "$entry"
		queue=("${queue[@]:1}")
	done
}

# start JUDGE NAME TIMEOUT_S COMMAND...: runs it with its output in a log, status and seconds beside it; then JUDGE NAME
start() {
	local judge=$1 name=$2 limit=$3 out
	shift 3
	wanted "$name" || return 0
	out=$log/${name//\//_}
	rm -f "$out.status"
	if [ "$lanes" -gt 1 ]; then
		while [ -z "$sleeper" ] && [ "$(busy)" -ge "$lanes" ]; do wait -n; done
		verdicts
		run_one "$out" "$limit" "$@" &
		[ -z "$sleeper" ] || sleepers+="$! "
		queue+=("$judge $name")
	else
		run_one "$out" "$limit" "$@"
		"$judge" "$name"
	fi
}
# A limit is for what hangs, and the list's are those of a machine that does nothing else: on a busy one three times as much
run_one() {
	local out=$1 limit=$(($2 * 3)) t0=$SECONDS st TIMEFORMAT='%1U %1S'
	shift 2
	{ time timeout -k 5 "$limit" "$@" >"$out.log" 2>&1 </dev/null; } 2>"$out.cpu"
	st=$?
	echo "$st $((SECONDS - t0)) $limit" >"$out.status"
}

# How a test ended: st, and how long it took where that is worth a word. Beside it, in .cpu, its seconds of processor: who has few of
# many seconds belongs behind `asleep` in the list.
result() {
	out=$log/${1//\//_} st=1 took=0 limit=0
	read -r st took limit <"$out.status"
	[ "$st" = 124 ] && echo "(no end within $limit s)" >>"$out.log"
	[ "$took" -ge 10 ] && took=" ($took s)" || took=
}

# A hundred thousand processes come and go here, and where numbers end at 32,768 one comes back within minutes: who cleans up behind a process that has
# ended long since would end another test's. While tests run they go on to the most that Linux has.
numbers=/proc/sys/kernel/pid_max
if few=$(cat $numbers 2>/dev/null) && [ "$few" -lt 4194304 ] && (echo 4194304 >$numbers) 2>/dev/null; then
	trap '(echo "$few" >$numbers) 2>/dev/null' EXIT
fi

# t NAME TIMEOUT_S COMMAND...
t() { start judge_one "$@"; }
judge_one() {
	local name=$1 out st took limit
	result "$name"
	case $st in
	0)  passed=$((passed + 1)); echo "ok   $name$took" ;;
	77) skipped=$((skipped + 1)); echo "skip $name: $(tail -n 1 "$out.log")" ;;
	*)  failed=$((failed + 1))
	    echo "FAIL $name (exit $st)$took"; tail -n 30 "$out.log" | sed 's/^/     | /' ;;
	esac
}

# many NAME TIMEOUT_S COMMAND...: counts the scenario lines; none at all, or a bad exit without FAIL, is a failure; but 77 without
# any skips all of it
many() { start judge_many "$@"; }
judge_many() {
	local name=$1 out st took limit ok bad skip
	result "$name"
	ok=$(grep -c '^ok ' "$out.log"); bad=$(grep -c '^FAIL ' "$out.log"); skip=$(grep -c '^skip ' "$out.log")
	if [ "$st" = 77 ] && [ $((ok + bad + skip)) = 0 ]; then
		skipped=$((skipped + 1))
		echo "skip $name: $(tail -n 1 "$out.log")"
		return
	fi
	if [ "$st" != 0 ] && [ "$bad" = 0 ] || [ $((ok + bad + skip)) = 0 ]; then
		bad=$((bad + 1))
		echo "FAIL $name (exit $st)"; tail -n 30 "$out.log" | sed 's/^/     | /'
	fi
	grep -E '^(FAIL|skip) ' "$out.log" | sed "s|^\([A-Za-z]*\) |\1 $name/|"
	[ "$bad" = 0 ] || tail -n 40 "$out.log" | sed 's/^/     | /'
	echo "     $name: $ok ok, $bad failed, $skip skipped$took"
	passed=$((passed + ok)); failed=$((failed + bad)); skipped=$((skipped + skip))
}

. tests/list.sh
apart

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
