# SPDX-License-Identifier: MIT
# What program.c did, as the Perfetto file and the sums have it: check.py PERFETTO SUMS PRINTED
import json, sys

events = json.load(open(sys.argv[1]))["traceEvents"]
sums = json.load(open(sys.argv[2]))
first, second = [int(x) for x in open(sys.argv[3]).read().split()]
work = [e for e in events if e["ph"] == "X" and e.get("cat") in ("kernel", "graph", "memory", "wait")]
calls = [e for e in events if e["ph"] == "X" and e.get("cat") == "driver"]

# each piece of work once, by its name; a launch that was refused and captured ones are none
assert [e["name"] for e in work if e["cat"] == "kernel"] == ["spin(unsigned int*)"] * 3, work
assert [e["name"] for e in work if e["cat"] == "graph"] == ["[CUDA graph]"]
assert sorted(e["name"] for e in work if e["cat"] == "memory") == ["[CUDA memcpy Device-to-Host]", "[CUDA memcpy Host-to-Device]", "[CUDA memset]"]
assert all(e["args"]["bytes"] == 4 for e in work if e["cat"] == "memory")
assert [e["name"] for e in work if e["cat"] == "wait"] == ["[wait for an event]"]

# tracks: of one context; default stream, a, b; named; nothing on one track overlaps
names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["ph"] == "M"}
assert len({e["pid"] for e in work}) == 1 and work[0]["pid"] not in {c["pid"] for c in calls}
assert "context" in names[(work[0]["pid"], None)], names
tracks = {}
for e in work:
    tracks.setdefault(e["tid"], []).append(e)
    assert "stream" in names[(e["pid"], e["tid"])]
assert len(tracks) == 3, tracks
ps = lambda us: round(us * 1000)        # the file has ns, as decimals of us
for t in tracks.values():
    t.sort(key=lambda e: e["ts"])
    for x, y in zip(t, t[1:]):
        assert ps(x["ts"]) + ps(x["dur"]) <= ps(y["ts"]), (x, y)

# the program's own events stand around the kernels on the device, so no kernel is longer than what they measured (a float of ms)
spin = sorted((e for e in work if e["cat"] == "kernel"), key=lambda e: e["ts"])
assert 0 < ps(spin[0]["dur"]) <= first * 1.000001 + 64 and 0 < ps(spin[1]["dur"]) <= second * 1.000001 + 64, (spin, first, second)
# b's kernel waited for a's: it begins behind it, and the wait ends no sooner
wait = next(e for e in work if e["cat"] == "wait")
a_ends = ps(spin[0]["ts"]) + ps(spin[0]["dur"])
assert ps(spin[1]["ts"]) >= a_ends and ps(wait["ts"]) + ps(wait["dur"]) >= a_ends and wait["tid"] == spin[1]["tid"] != spin[0]["tid"]

# arrows: from within the call that gave the work, to its beginning, never back in time
starts = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
assert len(starts) == len(ends) == len(work) and set(starts) == set(ends)
for i, s in starts.items():
    f = ends[i]
    target = next(e for e in work if (e["pid"], e["tid"]) == (f["pid"], f["tid"]) and e["ts"] <= f["ts"] <= e["ts"] + e["dur"] + 0.001)
    source = [c for c in calls if c["tid"] == s["tid"] and c["ts"] <= s["ts"] <= c["ts"] + c["dur"]]
    want = {"kernel": "cuLaunchKernel", "graph": "cuGraphLaunch", "wait": "cuStreamWaitEvent", "memory": "cuMem"}[target["cat"]]
    assert len(source) == 1 and source[0]["name"].startswith(want), (target, source)
    assert s["ts"] <= f["ts"]

# the sums
k = {r["name"]: r for r in sums["kernels"]}
assert k["spin(unsigned int*)"]["count"] == 3 and k["[CUDA graph]"]["count"] == 1, k
s = k["spin(unsigned int*)"]
assert 0 < s["min"] <= s["median"] <= s["max"] <= s["total_ns"] and abs(s["mean"] - s["total_ns"] / 3) <= s["mean"] * 1e-5
m = {r["name"]: r for r in sums["memory_by_size"]}
assert all(r["total_bytes"] == 4 and r["count"] == 1 for r in m.values()) and len(m) == 3
assert [r["name"] for r in sums["waits"]] == ["[wait for an event]"]
