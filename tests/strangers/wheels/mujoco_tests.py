# SPDX-License-Identifier: MIT
"""MuJoCo Warp, a rigid body simulator whose kernels Warp compiles, by tests of its own: each has MuJoCo's C library beside it."""
import importlib
import unittest

import warp as wp

from check import check, end

wp.config.quiet = True

for name in ("math_test", "smooth_test"):
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module("mujoco_warp._src." + name))
    result = unittest.TextTestRunner(stream=open("/dev/null", "w")).run(suite)
    wrong = [str(test).split()[0] for test, _ in result.failures + result.errors]
    check(f"{name}, {result.testsRun}: {wrong}", (len(wrong), result.testsRun > 0), (0, True))
end()
