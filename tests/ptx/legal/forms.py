#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Every instruction of the PTX ISA with every modifier and type of its syntax (and many that are not in it): what NVIDIA's assembler
# says of each form, and what the engine says.
#   forms.py PTXAS LEGAL [WORD...]   LEGAL: the test program of that name; WORD: only this instruction ("v*": those that begin so)
# Prints the forms that are refused here and accepted there (">"), and the other way round ("<"), and counts.
import itertools, os, re, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
targets = ["sm_90a", "sm_100a", "sm_103a", "sm_120a"]
prelude = """.version 9.1
.target TARGET
.address_size 64
.global .align 128 .b32 gv[64];
.const .align 16 .b32 cv[16];
.func f0() { ret; }
.visible .entry k(.param .u64 kp, .param .u32 kq)
{
	.reg .pred %p<8>; .reg .b8 t; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %rd<32>;
	.shared .align 128 .b32 sv[64]; .local .align 16 .b32 lv[16];
	STATEMENT
L:
	ret;
}
"""

size = {"pred": "p", "b8": "h", "u8": "h", "s8": "h", "b16": "h", "u16": "h", "s16": "h", "f16": "h", "bf16": "h", "b32": "r", "u32": "r",
	"s32": "r", "f32": "r", "f16x2": "r", "bf16x2": "r", "u16x2": "r", "s16x2": "r", "tf32": "r", "b64": "rd", "u64": "rd", "s64": "rd",
	"f64": "rd", "f32x2": "rd", "b128": "q", "e4m3x2": "h", "e5m2x2": "h", "e4m3x4": "r", "e5m2x4": "r", "e2m1x4": "h", "e2m3x4": "r",
	"e3m2x4": "r", "e2m1x2": "h", "e2m3x2": "h", "e3m2x2": "h", "ue8m0x2": "h", "s2f6x2": "h"}
ints = "u16 s16 u32 s32 u64 s64"
bits = "b16 b32 b64"
floats = "f32 f64"
halves = "f16 f16x2 bf16 bf16x2"
mem = "b8 u8 s8 b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 b128"
vec16 = "b32 u32 s32 f32"
every = ints + " " + bits + " " + floats + " " + halves + " u16x2 s16x2 f32x2 pred u8 s8 b8 b128"
fcmp = ".eq .ne .lt .le .gt .ge .equ .neu .ltu .leu .gtu .geu .num .nan .lo .ls .hi .hs"
sem = "- .weak .volatile .relaxed.cta .relaxed.gpu .relaxed.sys .relaxed.cluster .acquire.cta .acquire.gpu .acquire.sys .acquire.cluster " \
      ".release.gpu .release.cluster .mmio.relaxed.sys .relaxed .acq_rel.gpu .sc.gpu .gpu"
spaces = "- .global .shared .shared::cta .shared::cluster .local .const .param .param::entry .param::func"

# A form: name, then groups of alternatives ("-" is nothing), then "T" or "T U" (first and second type) and its operands:
#   d destination, s source of T; u source of U; w destination twice as wide; 1 a 32-bit register; 8 a 64-bit one; p predicate; i immediate
# and anything else as it stands, registers numbered anew where %% stands.
forms = []

def add(name, groups, ops):
	for choice in itertools.product(*[g.split() for g in groups]):
		mods = [c for c in choice if c != "-"]
		text = "".join(m if m.startswith(".") or m.startswith("::") else "." + m for m in mods)
		forms.append((name, text, [m for m in (name + text).split(".") if m in size], ops))

def render(form):
	name, mods, ts, ops = form
	n = [0]

	def reg(cls):
		n[0] += 1
		return "%%%s%d" % (cls, n[0] % 8)

	def one(m):
		c = m[0]
		t = ts[0] if ts else "b32"
		u = ts[1] if len(ts) > 1 else t
		wide = {"h": "r", "r": "rd", "rd": "q"}
		if c in ("$d", "$s"):
			return reg(size[t])
		if c == "$u":
			return reg(size[u])
		if c in ("$D", "$w"):
			return reg(wide.get(size[t], "r") if ".wide" in mods else size[t])
		if c == "$1":
			return reg("r")
		if c == "$2":
			return reg("h")
		if c == "$8":
			return reg("rd")
		if c == "$q":
			return reg("q")
		if c == "$p":
			return reg("p")
		if c == "$a":
			return "[%s]" % {"shared": "sv", "shared::cta": "sv", "local": "lv", "const": "cv", "param": "kp", "param::entry": "kp",
					 "param::func": "kp"}.get(next((s for s in re.findall(r"shared::\w+|param::\w+|\w+", mods)
						if s.split("::")[0] in ("shared", "local", "const", "param", "global")), ""), "%rd31")
		if c == "$v":
			v = re.search(r"\.v(\d)", mods)
			k = int(v[1]) if v else 1
			return "{%s}" % ", ".join(reg(size[ts[-1]]) for _ in range(k)) if v else reg(size[ts[-1]])
		return c
	text = name + mods + (" " + re.sub(r"\$\w", one, ops) if ops else "") + ";"
	return ".reg .b128 %q<8>; " + text if "%q" in text else text

