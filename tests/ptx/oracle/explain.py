#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what ptxrun says of the oracle's cases and names the form behind each failure: explain.py < log"""
import re
import sys

seen, files = {}, {}
for line in sys.stdin:
    m = re.match(r"(\S+\.ptx):\d+: (.*)", line)
    if not m or "... and more" in line or line.find("no variable") > 0 or "launch of" in line:
        continue
    path, said = m.groups()
    lines = files.setdefault(path, open(path).read().split("\n"))
    f = re.search(r"\b(f\d+)([vugk])(\d+)\[(\d+)\]", said)
    if f:
        form, kind, out, at = f.groups()
        text = next(x for x in lines if x.startswith("// %s: " % form))[3:]
        at = int(at)
        ops = []
        for x in lines:
            a = re.match(r"\.global \.align 8 \.b\d+ %s([abcehij])\[\d+\] = \{(.*)\};" % form, x)
            if a:
                vals = a.group(2).split(", ")
                ops.append("%s=%s" % (a.group(1), vals[at] if at < len(vals) else vals[at // 2]))
        key = (path, form)
        said = "%s[%d] %s  %s" % (kind, at, " ".join(ops), said.split(" = ", 1)[1])
    else:
        where = re.search(r": (\d+):\d+: ", said)
        text = lines[int(where.group(1)) - 1].strip() if where else path
        key = (path, said)
    seen.setdefault(key, (text, []))[1].append(said)
for (path, form), (text, said) in seen.items():
    print("%s %s\n\t%s%s" % (path.rsplit("/", 1)[-1], text, "\n\t".join(said[:3]), " (+%d)" % (len(said) - 3) if len(said) > 3 else ""))
sys.exit(bool(seen))
