#!/bin/bash
# SPDX-License-Identifier: MIT
# What the tests of the engine are worth: small faults are built into it, one at a time, and each must be found by the
# differential tests within what `make test` gives them.
#
# usage: mutants.sh [-b BUILD] [-j N] [-c] [-l] [-q] [-r] [ID...]
#   BUILD: folder of a build whose ptxrun, optest, jitdiff and legal are made (build); ID: only these, or those that begin so
#   -c looks whether each could be planted, -l lists them, -q runs the few that `make test` has, -r runs the random kernels alone
#
# The faults stand in mutants/*.txt, one after the other:
#
#     == ID FILE comment        FILE in tools/vgpu-stub/cpu
#     -- old                    these lines, or this piece of one, which must stand in FILE exactly once
#     -- new                    become these; more of both may follow, -- in FILE between them for another one
#
# Nothing that is built for users has any of them: a file is copied, changed, compiled, and linked with the objects of all
# others. Tests run in the order of their price, up to the first that fails. A line for each fault says which, and how many
# cases or kernels it took. Exit 0: all were found.
set -u
export LC_ALL=C
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 2
build=build jobs=2 check= list= quick= random=
while getopts b:cj:lqr o; do
	case $o in
	b) build=$OPTARG ;;
	j) jobs=$OPTARG ;;
	c) check=1 ;;
	l) list=1 ;;
	q) quick=1 ;;
	r) random=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
cpu=tools/vgpu-stub/cpu
# one for each kind of test; faults of the compiler for AVX-512 show on such processors alone
few="setp-k7 scan-guard-uniform carry-polarity expr-not strip-torn" only512=
grep -q avx512f /proc/cpuinfo || { few="strip-torn strip-near strip-shuffle carry-polarity expr-not"; only512=1; }

work=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX") || exit 2
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# $work/ids: ID FILE comment, in their order
awk '/^== / { sub(/^== /, ""); if ($1 in seen) { print "mutants: two are called " $1 > "/dev/stderr"; exit 1 } seen[$1] = 1; print }' \
	tests/ptx/mutants/*.txt >"$work/ids" || exit 2

ids=()
declare -A file comment
left_out=0
while read -r id f c; do
	file[$id]=$f comment[$id]=$c
	want=$((!$# && !${quick:-0}))
	for w in "$@"; do [[ $id == "$w"* ]] && want=1; done
	[ -n "$quick" ] && [[ " $few " == *" $id "* ]] && want=1
	[ $want = 1 ] || continue
	[ -n "$only512" ] && [ -z "$list$check" ] && [[ $f == jit* ]] && { left_out=$((left_out + 1)); continue; }
	ids+=("$id")
done <"$work/ids"
[ $left_out = 0 ] || echo "$left_out faults of the compiler for AVX-512, which this processor has not, are left out"
[ ${#ids[@]} -gt 0 ] || [ $left_out -gt 0 ] || { echo "mutants: there is no such"; exit 2; }
if [ -n "$list" ]; then
	for id in "${ids[@]}"; do printf '%-24s %-14s %s\n' "$id" "${file[$id]}" "${comment[$id]}"; done
	exit 0
fi

# The faults of these IDs, put into copies of their files; with TO "-" nothing is written. Text that stands there no more is an error of the list.
plant() { # TO ID...
	python3 - "$cpu" "$@" 3< <(for f in tests/ptx/mutants/*.txt; do echo "== - -"; cat "$f"; done) <<'EOF'
import os, sys
cpu, to, *want = sys.argv[1:]
edits, now, name, side = {i: [] for i in want}, None, None, None
for line in open(3):
    if line.startswith("== "):
        _, i, name, *_ = line.split()
        now, side = edits.get(i), None
    elif line.startswith("-- in "):
        name = line.split()[2]
    elif now is not None and line == "-- old\n":
        now.append([name, "", ""])
        side = 1
    elif line == "-- new\n":
        side = 2
    elif line.startswith("-- ") and line != "-- old\n":
        sys.exit(f"a line that is neither -- old, -- new nor -- in FILE: {line}")
    elif now is not None and side:
        now[-1][side] += line

def planted(edits):
    texts = {}
    for name, old, new in edits:
        text = texts[name] if name in texts else open(f"{cpu}/{name}").read()
        old, new = old[:-1], new.rstrip("\n")
        if not old or text.count(old) != 1:
            raise ValueError(f"the text stands {text.count(old) if old else 0} times in {name}")
        if old == new:
            raise ValueError("nothing is changed")
        texts[name] = text.replace(old, new)
    if not texts:
        raise ValueError("it has no text")
    return texts

bad = 0
for i in want:
    try:
        texts = planted(edits[i])
    except ValueError as why:
        bad += 1
        print(f"{i}: {why}", file=sys.stderr)
        continue
    if to == "-":
        continue
    for name, text in texts.items():
        os.makedirs(os.path.dirname(f"{to}/{name}"), exist_ok=True)
        open(f"{to}/{name}", "w").write(text)
    open(f"{to}/../changed", "w").write("".join(f"{n}\n" for n in texts))
sys.exit(bad > 0)
EOF
}

if [ -n "$check" ]; then
	plant - "${ids[@]}" && echo "ok mutants (${#ids[@]} can be planted)"
	exit
fi

# Compiles what the fault is in.
compile() {
	local d=$work/$1 srcs=() f o n gnu
	for f in "$d"/src/*.[hdi]*; do  # what they include in turn is to find it too
		[ -e "$f" ] && cp -n $cpu/*.h $cpu/*.inc $cpu/*.def "$d/src/" && break
	done
	for f in $(cut -d" " -f1 "$d/changed"); do
		n=${f##*/}
		if [[ $f == strip/*.c ]]; then
			srcs+=("$f")
			continue
		fi
		f=$d/src/$f
		if [[ $n == *.c ]]; then
			srcs+=("$n")
			continue
		fi
		# what includes it, in copies that find the changed one beside them
		for o in $(grep -l "/$n\b" "$build"/obj/stub/$cpu/*.d); do
			o=${o##*/} o=${o%.d}.c
			[ -e "$d/src/$o" ] || { cp $cpu/"$o" "$d/src/" && srcs+=("$o"); }
		done
	done
	for f in "${srcs[@]}"; do
		gnu=; grep -q 'define _GNU_SOURCE' "$d/src/$f" || gnu=-D_GNU_SOURCE
		# shellcheck disable=SC2086
		${CC:-gcc} -O1 -std=gnu11 -w -fno-strict-aliasing -ffp-contract=off -frounding-math $gnu -DVGPU_NO_LIBCPUID \
			-iquote $cpu -iquote $cpu/strip -Ifw-protocol -Iagent -Ilibcuda-lite/include -I$cpu -c -o "$d/$(tr / _ <<<"${f%.c}").o" "$d/src/$f" || return 1
	done
}

