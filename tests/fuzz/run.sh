#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Coverage-guided fuzzing (clang's libFuzzer) of the fuzz_*.c here, one core, from the kept corpus.
#
#   tests/fuzz/run.sh [SECONDS [TARGET...]]     60 s of fuzz_jit; SECONDS is for each target
#
# Inputs that reach something new stay in $FUZZ_DIR/TARGET (default build/fuzz-corpus), for the next run; at its end the
# smallest set with the same coverage is left. tests/fuzz/corpus/NAME is read and never written: what is kept there
# is chosen by `-m`, which writes the smallest files of that set, KEEP_BYTES at most, to $FUZZ_DIR/keep/TARGET.
# Findings lie in $FUZZ_DIR/findings/TARGET. Exit status 1: there are some that were not there before.
set -eu
cd "$(dirname "$0")/../.."
KEEP_BYTES=${KEEP_BYTES:-400000}
MOST_FINDINGS=50
out=${FUZZ_DIR:-build/fuzz-corpus}
keep=
[ "${1:-}" = -m ] && keep=1 && shift
seconds=${1:-60}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- fuzz_jit

command -v clang > /dev/null || { echo "run.sh: no clang"; exit 77; }
mkdir -p "$out"
# its strstr() measures both texts first
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}intercept_strstr=0"

# What is written in PTX, for libFuzzer's own mutations.
dictionary()
{
	grep -oE '(OP\([A-Z0-9_]+, *|MOD\(|UNSUP\()"[^"]+"' tools/vgpu-stub/cpu/ops.def | grep -oE '"[^"]+"' | sort -u
	for w in .reg .pred .shared .local .global .const .param .align .entry .func .visible .extern .reqntid .maxntid .u32 .s32 \
		.b32 .u64 .s64 .b64 .f32 .f64 .f16 .bf16 .f16x2 .u16 .s16 .b16 .u8 .s8 %tid.x %laneid %ctaid.x %ntid.x \
		0f7F800000 0f7FC00000 0x80000000 0xffffffff; do
		echo "\"$w\""
	done
}

# Number behind the last NAME in a log.
last() { grep -oE "$1:? *[0-9]+" "$2" | tail -1 | grep -oE '[0-9]+$' || echo 0; }

# Sum of the numbers behind NAME in a log: a process after another wrote it.
all() { grep -oE "$1:? *[0-9]+" "$2" | grep -oE '[0-9]+$' | awk '{ n += $1 } END { print n + 0 }'; }

# Leaks are looked for at the end of each (-detect_leaks=0: not after each input).
# Processes one after the other, each until the time is over or it has found something.
rounds()
{
	end=$(($(date +%s) + seconds))
	: > "$log"
	while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
		# shellcheck disable=SC2086
		nice "build/guided/$t" $args -timeout=240 -report_slow_units=240 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$out/findings/$t/" \
			-max_total_time="$left" "$out/$t" $seeds > "$log.part" 2>&1 || true
		cat "$log.part" >> "$log"
		# what fails before it begins does so for ever
		[ "$(find "$out/findings/$t" -type f | wc -l)" -lt $((before + MOST_FINDINGS)) ] && grep -q '^#' "$log.part" || break
	done
	rm -f "$log.part"
}

fuzz()
{
	t=$1 name=${1#fuzz_} before=0 args=
	make -s "build/guided/$t"
	mkdir -p "$out/$t" "$out/findings/$t" "$out/log"
	before=$(find "$out/findings/$t" -type f | wc -l)
	case $name in
	jit|ptx|launch)         # mutations of its own, of programs: one or two at a time leave one
		dictionary > "$out/ptx.dict"
		args="-dict=$out/ptx.dict -max_len=8000 -entropic=0 -mutate_depth=2 -detect_leaks=0" ;;
	dma)	args="-max_len=800 -len_control=10 -detect_leaks=0" ;;
	*)	args="-max_len=65536 -detect_leaks=0" ;;
	esac
	seeds=tests/fuzz/corpus/$name
	[ "$name" = jit ] && seeds="$seeds tests/fuzz/corpus/ptx tests/ptx/cases"
	log=$out/log/$t
	rounds
	rm -rf "$out/$t.min"
	mkdir "$out/$t.min"
	nice "build/guided/$t" -merge=1 -timeout=60 "$out/$t.min" "$out/$t" > "$log.merge" 2>&1 && rm -rf "${out:?}/$t" && mv "$out/$t.min" "$out/$t"
	found=$(find "$out/findings/$t" -type f | wc -l)
	grep -q 'LeakSanitizer: detected' "$log" && found=$((found + 1)) && echo "$t: leaks, see $log"
	n=$(all stat::number_of_executed_units "$log")
	echo "$t: $n executions in $seconds s ($((n / (seconds ? seconds : 1))) a second), coverage $(last cov "$log"), features $(last ft "$log")," \
	     "$(find "$out/$t" -type f | wc -l) inputs kept, $((found - before)) new findings ($found in $out/findings/$t)"
	grep -E "^$t: [0-9]+ inputs" "$log" | tail -1 || true
	[ "$found" -eq "$before" ] || status=1
	[ -z "$keep" ] || choose "$t"
}

# The smallest first, until KEEP_BYTES.
choose()
{
	case $1 in
	fuzz_jit|fuzz_ptx|fuzz_launch) ending=.ptx ;;
	*)	ending= ;;
	esac
	rm -rf "$out/keep/$1"
	mkdir -p "$out/keep/$1"
	find "$out/$1" -type f -size -4k -printf '%s %p\n' | sort -n |
		awk -v most="$KEEP_BYTES" '{ sum += $1; if (sum > most || NR > 400) exit; print $2 }' |
		while read -r f; do cp "$f" "$out/keep/$1/$(basename "$f" | cut -c1-12)$ending"; done
}

status=0
for t; do
	fuzz "$t"
done
exit $status
