# SPDX-License-Identifier: MIT
"""The dashboard against what vgpu metrics prints: grafana.py DASHBOARD METRICS RULES
Every metric and label that a panel asks for is there, panels do not overlap, names are used once. The expressions go to RULES, with
Grafana's variables filled in, for promtool."""
import json
import re
import sys

d = json.load(open(sys.argv[1]))
have = {}
for line in open(sys.argv[2]):
    m = re.match(r"([A-Za-z_]\w*)(?:\{(.*)\})? ", line)
    if m and not line.startswith("#"):
        have.setdefault(m[1], set()).update(re.findall(r'(\w+)="', m[2] or ""))
bad = []
cells = {}
rules = []
for p in d["panels"]:
    g = p["gridPos"]
    if g["x"] + g["w"] > 24:
        bad.append(f"{p['title']}: beyond the 24 columns")
    for x in range(g["x"], g["x"] + g["w"]):
        for y in range(g["y"], g["y"] + g["h"]):
            if cells.setdefault((x, y), p["id"]) != p["id"]:
                bad.append(f"{p['title']}: over another panel")
    for t in p["targets"]:
        names = re.findall(r"\b(?:vgpu|DCGM)_\w+", t["expr"])
        if not names:
            bad.append(f"{p['title']}: no metric in {t['expr']}")
        labels = re.findall(r"(\w+)=~", t["expr"]) + re.findall(r"\{\{(\w+)\}\}", t["legendFormat"])
        for n in names:
            # instance is Prometheus's own
            for label in ["-"] if n not in have else [x for x in labels if x != "instance" and x not in have[n]]:
                bad.append(f"{p['title']}: {n} " + ("is not there" if label == "-" else f"has no label {label}"))
        rules.append(t["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*").replace("$gpu", ".*"))
if len({p["id"] for p in d["panels"]}) != len(d["panels"]):
    bad.append("two panels with one id")
with open(sys.argv[3], "w") as f:
    json.dump({"groups": [{"name": "dashboard", "rules": [{"record": f"x:{i}", "expr": r} for i, r in enumerate(rules)]}]}, f)
print("; ".join(sorted(set(bad))) or f"{len(d['panels'])} panels, {len(rules)} expressions")
sys.exit(bool(bad))
