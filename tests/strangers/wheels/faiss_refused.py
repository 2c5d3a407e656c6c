# SPDX-License-Identifier: MIT
"""faiss, whose wheel has machine code alone: what it computes on the host is right, and its first kernel ends it with one line that names
the image, why it does not run here and the way out, not with a wrong result."""
import re
import subprocess
import sys

PROGRAM = """
import numpy as np, faiss
x = np.random.default_rng(1).random((1000, 32), dtype=np.float32)
host = faiss.IndexFlatL2(32)
host.add(x)
print("host", host.search(x[:5], 1)[1].ravel().tolist(), faiss.get_num_gpus(), flush=True)
device = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, faiss.IndexFlatL2(32))
device.add(x)
print("device", device.search(x[:5], 1)[1].ravel().tolist(), flush=True)
"""
failed = 0


def check(name, good, why):
    global failed
    failed += not good
    print(f"{'ok' if good else 'FAIL'} {name}{'' if good else ': ' + why}", flush=True)


p = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600)
lines = [line for line in p.stderr.splitlines() if line.startswith("libcuda-lite: ") and "no PTX" in line]
check("on the host, beside the device", "host [0, 1, 2, 3, 4] 1" in p.stdout, p.stdout + p.stderr[-300:])
check("no result", "device" not in p.stdout and p.returncode != 0, f"status {p.returncode}: {p.stdout}")
check("one line", len(lines) == 1, f"{len(lines)} lines: {p.stderr[-300:]}")
line = lines[0] if lines else ""
check("what", re.search(r"the image has PTX: none; ELF: [0-9 ]+;", line), line)
check("why", "machine code runs on NVIDIA's devices alone" in line, line)
check("the way out", "nvcc -gencode arch=compute_75,code=compute_75" in line, line)
sys.exit(failed > 0)
