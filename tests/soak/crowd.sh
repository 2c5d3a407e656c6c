#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several processes on one device at once, each with results of its own that are known exactly (tests/e2e/rt_crowd.cu): whatever
# contexts, workers and the agent do side by side, nobody's result is another's business.
#   crowd.sh BUILD [TRIES [PROCESSES]]    tries of each process (100), processes (4)
. "$(dirname "$0")/../system/lib.sh"
tries=${2:-100} processes=${3:-4}

start_stub
start_agent
for ((i = 1; i <= processes; i++)); do
	"$B/e2e/rt$((12 + i % 2))/rt_crowd" "$tries" $((i * 1000 + tries)) >"$dir/out.$i" 2>&1 &
	pids[i]=$!
done
wrong=0
for ((i = 1; i <= processes; i++)); do
	wait "${pids[i]}" && grep -q ' ok ' "$dir/out.$i" || { wrong=1; tail -n 3 "$dir/out.$i"; }
done
[ $wrong = 0 ] && ok "$processes processes, $tries maxima and counts each" || fail "$processes processes at once: a result is wrong"
