# SPDX-License-Identifier: MIT
# Judges the counts of one traced run: trace.py ERRORS SEEN NAME FUNCTION... <JSON. One line: ok or FAIL.
import json, sys

allowed = {tuple(l.split()[:2]) for l in open(sys.argv[1]) if l.strip() and not l.startswith("#")}
f = json.load(sys.stdin)["functions"]
bad = [f"{n} was not called" for n in sys.argv[4:] if not f.get(n, {}).get("calls")]
with open(sys.argv[2], "a") as seen:
    for name, v in f.items():
        for result, times in v["errors"].items():
            seen.write(f"{name} {result}\n")
            if (name, result) not in allowed:
                bad.append(f"{name} = {result}, {times} times")
calls = sum(v["calls"] for v in f.values())
print("FAIL" if bad else "ok", sys.argv[3], "; ".join(bad) or
      f"{calls} calls, {f['cudaLaunchKernel']['calls']} launches, {f['cudaMemcpyAsync']['calls']} copies, no unexpected error")
sys.exit(bool(bad))
