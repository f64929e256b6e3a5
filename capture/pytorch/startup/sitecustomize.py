"""Begins with every Python program under `orrery-capture capture`: makes `import orrery` work, waits for PyTorch, and
runs the user's own sitecustomize. Nothing here may fail the program."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.join(os.path.dirname(_HERE), "orrery")


# Always ours, while `orrery` may be the package that analyses runs; that one takes regions from here.
_RECORDING = "orrery_recording"


class _OrreryFinder(importlib.abc.MetaPathFinder):
    """Finds our package without putting its neighbours on the path; comes last, so that the user's own wins."""

    def find_spec(self, name, path=None, target=None):
        if name not in ("orrery", _RECORDING):
            return None
        return importlib.util.spec_from_file_location(
            name, os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE])


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Steps in once when `torch` is imported: then its module is run as ever, and the hooks wait for CUDA."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            _run_after(spec.loader)
        return spec


def _run_after(loader):
    run = loader.exec_module

    def run_and_begin(module):
        run(module)
        try:
            import orrery_recording
            from orrery_recording import torch_start
            torch_start.when_cuda_is_ready(module, orrery_recording)
        except Exception as error:
            print(f"orrery: PyTorch is not hooked ({error})", file=sys.stderr)

    loader.exec_module = run_and_begin


def _run_users_own():
    folders = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if os.environ.get("ORRERY_CAPTURE_OUT"):
    sys.meta_path.append(_OrreryFinder())
    sys.meta_path.insert(0, _AfterTorch())
_run_users_own()
