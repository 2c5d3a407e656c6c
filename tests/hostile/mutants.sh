#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the attackers' tests are worth: faults are planted one at a time (mutants.txt), and each must be seen by the test that stands for
# its row of issue 15. Nothing that is built for users has any of them: the tree is copied, and so are the objects of BUILD; a fault is
# put in, what it touches is made anew, and its test runs in the copy.
#   mutants.sh [-l | -c] BUILD [ID...]  ID: only these, or those that begin so; -l lists them, -c looks whether each could be planted
# A line for each; the last one is "N mutants, N killed". Exit 0: all were. BUILD is whole (make all test-bins).
set -u
export LC_ALL=C
list='' check=''
[ "${1:-}" = -l ] && list=1 && shift
[ "${1:-}" = -c ] && check=1 && shift
[ $# -gt 0 ] || { sed -n 's/^#   \(mutants.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 2
faults=tests/hostile/mutants.txt
ids=()
while read -r _ id _; do
	want=$((!$#))
	for w in "$@"; do [[ $id == "$w"* ]] && want=1; done
	[ $want = 1 ] && ids+=("$id")
done < <(grep '^== ' $faults)
[ ${#ids[@]} -gt 0 ] || { echo "mutants: there is no such"; exit 2; }
if [ -n "$list" ]; then
	for id in "${ids[@]}"; do grep "^== $id " $faults | cut -c4-; done
	exit 0
fi

# A line for those whose text does not stand in its file exactly once any more: nobody would plant them.
if [ -n "$check" ]; then
	python3 - $faults "${ids[@]}" <<'P'
import sys
path, want = sys.argv[1], set(sys.argv[2:])
edits, bad, now, lines = {}, 0, None, None
for line in open(path):
    if line.startswith("== "):
        words = line.split()
        now = edits[words[1]] = (words[2], []) if words[1] in want else None
        lines = None
    elif now and line in ("-- old\n", "-- new\n"):
        lines = []
        now[1].append(lines)
    elif line.startswith("-- "):
        lines = None
    elif now and lines is not None:
        lines.append(line)
for id, fault in edits.items():
    if not fault:
        continue
    old, new = ("".join(p).rstrip("\n") for p in fault[1])
    n = open(fault[0]).read().count(old)
    if n != 1 or old == new:
        print(f"FAIL mutants/{id} its text stands {n} times in {fault[0]}")
        bad += 1
if not bad:
    print(f"ok mutants ({len(want)} can be planted)")
sys.exit(bad > 0)
P
	exit
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-mutants.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
chmod 711 "$work"                       # contexts are users of their own
mkdir -p "$work/tree"
# with their times, so that only what a fault touches is made anew
git ls-files -z | xargs -0 cp -dp --parents -t "$work/tree" || exit 2
B=$work/build
mkdir -p "$B/test/hostile/bin" "$B/obj"
cp -pr "$build/bin" "$build/lib" "$B/"
for f in "$build"/obj/*; do
	case ${f##*/} in agent | lib | plain | stub) cp -pr "$f" "$B/obj/" ;; esac
done
for f in "$build"/*; do [ -e "$B/${f##*/}" ] || ln -s "$f" "$B/"; done
for f in "$build"/test/*; do [ -e "$B/test/${f##*/}" ] || ln -s "$f" "$B/test/"; done
# copied: both sides of native.h know its attacks by their numbers, and the one here stays as it is
for f in "$build"/test/hostile/*; do [ -e "$B/test/hostile/${f##*/}" ] || cp -p "$f" "$B/test/hostile/"; done
cp -p "$build/test/hostile/bin/vgpu-stub" "$B/test/hostile/bin/"
rm "$B/test/unit"
mkdir -p "$B/test/unit/plain"
export B

# ID put into the tree: prints FILE, then what is to be made, then the test
plant() {
	python3 - "$work/tree" "$1" $faults <<'P'
import sys
tree, want, path = sys.argv[1:]
text, file, part, edits = {"make": "", "test": ""}, None, None, []
for line in open(path):
    if line.startswith("== "):
        words = line.split()
        file, part = (words[2] if words[1] == want else None), None
        if file: of = file
    elif not file:
        continue
    elif line.startswith("-- make ") or line.startswith("-- test "):
        text[line[3:7]] = line[8:].strip()
    elif line in ("-- old\n", "-- new\n"):
        part = line[3:6]
        edits.append("")
    elif part:
        edits[-1] += line
old, new = (e.rstrip("\n") for e in edits)
path = tree + "/" + of
source = open(path).read()
if source.count(old) != 1:
    sys.exit(f"mutants: {want}: its text stands {source.count(old)} times in {of}")
open(path, "w").write(source.replace(old, new))
print(of, text["make"], text["test"], sep="\n")
P
}

# what is made of a header, or of a source that a test includes: the copied rules know it by another folder
stale() {
	local d
	grep -rl --include='*.d' -F "$file" "$B/obj" | while read -r d; do rm -f "${d%.d}.o"; done
}
killed=0 what= lived=''
for id in "${ids[@]}"; do
	plant "$id" >"$work/what" || { lived+=" $id"; continue; }
	{ read -r file; read -r targets; read -r try; } <"$work/what"
	for t in $targets; do what+=" $B/$t"; done
	stale
	# shellcheck disable=SC2086
	if ! make -C "$work/tree" -j2 B="$B" $what >"$work/make" 2>&1; then
		echo "FAIL $id does not build: $(grep -m 1 -i error "$work/make")"
		lived+=" $id"
	else
		(cd "$work/tree" && timeout 280 bash -c "$try") >"$work/out" 2>/dev/null
		st=$?
		# a test that has skipped something has seen nothing
		[ $st = 77 ] && st=0
		if [ $st != 0 ] || grep -q '^FAIL' "$work/out"; then
			killed=$((killed + 1))
			echo "ok $id: $(grep -m 1 '^FAIL' "$work/out" | cut -c1-150 || true)$([ $st = 0 ] || echo " (status $st)")"
		else
			echo "FAIL $id was not seen by: $try"
			lived+=" $id"
		fi
	fi
	# as it was, and what was made of it too
	cp -p "$root/$file" "$work/tree/$file"
	touch "$work/tree/$file"
	stale
	# shellcheck disable=SC2086
	make -C "$work/tree" -j2 B="$B" $what >"$work/make" 2>&1 || { echo "FAIL the tree as it is does not build: $(tail -n 1 "$work/make")"; exit 1; }
	what=
done
echo "${#ids[@]} mutants, $killed killed${lived:+; not seen:$lived}"
[ $killed = ${#ids[@]} ]
