"""Functions of the package against the program: the same numbers; results that show themselves."""
import json
import subprocess

import orrery
import pytest


def printed(program, *words, cwd=None):
    done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True, cwd=cwd)
    assert done.returncode in (0, 1, 3, 4), done.stderr  # 4: out of memory
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def trace(data):
    return data / "h200" / "fake-tp8.kineto.json.gz"


@pytest.fixture(scope="module")
def job(root):
    return root / "examples" / "llama3-70b-512-h100.yaml"


def test_analyze(recording, program, trace):
    result = recording.analyze()
    assert result.to_dict() == printed(program, "analyze", trace)
    assert "findings" in result
    assert "<iframe" in result._repr_html_()
    assert str(result)


def test_one_metric(recording, program, trace):
    wanted = printed(program, "analyze", trace, "--metric", "avg_step_time")["metrics"]["avg_step_time"]
    assert recording.metric_detail("avg_step_time") == wanted
    assert recording.metric("avg_step_time") == wanted["value"]


def test_a_metric_that_does_not_apply_says_why(recording):
    reason = recording.metric_detail("mfu")["reason"]
    assert "workload card" in reason
    with pytest.warns(orrery.NotApplicable, match="^mfu does not apply: ") as told:
        assert recording.metric("mfu") is None
    assert reason in str(told[0].message)
    assert told[0].filename == __file__


def test_critical_path_and_what_if(recording, program, trace):
    assert recording.critical_path() == printed(program, "analyze", trace, "--metric", "critical_path")["metrics"]["critical_path"]
    words = ["analyze", trace, "--metric", "what_if", "--what-if", "network=4", "--what-if", "compute=2"]
    assert recording.what_if({"network": 4, "compute": 2}) == printed(program, *words)["metrics"]["what_if"]


def test_diff(recording, program, trace):
    result = orrery.diff(recording, trace)
    wanted = printed(program, "diff", trace, trace)
    for document in (wanted, result.to_dict()):
        document = {key: value for key, value in document.items() if "path" not in key}
    assert result["metrics"] == wanted["metrics"]
    assert recording.diff(recording)["metrics"] == wanted["metrics"]


def test_simulate_takes_paths_dicts_and_yaml(program, job):
    wanted = printed(program, "simulate", job, "--set", "plan.tp=4", "--set", "gpus=256")
    assert orrery.simulate(job, plan__tp=4, gpus=256)["step_time_s"] == wanted["step_time_s"]
    assert orrery.simulate(str(job), **{"plan.tp": 4, "gpus": 256}).to_dict() == wanted
    text = job.read_text()
    assert orrery.simulate(text, plan__tp=4, gpus=256)["step_time_s"] == wanted["step_time_s"]


def test_simulate_a_dict(program, tmp_path):
    job = {"model": "llama3-8b", "cluster": "dgx-h100", "gpus": 16, "plan": {"tp": 2, "dp": 8},
           "training": {"sequence": 4096, "global_batch": 64, "micro_batch": 1}}
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(job))
    result = orrery.simulate(job)
    assert result["step_time_s"] == printed(program, "simulate", path)["step_time_s"]
    run = result.trace
    assert len(run.ranks) > 0 and len(run.ranks[0].kernels) > 0
    assert run.metric("avg_step_time") == pytest.approx(result["step_time_s"], rel=0.05)


def test_a_job_does_not_change_the_next(program, job):
    """Estimates of operators are cached; a GPU with another power limit has its own."""
    limited = {"gpu.power_w": 400, "step_only": True}
    orrery.simulate(job, step_only=True)
    after_another = orrery.simulate(job, **limited)
    assert after_another.to_dict() == printed(program, "simulate", job, "--step-only", "--set", "gpu.power_w=400")


def test_predict(program):
    gemm = "gemm m=4096 n=4096 k=4096 bf16"
    assert orrery.predict.kernel(gemm, gpu="H100").to_dict() == printed(program, "predict", "kernel", gemm, "--gpu", "H100")
    words = ("predict", "collective", "allreduce 64MiB bf16", "--cluster", "dgx-h100", "--gpus", 16)
    assert orrery.predict.collective("allreduce 64MiB bf16", cluster="dgx-h100", gpus=16).to_dict() == printed(program, *words)
    assert orrery.predict.overlap(gemm, gpu="H100").to_dict() == printed(program, "predict", "overlap", gemm, "--gpu", "H100")


def test_predict_a_recorded_rank(recording, program, trace):
    assert orrery.predict.trace(recording).to_dict() == printed(program, "predict", trace)


def test_memory(data, program):
    path = data / "orrs" / "memory_small.orrs"
    assert orrery.memory(path, "heat").to_dict() == printed(program, "memory", path, "--tool", "heat")
    words = ("memory", path, "--tool", "uvm", "--oversubscription", 2, "--oversubscription", 4)
    assert orrery.memory(path, "uvm", oversubscription=[2, 4]).to_dict() == printed(program, *words)
    assert orrery.read(path).memory("working-set").to_dict() == printed(program, "memory", path, "--tool", "working-set")


def test_hardware(program):
    assert orrery.hardware.gpus() == printed(program, "list", "gpus")["gpus"]
    assert orrery.hardware.clusters() and orrery.hardware.models() and orrery.hardware.frameworks()


def test_search(job, tmp_path, program):
    small = {"model": "llama3-8b", "cluster": "dgx-h100", "gpus": 64, "training": {"sequence": 4096, "global_batch": 64, "micro_batch": 1},
             "plan": {"tp": 1, "sharding": "zero1"}, "search": {"plan.tp": [1, 2], "training.micro_batch": [1]}}
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(small))
    result = orrery.search(small, keep=3)
    assert result["best"] == printed(program, "search", path, "--keep", 3)["best"]


def test_progress_is_told(data, capsys):
    orrery.read(data / "h200" / "fake-tp8.kineto.json.gz", progress=True)
    assert "fake-tp8" in capsys.readouterr().err
