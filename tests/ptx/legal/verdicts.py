#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Asks NVIDIA's assembler about every snippet of the tables and writes its verdicts into them.
#   verdicts.py PTXAS [TABLE...]      PTXAS: of the wheel nvidia-cuda-nvcc
# The test itself (legal.c) reads what was written and needs no assembler.
import concurrent.futures, os, re, struct, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
prelude = open(os.path.join(here, "prelude.ptx")).read()

def text(kind, body, target):
    """The same four ways as legal.c puts a snippet into a module."""
    body = body.replace("\\n", "\n")
    head = ".version 9.1\n.target %s\n.address_size 64\n" % target
    if kind == "S":
        return prelude.replace("TARGET", target).replace("STATEMENT", body)
    if kind == "M":
        return head + body + "\n"
    if kind == "E":
        type_, expr = body.split(None, 1)
        return head + ".visible .global .%s x[1] = {%s};\n" % (type_, expr)
    return body + "\n"

def first_value(path):
    """Bytes of variable x in a cubin."""
    b = open(path, "rb").read()
    shoff, (num, names) = struct.unpack_from("<Q", b, 40)[0], struct.unpack_from("<HH", b, 60)
    sec = [struct.unpack_from("<IIQQQQIIQQ", b, shoff + i * 64) for i in range(num)]
    word = lambda tab, at: b[tab[4] + at:b.index(0, tab[4] + at)].decode()
    for s in sec:
        if s[1] != 2:                   # SHT_SYMTAB
            continue
        for at in range(s[4], s[4] + s[5], 24):
            name, _, _, shndx, value, size = struct.unpack_from("<IBBHQQ", b, at)
            if word(sec[s[6]], name) == "x":
                if sec[shndx][1] == 8:  # SHT_NOBITS: zero
                    return 0
                return int.from_bytes(b[sec[shndx][4] + value:sec[shndx][4] + value + size], "little")
    raise ValueError("no x in " + path)

def ask(job):
    ptxas, kind, body, target = job
    with tempfile.TemporaryDirectory() as d:
        open(d + "/a.ptx", "w").write(text(kind, body, target))
        arch = target.split(",")[0]
        r = subprocess.run([ptxas, "-c", "-arch=" + arch, d + "/a.ptx", "-o", d + "/a.cubin"], capture_output=True, text=True)
        why = [l for l in (r.stdout + r.stderr).splitlines() if "error" in l or "fatal" in l]
        if r.returncode:
            return "-", re.sub(r".*?(error|fatal) *: *", "", why[0]) if why else "?"
        return ("%#x" % first_value(d + "/a.cubin") if kind == "E" else "+"), ""

def main():
    ptxas, tables = sys.argv[1], sys.argv[2:]
    tables = tables or sorted(os.path.join(here, f) for f in os.listdir(here) if f.endswith(".txt"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path in tables:
            target, lines, jobs = "sm_90a", open(path).read().splitlines(), {}
            for i, l in enumerate(lines):
                m = re.match(r"(\S+) ([SMEH]) (.*)", l)
                if l.startswith(".target "):
                    target = l.split(None, 1)[1]
                elif m and l[0] not in "#!":
                    jobs[i] = (ptxas, m[2], m[3], target)
            for i, (verdict, why) in zip(jobs, pool.map(ask, jobs.values())):
                new = "%s %s %s" % (verdict, jobs[i][1], jobs[i][2])
                if new != lines[i]:
                    print("%s:%d: %s  %s" % (os.path.basename(path), i + 1, new, why))
                lines[i] = new
            open(path, "w").write("\n".join(lines) + "\n")

main()
