# SPDX-License-Identifier: MIT
# The Perfetto file of program.c: what stands on which track, that ranges end, and that the CUDA call lies inside its range.
import json, sys

events = json.load(open(sys.argv[1]))["traceEvents"]
main = next(e for e in events if e["ph"] == "B")["pid"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}   # the last word counts
assert "worker \"one\"" in names.values(), names
# the device's tracks have the streams' names
device = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X" and e["name"] == "[CUDA memset]"}
assert {names[t] for t in device} == {"upload", 'down "load"'}, (device, names)

stack = {}
spans = {}
for e in events:
    if e["ph"] == "B":
        stack.setdefault(e["tid"], []).append(e)
    elif e["ph"] == "E":
        b = stack[e["tid"]].pop()
        spans[b["name"]] = (b["tid"], b["ts"], e["ts"])
assert not any(stack.values()), stack
assert set(spans) == {"outer", "inner ä 😀", "in a thread"}, spans
assert spans["outer"][1] <= spans["inner ä 😀"][1] and spans["inner ä 😀"][2] <= spans["outer"][2], spans
assert names[main, spans["in a thread"][0]] == "worker \"one\""
call = next(e for e in events if e.get("name") == "cuDriverGetVersion")
assert spans["outer"][1] <= call["ts"] and call["ts"] + call["dur"] <= spans["inner ä 😀"][1] and call["tid"] == main

# with tracks of their own: ends have the beginning's name, category and id, in the order of a stack
open_, closed = {}, []
for e in events:
    if e["ph"] == "b":
        open_.setdefault((e["pid"], e["cat"], e["id"]), []).append(e["name"])
    elif e["ph"] == "e":
        assert open_[(e["pid"], e["cat"], e["id"])].pop() == e["name"]
        closed.append((e["cat"], e["name"]))
assert not any(open_.values()), open_
assert sorted(closed) == [("nvtx", "long")] + [("nvtx.my.domain", "registered text")] * 3, closed
marks = [(e["name"], e["cat"]) for e in events if e["ph"] == "i"]
assert marks[:2] == [("a mark", "nvtx"), ("wide", "nvtx")], marks
wide = next(e for e in events if e.get("name") == "wide")
assert "colour=#ff00ff00" in wide["args"]["arguments"] and "payload=-7" in wide["args"]["arguments"], wide
pushed = next(e for e in events if e.get("name") == "registered text")
assert pushed["args"]["domain"] == "my.domain" and 'category="io"' in pushed["args"]["arguments"] and "payload=1.5" in pushed["args"]["arguments"]
