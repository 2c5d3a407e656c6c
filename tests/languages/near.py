# SPDX-License-Identifier: MIT
"""What the frameworks' programs share: check(name, got, want) prints an ok or a FAIL line, near.failed is the verdict."""
import sys
import numpy as np

failed = 0


def check(name, got, want, tol=2e-5):
    global failed
    try:
        got = got() if callable(got) else got
        got, want = np.asarray(got), np.asarray(want)
        assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
        if want.dtype.kind in "iub":
            assert np.array_equal(got, want), "differs"
        else:
            err = np.abs(got.astype(np.complex128) - want).max() / (np.abs(want).max() + 1e-30)
            assert err <= tol, f"off by {err:.2g}"
        print("ok", name)
    except Exception as e:      # the next case may still be right
        failed = 1
        print("FAIL", name, " ".join(str(e).split())[:300])
    sys.stdout.flush()
