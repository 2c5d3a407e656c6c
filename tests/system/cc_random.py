# SPDX-License-Identifier: MIT
# cc_random.py WANT HAVE: lines "GENERATOR CASE KIND VALUE...": n and u are the same, g (float) and h (double) within some units of the last place.
import sys

UNITS = {"g": 8 * 2.0**-23, "h": 8 * 2.0**-52}
want, have = ([line.split() for line in open(name)] for name in sys.argv[1:3])
bad = 0
if len(want) < 140 or len(want) != len(have):
    sys.exit(f"{len(have)} lines, not {len(want)}")
for w, h in zip(want, have):
    kind = w[2]
    if kind in UNITS:
        right = w[:3] == h[:3] and len(w) == len(h) and all(
            abs(float(a) - float(b)) <= UNITS[kind] * max(abs(float(a)), 0.05) for a, b in zip(w[3:], h[3:]))
    else:
        right = w == h
    if not right:
        bad += 1
        if bad < 4:
            print(" ".join(h), "is to be", " ".join(w[3:]))
sys.exit(1 if bad else 0)