# Links a program of $1 when it is to be run.
program() {
	local d=$1 p=$2 o objs=()
	[ -e "$d/$p" ] && return
	for o in "$build"/obj/stub/$cpu/*.o; do
		[ -e "$d/${o##*/}" ] || objs+=("$o")
	done
	for o in "$build"/obj/stub/$cpu/strip/*.o; do
		[ -e "$d/strip_${o##*/}" ] || objs+=("$o")
	done
	o=$build/obj/plain/tests/ptx/$p.o
	[ -e "$o" ] || o=$build/obj/plain/tests/unit/test_$p.o
	${CC:-gcc} -o "$d/$p" "$o" "$build/obj/plain/fw-protocol/vgpu_cubin.o" "$d"/*.o "${objs[@]}" -llz4 -lzstd -lm -lpthread ||
		{ touch "$d/unlinked"; return 1; }
}

# The tests, cheapest first: what make test runs, without the sanitizers. Prints which one failed, and after how much. What takes
# no time at all is ended after a quarter of an hour: on a busy machine, others take minutes.
first_failure() {
	local d=$1 jit=0
	# what the JIT alone does, only its runs can find
	[ -e "$d/changed" ] && ! grep -qv '^jit' "$d/changed" && jit=1
	[ -e "$d/changed" ] && grep -Eq '^(strip/|together)' "$d/changed" && jit=1 && export VGPU_CPU_ISA=avx2
	kernels "$d" 1 30 && return
	[ -z "$random" ] && cases "$d" $jit && return
	kernels "$d" 31 150 && return
	[ -z "$random" ] && partly "$d" && return
	[ -z "$random" ] && forms "$d" $jit && return
	kernels "$d" 151 600 && return
	[ -z "$random" ] && oracle "$d"
}

# Random kernels FIRST to LAST; whole, every pair of classes must be among them.
kernels() {
	local d=$1 out
	program "$d" jitdiff
	out=$(ulimit -t 300; timeout 900 "$d/jitdiff" -s "$2" -n $(($3 - $2 + 1)) -1 -o "$d" 2>&1) ||
		{ echo "random after $(grep -m1 -o '^seed [0-9]*' <<<"$out" | cut -c6-) kernels"; return; }
	return 1
}

cases() {
	local d=$1 out p
	program "$d" ptxrun
	out=$(ulimit -t 120; timeout 900 "$d/ptxrun" -m jit -s tests/ptx/cases 2>&1) ||
		{ echo "cases (jit) $(grep -m1 -o 'cases/[a-z0-9_]*' <<<"$out")"; return; }
	program "$d" jitdiff
	out=$(ulimit -t 120; VGPU_CPU_ISA=avx2 timeout 900 "$d/jitdiff" -1 -o "$d" tests/ptx/random/*.ptx 2>&1) ||
		{ echo "random kernels that are kept"; return; }
	for p in alone solo tally near race; do
		program "$d" $p
		out=$(ulimit -t 60; timeout 300 "$d/$p" 2>&1) || { [ $? = 77 ] || { echo "who writes beside ($p)"; return; }; }
	done
	[ "$2" = 0 ] || return 1
	if [ -z "${VGPU_CPU_ISA:-}" ]; then     # what both compilers read, strips may read otherwise
		out=$(ulimit -t 120; VGPU_CPU_ISA=avx2 timeout 900 "$d/ptxrun" -m jit -s tests/ptx/cases 2>&1) ||
			{ echo "cases (jit, avx2) $(grep -m1 -o 'cases/[a-z0-9_]*' <<<"$out")"; return; }
	fi
	out=$(ulimit -t 120; timeout 900 "$d/ptxrun" -m interp -s tests/ptx/cases 2>&1) ||
		{ echo "cases (interp) $(grep -m1 -o 'cases/[a-z0-9_]*' <<<"$out")"; return; }
	out=$(ulimit -t 120; timeout 900 "$d/ptxrun" -m memcheck -s tests/ptx/cases tests/ptx/memcheck 2>&1) ||
		{ echo "cases (memcheck) $(grep -m1 -o '\(cases\|memcheck\)/[a-z0-9_]*' <<<"$out")"; return; }
	program "$d" legal
	out=$(ulimit -t 60; timeout 900 "$d/legal" tests/ptx/legal/*.txt 2>&1) || { echo "legal text"; return; }
	return 1
}

# code that is left and entered again everywhere
partly() {
	local d=$1 out x
	for x in 3 20; do
		out=$(ulimit -t 120; timeout 900 "$d/ptxrun" -m jit -x $x -s tests/ptx/cases 2>&1) ||
			{ echo "cases (partly) $(grep -m1 -o 'cases/[a-z0-9_]*' <<<"$out")"; return; }
	done
	out=$(ulimit -t 300; timeout 900 "$d/jitdiff" -n 300 -s 20000 -x 1 -1 -o "$d" 2>&1) || { echo "random kernels, partly"; return; }
	return 1
}

forms() {
	local d=$1 out m
	program "$d" optest
	for m in jit "jit -x 5" interp; do
		[ "$m" != interp ] || [ "$2" = 0 ] || break
		# shellcheck disable=SC2086
		out=$(ulimit -t 120; timeout 900 "$d/optest" -m $m 2>&1) || { echo "forms ($m)"; return; }
	done
	return 1
}

# What the forms' scalar reference has not: conversions with random bits, products of sparse matrices, and others.
oracle() {
	local d=$1 out st
	program "$d" ptxrun
	out=$(ulimit -t 300; PTXRUN=$d/ptxrun timeout 900 tests/ptx/oracle/run.sh "$build" -e 6 2>&1)
	st=$?
	case $st in 0|77) return 1 ;; esac
	echo "oracle ($(grep -m1 -E ' [1-9][0-9]* failed' <<<"$out" | cut -d: -f1))"
}

one() {
	local id=$1 d=$work/$1 why
	if ! why=$(plant "$work/$id/src" "$id" 2>&1); then
		echo "error     $id: $why"
	elif ! why=$(compile "$id" 2>&1); then
		echo "error     $id: does not build: $(head -2 <<<"$why")"
	elif why=$(first_failure "$d" 2>&1) && [ ! -e "$d/unlinked" ]; then
		printf 'killed    %-24s %s\n' "$id" "$why"
	elif [ -e "$d/unlinked" ]; then
		echo "error     $id: does not link: $(head -2 <<<"$why")"
	else
		printf 'SURVIVED  %-24s %s\n' "$id" "${comment[$id]}"
	fi
	[ -n "${KEEP:-}" ] || rm -rf "$d"
}

# what finds a fault must be silent without it
if [ -z "$quick" ]; then
	for p in ptxrun optest jitdiff legal; do ln -s "$PWD/$build/test/ptx/plain/$p" "$work/$p"; done
	for p in alone solo tally near race; do ln -s "$PWD/$build/test/unit/plain/$p" "$work/$p"; done
	if why=$(first_failure "$work"); then
		echo "mutants: the engine as it is fails: $why"
		exit 1
	fi
fi
# a fault's result is a line of $work/out, also printed
touch "$work/out"
n=0
for id in "${ids[@]}"; do
	one "$id" | tee -a "$work/out" &
	n=$((n + 1))
	[ $n -ge "$jobs" ] && { wait -n; n=$((n - 1)); }
done
wait
killed=$(grep -c '^killed' "$work/out")
echo "${#ids[@]} mutants, $killed killed"
[ "$killed" = ${#ids[@]} ]
