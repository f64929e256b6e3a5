#!/usr/bin/env python3
"""Tests of capture/pytorch/one_pass.py with a PyTorch of one file: what is run in which order, and what is refused."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

_PYTORCH = pathlib.Path(__file__).resolve().parents[1]

# Says what is done to it.
_TORCH = """
import contextlib
def say(text): print("#", text)
class cuda:
    def is_available(): return {has_gpu}
    def synchronize(): say("wait")
class Tensor:
    def cuda(self): say("to the GPU"); return self
    def backward(self): say("backward")
    def item(self): return 0.5
    def float(self): return self
    def mean(self): return self
class Model:
    def cuda(self): return self
    def train(self, is_training): say(f"training {{is_training}}"); return self
    def parameters(self): return []
    def __call__(self, images): say("forward"); return Tensor()
class Generator:
    def manual_seed(self, seed): return self
def manual_seed(seed): say(f"seed {{seed}}")
def randn(*shape, generator): say(f"data {{shape}}"); return Tensor()
@contextlib.contextmanager
def no_grad():
    say("no gradients")
    yield
class optim:
    class SGD:
        def __init__(self, parameters, lr): pass
        def step(self): say("step")
        def zero_grad(self): say("zero")
"""
_TORCHVISION = """
import torch
class models:
    def get_model(name, weights): torch.say(f"model {name}"); return torch.Model()
"""
_ORRERY = """
import contextlib
@contextlib.contextmanager
def region(name):
    print("# begin", name)
    yield
    print("# end", name)
def step(number): print("# number", number)
"""


class OnePass(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write_torch(self, has_gpu=True):
        (self.folder / "torch.py").write_text(_TORCH.format(has_gpu=has_gpu))
        (self.folder / "torchvision.py").write_text(_TORCHVISION)

    def run_program(self, *words):
        ended = subprocess.run([sys.executable, str(_PYTORCH / "one_pass.py"), *words], cwd=self.folder,
                               env={**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"},
                               capture_output=True, text=True, check=False)
        said = [line[2:] for line in ended.stdout.splitlines() if line.startswith("# ")]
        rest = [line for line in ended.stdout.splitlines() if not line.startswith("# ")]
        return ended, said, rest

    def test_inference_is_one_forward_without_gradients(self):
        self.write_torch()
        ended, said, rest = self.run_program("resnet18")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(said, ["seed 0", "data (32, 3, 224, 224)", "model resnet18", "training False", "to the GPU", "wait",
                                "no gradients", "forward", "wait", "wait"])
        self.assertEqual({**json.loads(rest[0]), "milliseconds": None},
                         {"model": "resnet18", "training": False, "milliseconds": None, "losses": [0.5]})

    def test_training_is_forward_backward_and_optimizer_in_regions_of_a_recording(self):
        self.write_torch()
        # The program's own folder has a package of that name, which comes first.
        (self.folder / "orrery.py").write_text(_ORRERY)
        ended = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(self.folder)!r}); import orrery\n"
             f"sys.path.append({str(_PYTORCH)!r}); sys.argv = ['one_pass.py', 'resnet18', '--training', '--passes', '2']\n"
             "import one_pass; sys.exit(one_pass.main())"],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        said = [line[2:] for line in ended.stdout.splitlines() if line.startswith("# ")]
        one = ["begin forward", "forward", "end forward", "begin backward", "backward", "end backward", "begin optimizer",
               "step", "zero", "end optimizer", "wait"]
        self.assertEqual(said[said.index("number 0"):], ["number 0", *one, "number 1", *one])

    def test_times_of_all_passes_go_into_the_file(self):
        self.write_torch()
        self.run_program("resnet18", "--passes", "3", "--times", "times.json")
        times = json.loads((self.folder / "times.json").read_text())
        self.assertEqual((len(times["milliseconds"]), times["losses"]), (3, [0.5, 0.5, 0.5]))
        self.assertTrue(all(time >= 0 for time in times["milliseconds"]))

    def test_a_machine_without_a_gpu_is_refused_in_one_sentence(self):
        self.write_torch(has_gpu=False)
        ended, said, rest = self.run_program("bert")
        self.assertEqual((ended.returncode, said, rest), (2, [], []))
        self.assertEqual(ended.stderr, "one_pass.py: PyTorch finds no GPU here; `orrery doctor` says what is missing\n")

    def test_a_machine_without_pytorch_is_refused_in_one_sentence(self):
        (self.folder / "torch.py").write_text("raise ImportError('no torch')\n")
        ended, _, _ = self.run_program("bert")
        self.assertEqual((ended.returncode, ended.stderr), (2, "one_pass.py: PyTorch is needed (no torch)\n"))

    def test_a_model_that_is_not_there_is_named(self):
        ended, _, _ = self.run_program("gpt9")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("invalid choice: 'gpt9'", ended.stderr)


if __name__ == "__main__":
    unittest.main()
