#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what two libraries answered to a probe: compare.py [-n] [-e EXCEPTIONS] HARDWARE OURS
Or one with what the documentation says: compare.py -x ANSWERS EXPECTATIONS... (expect/*.txt)

Words that begin with ~ depend on the card and are not compared. EXCEPTIONS: lines "PATTERN<tab>reason", a pattern of fnmatch over a
line's call; such lines may differ. -n: counts only. Exit 1 where something differs that no exception names."""
import collections
import fnmatch
import re
import sys


def lines(path):
    """key -> answers, in order; the key is group, tag and call with its number where it repeats"""
    seen, out = collections.Counter(), {}
    for line in open(path, errors="replace"):
        if " -> " not in line:
            continue
        call, answer = line.rstrip("\n").split(" -> ", 1)
        answer = re.sub(r"~\S+", "~", answer)
        seen[call] += 1
        out[f"{call} #{seen[call]}" if seen[call] > 1 else call] = answer
    return out


def expected(path):
    """pattern, answer, source, one by one"""
    source = ""
    for line in open(path):
        if line[0] == "#":
            continue
        if line[0] == "\t":
            pattern, answer = line.strip().split(" -> ", 1)
            yield pattern, answer, source
        else:
            source = line.strip()


def check(answers, files):
    said, n, bad = lines(answers), 0, 0
    for path in files:
        for pattern, answer, source in expected(path):
            n += 1
            if "*" in pattern and pattern not in said:
                match = re.compile("".join(".*" if c == "*" else re.escape(c) for c in pattern) + r"\Z").match
                keys = [k for k in said if match(k)]
            else:
                keys = [pattern] if pattern in said else []
            if not keys:
                print(f"no such line: {pattern}")
                bad += 1
            for k in keys:
                is_ = said[k] if " " in answer else said[k].split(" ")[0]
                if is_ != re.sub(r"~\S+", "~", answer):
                    print(f"{k}\n    documented: {answer}    {source}\n    ours:       {said[k]}")
                    bad += 1
    print(f"{n} expectations, {bad} not met")
    return 1 if bad else 0


def main(args):
    if args[:1] == ["-x"] and len(args) > 2:
        return check(args[1], args[2:])
    counts = "-n" in args
    args = [a for a in args if a != "-n"]
    allowed = []
    if args and args[0] == "-e":
        allowed = [l.rstrip("\n").split("\t", 1) for l in open(args[1]) if l.strip() and l[0] != "#"]
        args = args[2:]
    if len(args) != 2:
        sys.exit(__doc__)
    theirs, ours = lines(args[0]), lines(args[1])
    groups, used, bad, excused = collections.Counter(), set(), 0, 0
    for key in list(theirs) + [k for k in ours if k not in theirs]:
        a, b = theirs.get(key, "(no line)"), ours.get(key, "(no line)")
        if a == b:
            continue
        hit = next((i for i, (pattern, *_) in enumerate(allowed) if fnmatch.fnmatchcase(key, pattern)), None)
        if hit is not None:
            used.add(hit)
            excused += 1
            continue
        bad += 1
        groups[key.split("]")[0].lstrip("[")] += 1
        if not counts:
            print(f"{key}\n    hardware: {a}\n    ours:     {b}")
    for i, (pattern, *_) in enumerate(allowed):
        if i not in used:
            print(f"no difference needs the exception {pattern}")
            bad += 1
    print(f"{len(theirs)} lines, {bad} differ, {excused} by exceptions" + "".join(f"; {g} {n}" for g, n in groups.most_common()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
