# SPDX-License-Identifier: MIT
"""compare.py PART NATIVE HERE MS MS STATUS: a part's lines of frameworks.sh from what it printed natively and here; also figures, "NAME NUMBER UNIT"."""
import re
import sys

part, native_file, here_file, native_ms, here_ms, status = sys.argv[1:]


def read(path):
    """name: (whether it was right, the digest or why), and figures."""
    said, figures = {}, {}
    for line in open(path, errors="replace"):
        m = re.match(r"(ok|FAIL) (.*)", line.rstrip())
        if m and m[1] == "ok":
            name, _, word = m[2].partition(" = ")
            said[name.strip()] = (True, word.strip())
        elif m:
            name, _, why = m[2].partition(" ")
            said[name] = (False, why, m[2])
        else:
            w = line.split()
            if len(w) == 3 and re.fullmatch(r"[a-z_0-9A-Z]+", w[0]) and re.fullmatch(r"[0-9.]+", w[1]):
                figures[w[0]] = (float(w[1]), w[2])
    return said, figures


native, native_figures = read(native_file)
here, here_figures = read(here_file)
failed = {v[2]: k for k, v in here.items() if not v[0]}        # by the whole text: names have blanks
right = other = 0
wrong = []
for name, v in native.items():
    if not v[0]:
        continue
    got = here.get(name)
    if got and got[0] and got[1] == v[1]:
        right += 1
    elif got and got[0]:
        other += 1
        wrong.append(f"{name}: right, and other bits: {got[1]}, natively {v[1]}")
    else:
        why = next((text[len(name):].strip() for text in failed if text.startswith(name)), None)
        wrong.append(f"{name}: {why}" if why is not None else f"{name}: was not reached (status {status})")
missed = [v[2][:160] for v in native.values() if not v[0]]
if native_figures:
    print(f"frameworks/{part}: {'':24s} {'native':>10s} {'VGPU-STUB':>10s}")
    for k, (x, unit) in native_figures.items():
        y = here_figures.get(k, (float("nan"),))[0]
        print(f"  {k:32s} {x:10.2f} {y:10.2f} {unit:8s} {y / x:.2f}")
if native or not native_figures:
    total = sum(v[0] for v in native.values())
    word = "skip" if not total else "ok" if right == total else "FAIL"
    print(f"{word} frameworks/{part} {right} of {total}, {int(native_ms) / 1000:.1f} s natively, {int(here_ms) / 1000:.1f} s here")
    for w in wrong:
        print("    ", w[:400])
    for w in missed:
        print("     not natively either:", w)
