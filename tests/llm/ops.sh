#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llama.cpp's own operator tests (test-backend-ops of the packaged version: all of its cases, data and comparisons) on the unmodified
# ggml-cuda: the CUDA 12 package at compute capability 6.1, the CUDA 13 package at 7.5 and at 8.0, against the CPU backend's reference.
#   ops.sh [-s N] BUILD                              N cases (6) of every operator, two lines for each of the three
#   ops.sh -a [-c CC]... [-o OP]... [-m COST] [-e N] BUILD
#                                                    all cases, one line for each operator; goes on where it stopped. Of those left,
#                                                    none above that cost; every Nth of each operator
#   ops.sh -r [-c CC]... [-o OP]... BUILD            the same lines for what has run so far
set -u
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C
all='' ccs='' only='' report='' most='' every=1 sample=6
# what an engine is likeliest to get wrong comes first: recurrences, barriers, shared memory, gathers, tensor cores
first="SSM_SCAN SSM_CONV RWKV_WKV6 RWKV_WKV7 GATED_LINEAR_ATTN GATED_DELTA_NET ARGSORT TOP_K CUMSUM SOLVE_TRI ARGMAX SUM MEAN SOFT_MAX"
first+=" CROSS_ENTROPY_LOSS NORM RMS_NORM GROUP_NORM L2_NORM ROPE ROPE_BACK MUL_MAT_ID MUL_MAT FLASH_ATTN_EXT LIGHTNING_INDEXER CONV_2D"
# cases in which ggml's own kernels race at 7.5 (barrier.py): heads of 512, 16 or 32 columns
race='^FLASH_ATTN_EXT[(]hsk=512,hsv=512,.*,nr23=[[](4|8),.*,nb=([3-9]|[1-9][0-9]+),'

while getopts ac:e:m:o:rs: o; do
	case $o in
	a) all=1 ;;
	c) ccs+=" $OPTARG" ;;
	e) every=$OPTARG ;;
	m) most=$OPTARG ;;
	o) only+=" $OPTARG" ;;
	r) report=1 ;;
	s) sample=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 1 ] || { sed -n '5,9s/^# *//p' "$0"; exit 2; }
B=$(cd "$1" && pwd)
L=$B/llm
O=$L/ops
D=$L/ops${VGPU_CPU_ISA:+-$VGPU_CPU_ISA}        # one set of logs for each instruction set
why=$("$here/ops_build.sh" "$B" 2>&1); st=$?
[ $st = 77 ] && { echo "skip ops: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL ops: $why"; exit 1; }
mkdir -p "$D"
bad=0
fail() { echo "FAIL ops at $cc: $*"; bad=1; }
said() { grep -v '^ *$' "$1" | tail -n 3 | tr '\n' ' '; }

# on COMMAND...: backend_ops with the libraries in $lib on a device of $cc
on() {
	# ggml calls a debugger when it aborts, if there is one
	LD_LIBRARY_PATH=$lib GGML_NO_BACKTRACE=1 "$B/bin/vgpu" run --private --cc "$cc" -- "$O/backend_ops" "$lib" "$@"
}
# counts FILE: operator, cases, supported ones, from a list
counts() { awk -F'\t' '{ n[$2]++; y[$2] += $3 == "yes" } END { for (o in n) print o, n[o], y[o] }' "$1" | sort; }
# run LOG: the cases on standard input, in their order. One that ends the process is written down as that, and the next follows.
run() {
	local todo from st

	todo=$(mktemp "$D/todo-XXXXXX")
	cat >"$todo"
	while [ -s "$todo" ]; do
		touch "$1"
		[ -z "$(tail -c 1 "$1")" ] || echo "stopped" >>"$1"
		from=$(($(wc -l <"$1") + 1))
		on run <"$todo" >>"$1" 2>"$1.err"; st=$?
		[ -z "$(tail -c 1 "$1")" ] || echo "ended, exit $st: $(said "$1.err") FAIL 0 s" >>"$1"
		awk 'FILENAME == ARGV[1] { if (/^case .* s$/) done[$2]; next } !($1 in done)' <(tail -n "+$from" "$1") "$todo" >"$todo.left"
		if cmp -s "$todo" "$todo.left"; then
			fail "backend_ops ran nothing, exit $st: $(said "$1.err")"
			break
		fi
		mv "$todo.left" "$todo"
	done
	rm -f "$todo" "$todo.left"
}
# verdict LOG LIST: operator, wanted, passed, failed, the first failure; of a case that ran again, the last time counts
verdict() {
	awk -F'\t' 'FILENAME == ARGV[1] { if (/^case .* s$/) { split($0, w, " "); line[w[2]] = $0 } next }
		$3 == "yes" { want[$2]++
			if (!($1 in line)) next
			if (line[$1] ~ / ok [0-9.]+ s$/) ok[$2]++; else { bad[$2]++; if (!($2 in why)) why[$2] = line[$1] } }
		END { for (o in want) print o "\t" want[o] "\t" ok[o] + 0 "\t" bad[o] + 0 "\t" why[o] }' "$1" "$2" | sort
}
# left LOG LIST: the supported cases that have not passed, in the order in which they should run
left() {
	awk -v first="$first" -v only="$only" -v most="$most" -v every="$every" -F'\t' 'BEGIN { n = split(first, f, " "); for (i = 1; i <= n; i++) rank[f[i]] = i; m = split(only, o, " "); for (i = 1; i <= m; i++) wanted[o[i]] }
		FILENAME == ARGV[1] { split($0, w, " "); if (/^case .* ok [0-9.]+ s$/) done[w[2]]; else delete done[w[2]]; next }
		$3 == "yes" && !($1 in done) && (m == 0 || $2 in wanted) && (most == "" || $4 <= most) && k[$2]++ % every == 0 { print ($2 in rank ? rank[$2] : n + 1) "\t" $2 "\t" $1 "\t" $6 }' "$1" "$2" |
		sort -t "$(printf '\t')" -k1,1n -k2,2 -k3,3n | cut -f3-
}

