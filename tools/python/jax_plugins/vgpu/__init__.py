# SPDX-License-Identifier: MIT
"""Tells JAX where this machine's device is.

JAX takes CUDA only where one of a few files exists (/dev/nvidia0, ...): a quick way to see that there is a device. Ours is there
while its agent's socket is, so that is one more of these files. Found by JAX's own search for plugins (the namespace package
jax_plugins on PYTHONPATH, which vgpu run sets); no other program reads it, and nothing of JAX is changed on disk.
"""
import os


def initialize():
    try:
        from jax._src import hardware_utils
    except ImportError:
        return
    files = getattr(hardware_utils, "_NVIDIA_GPU_DEVICES", None)
    if isinstance(files, list):
        for socket in (os.environ.get("VGPU_AGENT"), "/run/vgpu/agent.sock",
                       os.path.join(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent"), "vgpu/agent.sock")):
            if socket:
                files.append(socket)
