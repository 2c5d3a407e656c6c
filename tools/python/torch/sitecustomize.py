# SPDX-License-Identifier: MIT
"""vgpu run --torch: eager PyTorch by FlagGems.

PyTorch's own kernels are machine code in every wheel, so not one of them runs on a device that takes PTX. FlagGems (pip install flag_gems)
has the same operators in Triton; when a program has imported torch they are registered in their places, by its own flag_gems.enable().
Nothing of torch is changed on disk. Python imports this file by itself when its folder is on PYTHONPATH.
"""
import importlib.machinery
import os
import sys


def _enable():
    try:
        import flag_gems
    except ImportError as e:
        print(f"vgpu run --torch: eager operators need FlagGems, and it cannot be imported ({e}): pip install flag_gems==5.0.2",
              file=sys.stderr)
        return
    flag_gems.enable()


class _AfterTorch:
    """Stands before the other finders until torch has been imported once."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            _enable()

        spec.loader.exec_module = exec_module
        return spec


def _next_sitecustomize():
    """The one that this file hides, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec and spec.loader:
        module = type(sys)(spec.name)
        module.__spec__, module.__file__ = spec, spec.origin
        spec.loader.exec_module(module)


if os.environ.get("VGPU_TORCH") == "1":
    sys.meta_path.insert(0, _AfterTorch())
_next_sitecustomize()