exec(open(os.path.join(here, "forms.def")).read())

def refused(ptxas, target, lines):
	"""The numbers of the lines that the assembler does not take; it stops at some errors, so it is asked until it takes the rest."""
	bad, left = {}, list(range(len(lines)))
	with tempfile.TemporaryDirectory() as d:
		while left:
			text = prelude.replace("TARGET", target)
			before = text[:text.index("STATEMENT")].count("\n") + 1
			body = "\n".join("{ %s }" % lines[i] for i in left)
			open(d + "/a.ptx", "w").write(text.replace("STATEMENT", body))
			r = subprocess.run([ptxas, "-O0", "-arch=" + target, d + "/a.ptx", "-o", d + "/a.cubin"], capture_output=True, text=True)
			if r.returncode == 0:
				break
			found = {}
			for l in (r.stdout + r.stderr).splitlines():
				m = re.search(r", line (\d+); (?:error|fatal) *: (.*)", l)
				if m and 0 <= int(m[1]) - before < len(left):
					found.setdefault(left[int(m[1]) - before], m[2])
			if not found:
				if len(left) == 1:
					bad[left[0]] = (r.stdout + r.stderr)[-200:]
					break
				half = len(left) // 2    # an error of no line: by halves
				for part in (left[:half], left[half:]):
					sub = refused(ptxas, target, [lines[i] for i in part])
					bad.update({part[i]: w for i, w in sub.items()})
				break
			bad.update(found)
			left = [i for i in left if i not in found]
	return bad

def ask(ptxas, legal, lines):
	"""Prints the differences; returns the counts."""
	there, why, todo = {}, {}, list(range(len(lines)))
	for t in targets:
		for at in range(0, len(todo), 500):
			part = todo[at:at + 500]
			bad = refused(ptxas, t, [lines[i] for i in part])
			for k, i in enumerate(part):
				if k in bad:
					why.setdefault(i, bad[k])
				else:
					there[i] = t
		# what is wrong everywhere is not asked again: only "not supported on target" and the like may be another device's
		todo = [i for i in todo if i not in there and re.search("target|arch|sm_|[Ff]eature|require|Unknown modifier|Unexpected|Illegal modifier", why[i])]
	with tempfile.TemporaryDirectory() as d:
		open(d + "/prelude.ptx", "w").write(prelude)
		with open(d + "/a.txt", "w") as f:
			for t in targets:
				f.write(".target %s\n" % t)
				for i, l in enumerate(lines):
					if there.get(i, targets[0]) == t:
						f.write("+ S %s\n" % l)
		out = subprocess.run([legal, "-v", d + "/a.txt"], capture_output=True, text=True).stdout
	ours = dict(m.groups() for m in (re.match(r"\S+: \+ S (.*;) => (.*)", l) for l in out.splitlines()) if m)
	ok = named = more = 0
	for i, l in enumerate(lines):
		say = ours.get(l, "?")
		good = say.startswith("no error")
		if i in there:
			ok += good
			named += "is not supported" in say
			if not good:
				print("> %s  # %s: %s" % (l, there[i], say))
		elif good:
			more += 1
			print("< %s  # %s" % (l, why.get(i, "?")))
	return len(lines), len(there), ok, named, more

def main():
	ptxas, legal, words = sys.argv[1], sys.argv[2], sys.argv[3:]
	heads, total = {}, [0] * 5
	for f in forms:
		if not words or any(f[0] == w or f[0].startswith(w + ".") or (w[-1] == "*" and f[0].startswith(w[:-1])) for w in words):
			heads.setdefault(f[0].split(".")[0], set()).add(render(f))
	say = "%d forms, %d accepted by the assembler; of these %d accepted here, %d more refused by name; %d accepted here alone"
	for h in heads:
		n = ask(ptxas, legal, sorted(heads[h]))
		print("%-14s" % h + say % n, flush=True)
		total = [a + b for a, b in zip(total, n)]
	print("all: " + say % tuple(total))

main()