sampled() {
	local op want ok failed line n=0 ops=0 missing

	rm -f "$D/$cc.sample.log"
	on sample "$sample" >"$D/$cc.sample" 2>"$D/$cc.err"
	cut -f1 "$D/$cc.sample" | run "$D/$cc.sample.log"
	while IFS=$'\t' read -r op want ok failed line; do
		ops=$((ops + 1)) n=$((n + ok))
		[ "$want" = "$ok" ] || fail "$op: $failed of $want failed, $((want - ok - failed)) did not run: $line"
	done < <(verdict "$D/$cc.sample.log" "$D/$cc.sample")
	missing=$(comm -23 <(awk '!/^#/ && $3 > 0 { print $1 }' "$here/ops.txt" | sort) <(cut -f2 "$D/$cc.sample" | sort -u) | tr '\n' ' ')
	[ -z "$missing" ] || fail "nothing ran of $missing"
	[ "$n" = "$(wc -l <"$D/$cc.sample")" ] && [ -z "$missing" ] && echo "ok ops at $cc: $ops operators, $n cases agree with the CPU backend's reference"
}

for cc in ${ccs:-6.1 7.5 8.0}; do
	lib=$L/lib
	[ "$cc" = 6.1 ] || lib=$L/cuda13
	on list >"$D/$cc.list" 2>"$D/$cc.err" || { fail "$(said "$D/$cc.err")"; continue; }
	if why=$(diff <(grep -v '^#' "$here/ops.txt") <(counts "$D/$cc.list")); then
		echo "ok ops at $cc: ggml-cuda supports $(cut -f3 "$D/$cc.list" | grep -c yes) of $(wc -l <"$D/$cc.list") cases, as ops.txt has it"
	else
		fail "other cases are supported than ops.txt (<) has: $(grep '^[<>]' <<<"$why" | tr '\n' ' ')"
	fi
	if [ -z "$all$report" ]; then
		sampled
		continue
	fi
	log=$D/$cc.log
	touch "$log"
	races=0
	[ "$cc" = 7.5 ] && races=$(cut -f3,6 "$D/$cc.list" | sed -n 's/^yes\t//p' | grep -cE "$race")
	if [ -z "$report" ]; then
		exec 8>"$D/$cc.lock"
		flock -n 8 || { fail "another ops.sh -a runs"; continue; }
		left "$log" "$D/$cc.list" >"$D/$cc.left"
		if [ "$cc" = 7.5 ]; then
			awk -F'\t' -v race="$race" '$2 ~ race { print $1 }' "$D/$cc.left" >"$D/$cc.races"
			awk -F'\t' -v race="$race" '$2 !~ race { print $1 }' "$D/$cc.left" | run "$log"
			if [ -s "$D/$cc.races" ]; then
				lib=$("$here/ops_build.sh" -b "$B") || fail "FLASH_ATTN_EXT: no copy with the barrier: $(tail -n 1 <<<"$lib")"
				[ -d "$lib" ] && run "$log" <"$D/$cc.races"
				# and as ggml is: wrong on this engine, which runs a warp to its next barrier; not a verdict, since a race may end well
				lib=$L/cuda13
				rm -f "$D/$cc.races.log"
				head -n 3 "$D/$cc.races" | run "$D/$cc.races.log"
				echo "as shipped, $(grep -c ' FAIL [0-9.]* s$' "$D/$cc.races.log") of $(head -n 3 "$D/$cc.races" | wc -l) racing cases at $cc are wrong: $(tail -n 1 "$D/$cc.races.log")"
			fi
		else
			cut -f1 "$D/$cc.left" | run "$log"
		fi
	fi
	passed=0 wrong=0 cases=0
	while IFS=$'\t' read -r op want ok failed line; do
		[[ -n "$only" && " $only " != *" $op "* ]] && continue
		passed=$((passed + ok)) wrong=$((wrong + failed)) cases=$((cases + want))
		what="$ok passed, $failed failed, $((want - ok - failed)) not run, $(awk -v op="$op" '$1 == op { print $2 - $3 }' "$here/ops.txt") not supported by ggml"
		[ "$op" = FLASH_ATTN_EXT ] && [ "$races" != 0 ] && what+="; $races with a barrier that ggml lacks"
		if [ "$failed" != 0 ]; then
			bad=1
			echo "FAIL $cc $op: $what: $line"
		elif [ "$want" = "$ok" ]; then
			echo "ok $cc $op: $what"
		else
			[ -n "$report$most" ] || [ "$every" != 1 ] || bad=1
			echo "not whole $cc $op: $what"
		fi
	done < <(verdict "$log" "$D/$cc.list")
	echo "ops at $cc: $passed of $cases cases passed, $wrong failed, $((cases - passed - wrong)) not run"
done
exit $bad
