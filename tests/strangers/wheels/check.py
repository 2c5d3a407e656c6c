# SPDX-License-Identifier: MIT
"""One line for each comparison, and an exit status: 1 where anything was wrong."""
import sys

import numpy as np

bad = 0


def check(name, got, want, tolerance=0.0):
    """Relative to the largest of what is wanted; whole numbers and truths exactly."""
    global bad
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        err = float("inf")
    elif got.dtype.kind in "biu":
        err = float(np.count_nonzero(got != want))
    else:
        err = float(np.max(np.abs(got.astype(np.float64) - want.astype(np.float64))) / max(1.0, float(np.max(np.abs(want))))) if want.size else 0.0
    good = err <= tolerance
    bad |= not good
    print("ok" if good else "FAIL", name, f"off by {err:.2g}", flush=True)


def end():
    sys.stdout.flush()
    sys.exit(int(bad))
