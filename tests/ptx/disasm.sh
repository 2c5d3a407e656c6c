#!/bin/bash
# SPDX-License-Identifier: MIT
# The disassembly, vgpu check -d, of all kernels here: every word of it stands in the op table, and every instruction of the
# table turns up but those that lowering turns into others.
# Usage: tests/ptx/disasm.sh BUILD
set -u
here=$(dirname "$0")
V=$1/bin/vgpu
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

"$V" check --ops >"$dir/ops"
"$V" check -d --cc 9.0 "$here"/cases/*.ptx "$here"/memcheck/*.ptx "$here"/ops/*.ptx "$here"/../e2e/kernels/*.ptx >"$dir/list" 2>"$dir/err"
python3 - "$dir/ops" "$dir/list" <<'P' || bad=1
import re, sys
rows = {}
for line in open(sys.argv[1]):
    m = re.match(r"\| `([a-z0-9._]+)` \|(.*)\|(.*)\|", line)
    if m:
        rows[m[1]] = set(re.findall(r"\.(\S+)", m[2])), set(re.findall(r"\.(\S+)", m[3]))
types = set().union(*(t for t, _ in rows.values()), {"s8", "u8", "b8", "pred"})
# operations of the engine's own; parts that ops are taken apart into, with what PTX does not write there
own = {"flush", "pack", "xtr", "relu", "later", "meet"}
extra = {"ldmatrix": {"row", "lo", "hi"}, "elect": {"sync"}}
seen, bad, n = set(), 0, 0
for line in open(sys.argv[2]):
    m = re.match(r" {0,6}\d+  (@!?\S+ )?([a-z0-9]+)((\.[A-Za-z0-9]+)*)( [^/]*)?(// .*)?$", line)
    if not m:
        if not re.match(r"(\.entry|\.func|[A-Za-z_$%][\w$]*:|$)", line) or "?" in line:
            bad += 1
            print("not an instruction:", line.rstrip())
        continue
    n += 1
    name, words = m[2], [w for w in m[3].split(".") if w]
    seen.add(name)
    if re.search(r"slot\d|pool\+|\?|\bnop\b", line):
        bad += 1
        print("an operand without a name:", line.rstrip())
    if name in own:
        continue
    if name not in rows:
        bad += 1
        print("not in the table:", line.rstrip())
        continue
    for w in words:
        if w not in types and w not in rows[name][1] and w not in extra.get(name, set()):
            bad += 1
            print("no word of", name + ":", line.rstrip())
# hints are dropped; these are loads, stores and fences like others; set is a comparison and a selection; wmma and wgmma are loads, mma and
# stores; alloca and its like are sums, and so are those with a carry, sad and mad24.lo; copysign, bfi and cnot are logic
gone = {"prefetch", "prefetchu", "pmevent", "griddepcontrol", "ldu", "fence", "set", "applypriority", "createpolicy", "discard", "setmaxnreg",
        "wmma", "wgmma", "tensormap", "alloca", "stacksave", "stackrestore", "copysign", "addc", "subc", "madc", "sad", "mad24", "bfi", "cnot"}
missing = set(rows) - seen - gone
if missing:
    bad += 1
    print("never seen:", *sorted(missing))
if seen & gone:
    bad += 1
    print("seen after all:", *sorted(seen & gone))
print(n, "instructions,", len(seen), "names")
sys.exit(bad != 0 or n < 9000)
P
# what it knows of a kernel: uniform and striding values, where lanes meet, the program's labels
"$V" check -d -k vecadd "$here/../e2e/kernels/vecadd.ptx" >"$dir/one"
for want in '^\.entry vecadd: ' '  ld\.param\.u64 %rd4, \[vecadd_param_0\] .*// once a launch' \
	'  mul\.wide\.s32 %rd10, %r5, 4' '  @%p1 bra LBB0_2' '  ret$'; do
	grep -q -- "$want" "$dir/one" || { echo "no line like '$want'"; bad=1; }
done
grep -q '^\.entry saxpy' "$dir/one" && { echo "-k shows other kernels"; bad=1; }
if "$V" check -v "$here/../e2e/kernels/vecadd.ptx" >/dev/null && grep -q '; JIT:' "$dir/one"; then
	for want in 'bra .*// lanes part, and meet at ' ':  // lanes meet' 'mul\.wide.*// uniform + 4 \* lane' '// varying' '// uniform$'; do
		grep -q -- "$want" "$dir/one" || { echo "no line like '$want' of the JIT's"; bad=1; }
	done
fi
# what a loop makes anew in each round, and always the same, is made before it
"$V" check -d -k k "$here/cases/loop_invariants.ptx" >"$dir/two"
[ "$(grep -oE '^ROUND:|mul\.wide\.u32 %rd[35]|add\.s64 %rd[46]' "$dir/two" | tr '\n' ' ')" = "mul.wide.u32 %rd3 add.s64 %rd4 ROUND: mul.wide.u32 %rd5 add.s64 %rd6 " ] ||
	{ echo "the same in each round, and not before the loop:"; cat "$dir/two"; bad=1; }
[ $bad = 0 ] || head -40 "$dir/one"
exit $bad
