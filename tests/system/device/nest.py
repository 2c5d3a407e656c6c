# SPDX-License-Identifier: MIT
# nest.py PERFETTO: on every track a slice follows the one before it or lies within it (trace_processor drops others), and each arrow
# begins and ends in one.
import json, sys

tracks, ends = {}, []
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "X":
        tracks.setdefault((e["pid"], e["tid"]), []).append((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"]))
    elif e["ph"] in "sf":
        ends.append((e["pid"], e["tid"], round(e["ts"] * 1000)))
for track, slices in tracks.items():
    around = []
    for begin, end, name in sorted(slices, key=lambda s: (s[0], -s[1])):
        while around and around[-1] <= begin:
            around.pop()
        assert not around or end <= around[-1], (track, begin, end, name, around[-1])
        around.append(end)
assert ends and all(any(b <= at <= e for b, e, _ in tracks[pid, tid]) for pid, tid, at in ends)
