#!/usr/bin/env python3
"""Tests of the package `orrery` and of its start in Python programs, with libraries and a PyTorch that are made up."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

_PYTORCH = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True


def _package():
    """Returns the package as programs see it, freshly loaded."""
    folder = _PYTORCH / "orrery"
    for name in [name for name in sys.modules if name.split(".")[0] == "orrery"]:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location("orrery", folder / "__init__.py",
                                                  submodule_search_locations=[str(folder)])
    sys.modules["orrery"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["orrery"])
    return sys.modules["orrery"]


class FakeLibrary:
    """Writes down what it is told."""

    def __init__(self):
        self.said = []

    def orrery_region_begin(self, name):
        self.said.append(f"begin {name.decode()}")
        return len(self.said)

    def orrery_region_end(self, begin):
        self.said.append(f"end {begin}")

    def orrery_step(self, number):
        self.said.append(f"step {number}")

    def orrery_detail_begin(self, kernels, launches):
        self.said.append(f"detail {kernels} {launches}")
        return 7

    def orrery_detail_end(self, begin):
        self.said.append(f"detail end {begin}")

    def orrery_setting(self, key, value):
        self.said.append(f"{key.decode()}={value.decode()}")


class Regions(unittest.TestCase):
    def setUp(self):
        self.orrery = _package()
        self.library = FakeLibrary()

    def record(self):
        self.orrery._library = self.orrery.Library("/some/path", lambda path: self.library)

    # PASTA defect 25: the import alone changes what is recorded.
    def test_importing_looks_for_nothing_and_says_nothing(self):
        asked = []
        self.orrery._library = self.orrery.Library("/some/path", lambda path: asked.append(path))
        self.assertEqual(asked, [])

    def test_without_a_recording_every_call_does_nothing(self):
        self.orrery._library = self.orrery.Library("", lambda path: self.fail("looked for a library"))
        with self.orrery.region("a"), self.orrery.detail(kernels="k"):
            self.orrery.step(1)
        self.orrery.flush()
        self.assertEqual(self.orrery.region("b")(lambda x: x + 1)(2), 3)

    def test_regions_nest_and_each_end_names_its_begin(self):
        self.record()
        with self.orrery.region("outer"):
            with self.orrery.region("inner"):
                self.orrery.step(17)
        self.assertEqual(self.library.said, ["begin outer", "begin inner", "step 17", "end 2", "end 1"])

    def test_a_region_ends_when_its_block_raises(self):
        self.record()
        with self.assertRaises(ValueError):
            with self.orrery.region("outer"):
                raise ValueError
        self.assertEqual(self.library.said, ["begin outer", "end 1"])

    def test_a_decorated_function_is_a_region_each_time_also_within_itself(self):
        self.record()

        @self.orrery.region("f")
        def count_down(number):
            return count_down(number - 1) if number else "done"

        self.assertEqual(count_down(1), "done")
        self.assertEqual(self.library.said, ["begin f", "begin f", "end 2", "end 1"])
        self.assertEqual(count_down.__name__, "count_down")

    def test_details_select_kernels(self):
        self.record()
        with self.orrery.detail(kernels="layer_norm", launches=100):
            pass
        self.assertEqual(self.library.said, ["detail b'layer_norm' 100", "detail end 7"])

    def test_a_library_that_comes_later_is_found_then(self):
        there = []
        self.orrery._library = self.orrery.Library("/some/path", lambda path: self.library if there else None)
        with self.orrery.region("before CUDA"):
            there.append(True)
        self.orrery.step(2)
        self.assertEqual(self.library.said, ["step 2"])


class FakeModule:
    """A part of a model, with the hooks that torch.nn.Module has."""

    def __init__(self, **parts):
        self._parts, self._before, self._after = parts, [], []

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, part in self._parts.items():
            yield from part.named_modules(f"{prefix}.{name}" if prefix else name)

    def register_forward_pre_hook(self, hook):
        return self._register(self._before, hook)

    def register_forward_hook(self, hook, always_call=False):
        assert always_call
        return self._register(self._after, hook)

    def _register(self, hooks, hook):
        hooks.append(hook)
        handle = type("Handle", (), {})()
        handle.remove = lambda: hooks.remove(hook)
        return handle

    def __call__(self):
        for hook in self._before:
            hook(self, ())
        for part in self._parts.values():
            part()
        for hook in self._after:
            hook(self, (), None)


class Layers(unittest.TestCase):
    def test_layers_are_regions_named_by_their_paths(self):
        orrery, library = _package(), FakeLibrary()
        orrery._library = orrery.Library("/some/path", lambda path: library)
        model = FakeModule(h=FakeModule(attention=FakeModule()))
        hooks = orrery.name_layers(model, "gpt")
        model()
        self.assertEqual(library.said, ["begin gpt", "begin gpt.h", "begin gpt.h.attention", "end 3", "end 2", "end 1"])
        hooks.remove()
        model()
        self.assertEqual(len(library.said), 6)

    def test_automatic_names_are_paths_in_the_outermost_module(self):
        orrery, library = _package(), FakeLibrary()
        orrery._library = orrery.Library("/some/path", lambda path: library)
        from orrery import layers
        model = FakeModule(h=FakeModule())
        hooks = {}
        torch = type("T", (), {})()
        torch.nn = type("N", (), {})()
        torch.nn.modules = type("M", (), {})()
        torch.nn.modules.module = type("H", (), {
            "register_module_forward_pre_hook": staticmethod(lambda hook: hooks.setdefault("enter", hook)),
            "register_module_forward_hook": staticmethod(lambda hook, always_call: hooks.setdefault("leave", hook))})
        layers.name_all_layers(torch, orrery.region)
        hooks["enter"](model, ())
        hooks["enter"](model._parts["h"], ())
        hooks["leave"](model._parts["h"], (), None)
        hooks["leave"](model, (), None)
        self.assertEqual(library.said, ["begin FakeModule", "begin h", "end 2", "end 1"])


class TorchStart(unittest.TestCase):
    def test_where_the_allocator_cannot_be_hooked_the_loss_is_said(self):
        orrery, library = _package(), FakeLibrary()
        orrery._library = orrery.Library("/some/path", lambda path: library)
        from orrery import torch_start
        torch = type("T", (), {"__version__": "2.11.0"})
        torch_start.begin(torch, orrery, lambda path, version: "no compiler")
        self.assertEqual(library.said, ["torch=2.11.0", "torch hooks=no compiler"])

    def test_hooks_of_another_pytorch_are_not_loaded(self):
        _package()
        from orrery import torch_start
        self.assertIn("found no PyTorch", torch_start._attach("/p", "2.11.0", {}))
        hooks = {"ORRERY_CAPTURE_HOOKS": "/cache/torch-2.10.0/liborrery-torch-hooks.so"}
        why = torch_start._attach("/p", "2.11.0", hooks, lambda path: self.fail("loaded"))
        self.assertIn("they were built for PyTorch 2.10.0, this is 2.11.0", why)


class Startup(unittest.TestCase):
    """A Python program under the launcher's environment, with a `torch` of one file."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, program, **more):
        surroundings = {**os.environ, "PYTHONPATH": f"{_PYTORCH / 'startup'}{os.pathsep}{self.folder}",
                        "PYTHONDONTWRITEBYTECODE": "1", **more}
        return subprocess.run([sys.executable, "-c", program], env=surroundings, cwd=self.folder,
                              capture_output=True, text=True, check=False)

    def test_the_users_own_sitecustomize_runs_too(self):
        (self.folder / "sitecustomize.py").write_text("print('mine')\n")
        ended = self.run_program("print('program')", ORRERY_CAPTURE_OUT="/o")
        self.assertEqual((ended.stdout, ended.stderr), ("mine\nprogram\n", ""))

    def test_torch_is_met_once_it_is_imported_and_nothing_else_is_put_on_the_path(self):
        (self.folder / "torch.py").write_text(
            "class cuda:\n    def _lazy_call(call): print('waits for CUDA')\n__version__ = '2.11.0'\n")
        ended = self.run_program("import torch, orrery\nprint(torch.__version__)\n"
                                 "import importlib.util\nprint(importlib.util.find_spec('tracer'))\n",
                                 ORRERY_CAPTURE_OUT="/o")
        self.assertEqual((ended.stdout, ended.stderr), ("waits for CUDA\n2.11.0\nNone\n", ""))

    def test_torch_is_met_also_where_the_program_has_another_orrery(self):
        (self.folder / "torch.py").write_text("class cuda:\n    def _lazy_call(call): print('waits for CUDA')\n__version__ = '2.11.0'\n")
        (self.folder / "orrery.py").write_text("mine = True\n")
        ended = self.run_program("import torch, orrery, orrery_recording\nprint(orrery.mine, orrery_recording.step(1))", ORRERY_CAPTURE_OUT="/o")
        self.assertEqual((ended.stdout, ended.stderr), ("waits for CUDA\nTrue None\n", ""))

    def test_a_torch_that_cannot_be_hooked_still_works(self):
        (self.folder / "torch.py").write_text("__version__ = '1'\n")
        ended = self.run_program("import torch\nprint(torch.__version__)", ORRERY_CAPTURE_OUT="/o")
        self.assertEqual(ended.stdout, "1\n")
        self.assertIn("orrery: PyTorch is not hooked", ended.stderr)

    def test_without_a_recording_nothing_changes(self):
        ended = self.run_program("import orrery", ORRERY_CAPTURE_OUT="")
        self.assertIn("No module named 'orrery'", ended.stderr)


if __name__ == "__main__":
    unittest.main()
