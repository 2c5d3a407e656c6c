# SPDX-License-Identifier: MIT
"""torch.compile by Inductor on the device, over torch's own samples of its operators (torch.testing's op_db), against the CPU, eager.

Of each operator two samples in float32, results and gradients, one after another from a seed that says which; a line for each that is not right.
Usage: torch_inductor.py [COUNT [SEED]]
"""
import random
import sys

import torch
import torch_samples
from torch.testing._internal.common_methods_invocations import op_db

count, seed = (int(a) for a in (sys.argv[1:] + ["300", "7"][len(sys.argv) - 1:]))
torch_samples.use(lambda op: torch.compile(op, dynamic=False))
ops = [op for op in op_db if torch.float32 in op.dtypes and not torch_samples.left_out(op)]
random.Random(seed).shuffle(ops)
sys.exit(torch_samples.run(torch.float32, ops[:count], 2))
