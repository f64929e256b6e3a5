"""The examples run on small data, and say what is known of it."""
import os
import subprocess
import sys

import pytest


@pytest.fixture
def example(root):
    def run(name, *words):
        done = subprocess.run([sys.executable, f"examples/python/{name}.py", *map(str, words)], capture_output=True, text=True, cwd=root)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()
    return run


def test_find_straggler(example, tmp_path):
    """Rank 1 computes 10 µs longer: tests/data/analyze/tp2_dp2 is made so."""
    lines = example("find_straggler", "tests/data/analyze/tp2_dp2")
    assert lines[1].split()[:4] == ["1", "2", "10.0", "µs"]
    assert "Kernels that take longer on rank 1 than on the median rank" in lines
    assert lines[-1].split()[:2] == ["+10.0", "µs"]


def test_sweep_tensor_parallelism(example):
    lines = example("sweep_tensor_parallelism", "examples/llama3-8b-fsdp-64-h100.yaml", "--tp", 1, 3, "--set", "plan.sharding=zero1")
    assert [line.split()[0] for line in lines[1:3]] == ["1", "3"]
    assert " s " in lines[1] and " s " not in lines[2].split("  ")[1]  # 64 GPUs are not divisible by 3


def test_compare_prediction(example):
    lines = example("compare_prediction", "tests/data/h200/fake-tp8.et.json.gz", "tests/data/h200/fake-tp8.kineto.json.gz", "--gpu", "H200")
    active = next(line for line in lines if line.startswith("GPU active"))
    assert abs(float(active.split()[-1].rstrip("%"))) < 10


def test_plots(example, tmp_path):
    pytest.importorskip("matplotlib")
    example("find_straggler", "tests/data/analyze/tp2_dp2", "--plot", tmp_path / "waits.png")
    example("sweep_tensor_parallelism", "examples/llama3-8b-fsdp-64-h100.yaml", "--tp", 1, 2, "--plot", tmp_path / "sweep.png")
    assert sorted(os.listdir(tmp_path)) == ["sweep.png", "waits.png"]
