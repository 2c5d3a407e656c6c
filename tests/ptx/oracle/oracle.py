#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes PTX cases whose expectations are computed from the text of the PTX ISA with exact numbers.

Usage: oracle.py FOLDER [-n ROWS] [-e EACH] [-p PART]...    -e: each EACH-th form only; -p: one of PARTS, or of PROGRAMS
The files are cases for ptxrun (tests/ptx/README.md). Nothing here looks at the engine.
"""
import argparse
import importlib
import os

import calls
import emit
import fields
import here
import joins
import loops
import names
import rows
import step
import sums
import talk

# module, target of its PTX, the device's compute capability
PARTS = {"int": ("integer", "sm_90", None), "video": ("video", "sm_90", None), "float": ("floats", "sm_90", None),
         "cvt": ("convert", "sm_90", None), "approx": ("approx", "sm_90", None), "memory": ("memory", "sm_90", None),
         "float100": ("floats", "sm_100", "10.0"),
         "cvt100": ("convert", "sm_100a", "10.0"), "wgmma": ("wgmma", "sm_90a", None),
         "wgmmasp": ("wgmma_sparse", "sm_90a", None),
         "tmap": ("tmap", "sm_90a", None), "sparse": ("sparse", "sm_89", None)}
PER_FILE = 12
PROGRAMS = {"calls": (calls, 300), "talk": (talk, 600), "step": (step, 600), "here": (here, 600), "names": (names, 600), "fields": (fields, 600), "loops": (loops, 600), "rows": (rows, 600), "sums": (sums, 600),
            "joins": (joins, 600)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("-n", type=int, default=64)
    p.add_argument("-e", type=int, default=1)
    p.add_argument("-p", action="append")
    a = p.parse_args()
    a.n = (a.n + 31) // 32 * 32         # whole warps: forms between lanes want them
    os.makedirs(a.folder, exist_ok=True)
    total, programs = 0, {}
    for part in a.p or [*PARTS, *PROGRAMS]:
        if part in PROGRAMS:
            module, most = PROGRAMS[part]
            programs[part] = module.write(a.folder, 1, most // a.e)
            continue
        name, target, cc = PARTS[part]
        module = importlib.import_module(name)
        if hasattr(module, "write"):    # cases of its own
            total += module.write(a.folder, a.e)
            continue
        forms = list((module.forms100 if cc else module.forms)(a.e == 1))[::a.e]
        total += len(forms)
        for number, i in enumerate(range(0, len(forms), PER_FILE)):
            some = forms[i:i + PER_FILE]
            title = "%s %d" % (part, number)
            emit.write(os.path.join(a.folder, "%s_%03d.ptx" % (part, number)), title, some, a.n, target=target, cc=cc)
    print("%d forms%s" % (total, "".join(", %d programs of %s" % (n, part) for part, n in programs.items())))


if __name__ == "__main__":
    main()
