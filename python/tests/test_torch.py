"""orrery.torch with fakes of PyTorch: what is written, by whom, and that nothing of it ends training."""
import gzip
import json
import os
import subprocess
import sys
import threading
import types
import warnings

import fake_torch
import orrery
import orrery.torch as own
import pytest
from orrery import _trace_writer


@pytest.fixture
def torch(monkeypatch):
    return fake_torch.install(monkeypatch)


def cycle(handler, profile=None):
    """Ends a cycle of a profile and waits for the writer; returns the profile."""
    profile = profile or fake_torch.Profile(schedule=fake_torch.schedule(wait=0, warmup=0, active=1), on_trace_ready=handler)
    profile.end_cycle()
    own.wait()
    return profile


def files(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("program", [sys.executable, "", "/bin/false"])  # without another interpreter this one compresses
def test_a_profile_is_compressed_and_named_by_its_rank(torch, tmp_path, monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    profile = cycle(own.on_trace_ready(tmp_path / "deep" / "trace", rank=3, export="here"))
    [name] = files(tmp_path / "deep" / "trace")
    assert name.startswith("rank-3.") and name.endswith(".pt.trace.json.gz")
    assert json.loads(gzip.decompress((tmp_path / "deep" / "trace" / name).read_bytes())) == fake_torch.TRACE
    assert profile.saved_by == ["MainThread"]


def test_a_fork_saves_it(torch, tmp_path):
    profile = cycle(own.on_trace_ready(tmp_path, rank=1, export="process"))
    [name] = files(tmp_path)
    assert json.loads(gzip.decompress((tmp_path / name).read_bytes())) == fake_torch.TRACE
    assert profile.saved_by == []  # not in this process


def test_where_the_fork_fails_this_process_saves(torch, tmp_path):
    profile = fake_torch.Profile(schedule=fake_torch.schedule(wait=0, warmup=0, active=1),
                                 on_trace_ready=own.on_trace_ready(tmp_path, rank=1))
    profile.fails_in_forks = True
    cycle(None, profile)
    assert len(files(tmp_path)) == 1 and profile.saved_by == ["orrery-trace-writer"]


def test_where_there_can_be_no_fork_the_step_waits_and_it_is_said_once(torch, tmp_path, monkeypatch):
    def refuse():
        raise BlockingIOError("Resource temporarily unavailable")

    complaints = []
    monkeypatch.setattr(_trace_writer, "complain", complaints.append)
    monkeypatch.setattr(own, "_has_said_that_export_blocks", False)
    monkeypatch.setattr(os, "fork", refuse)
    handler = own.on_trace_ready(tmp_path, rank=1)
    assert cycle(handler).saved_by == cycle(handler).saved_by == ["MainThread"]
    assert len(complaints) == 1 and "training waits" in complaints[0]


@pytest.mark.parametrize("export", ["process", "here"])
def test_without_compression(torch, tmp_path, export):
    cycle(own.on_trace_ready(tmp_path, rank=1, compress=False, export=export))
    [name] = files(tmp_path)
    assert json.loads((tmp_path / name).read_text()) == fake_torch.TRACE


def test_ranks_come_from_torch_or_the_environment(monkeypatch, tmp_path):
    fake_torch.install(monkeypatch, rank=5)
    assert own._rank(None) == 5
    fake_torch.install(monkeypatch)
    assert own._rank(None) == 0
    monkeypatch.setenv("RANK", "7")
    assert own._rank(None) == 7
    assert own._rank(2) == 2


def test_rank_0_prints_three_findings(torch, tmp_path, monkeypatch, capsys):
    run = types.SimpleNamespace(analyze=lambda **_: {"findings": [{"text": f"Finding {i}."} for i in range(5)]})
    monkeypatch.setitem(orrery.__dict__, "read", lambda path, threads: run)
    cycle(own.on_trace_ready(tmp_path, rank=1))
    assert capsys.readouterr().err == ""
    cycle(own.on_trace_ready(tmp_path, rank=0, findings=False))
    assert capsys.readouterr().err == ""
    cycle(own.on_trace_ready(tmp_path, rank=0))
    assert capsys.readouterr().err.splitlines()[1:] == ["  1. Finding 0.", "  2. Finding 1.", "  3. Finding 2."]


def test_without_the_compiled_module_nothing_fails(tmp_path):
    """The package without its compiled part: the profile is written, and nothing is printed."""
    package = tmp_path / "orrery"
    package.mkdir()
    source = os.path.dirname(own.__file__)
    for name in ("__init__.py", "torch.py", "_trace_writer.py"):
        (package / name).write_bytes(open(os.path.join(source, name), "rb").read())
    script = ("import sys, orrery, orrery.torch as own; assert 'torch' not in sys.modules\n"
              "import fake_torch, pytest\n"
              "with pytest.MonkeyPatch.context() as patch:\n"
              "    fake_torch.install(patch)\n"
              "    made = fake_torch.Profile(schedule={}, on_trace_ready=own.on_trace_ready('out', rank=0))\n"
              "    made.end_cycle()\n")  # the interpreter's end waits for the writer
    done = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", script], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.path.dirname(os.path.abspath(__file__))}"})
    assert (done.returncode, done.stderr) == (0, "")
    assert len(files(tmp_path / "out")) == 1


def test_importing_does_not_import_torch(root):
    script = "import sys, orrery, orrery.torch; sys.exit('torch' in sys.modules or 'orrery._native' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=root).returncode == 0


def test_errors_are_warnings(torch, tmp_path, monkeypatch):
    complaints = []
    monkeypatch.setattr(_trace_writer, "complain", complaints.append)
    profile = fake_torch.Profile(schedule=fake_torch.schedule(wait=0, warmup=0, active=1), on_trace_ready=own.on_trace_ready(tmp_path, rank=1))
    profile.error = RuntimeError("Trace is already saved.")
    cycle(None, profile)
    assert complaints == ["a profile was not written: RuntimeError: Trace is already saved."]
    assert files(tmp_path) == []
    (tmp_path / "file").write_text("")
    cycle(own.on_trace_ready(tmp_path / "file", rank=1))  # no folder can be there
    assert len(complaints) == 2


def test_a_warning_that_is_an_error_does_not_end_the_writer(torch, tmp_path, capsys):
    profile = fake_torch.Profile(schedule=fake_torch.schedule(wait=0, warmup=0, active=1), on_trace_ready=own.on_trace_ready(tmp_path, rank=1))
    profile.error = RuntimeError("no")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cycle(None, profile)
    assert "a profile was not written" in capsys.readouterr().err
    profile.error = None
    cycle(None, profile)
    assert len(files(tmp_path)) == 1


def test_a_pytorch_that_no_fork_can_save_is_exported_in_the_step_and_said_once(torch, tmp_path, monkeypatch):
    complaints = []
    monkeypatch.setattr(_trace_writer, "complain", complaints.append)
    monkeypatch.setattr(own, "_has_said_that_export_blocks", False)
    handler = own.on_trace_ready(tmp_path, rank=1, export="process")
    profile = fake_torch.Profile(schedule=fake_torch.schedule(wait=0, warmup=0, active=1), on_trace_ready=handler)
    for _ in range(2):
        handler(profile)  # its .profiler is None
        own.wait()
    assert len(complaints) == 1 and "training waits" in complaints[0]
    assert profile.saved_by == ["MainThread"] * 2
    assert len(files(tmp_path)) == 2


def test_regions_do_nothing_without_a_recording():
    @orrery.region("outer")
    def doubled(x):
        with orrery.region("inner"), orrery.detail(kernels="k", launches=1):
            return 2 * x

    orrery.step(1)
    orrery.flush()
    assert doubled(4) == 8


def test_regions_are_those_of_a_recording(tmp_path):
    """Under `orrery capture` there is a package `orrery_recording`."""
    (tmp_path / "orrery_recording.py").write_text("detail = flush = name_layers = region = None\ndef step(number): print('step', number)\n")
    done = subprocess.run([sys.executable, "-c", "import orrery; orrery.step(3)"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "step 3\n"


def test_wrong_arguments_are_named():
    with pytest.raises(TypeError, match="folder"):
        own.on_trace_ready(7)
    with pytest.raises(ValueError, match="export"):
        own.on_trace_ready("x", export="elsewhere")


def test_work_is_done_in_order_by_one_thread():
    writer, seen, gate = _trace_writer.Writer(), [], threading.Event()
    writer.submit(lambda: gate.wait(10))
    for i in range(3):
        writer.submit(lambda i=i: seen.append((i, threading.current_thread().name)))
    assert seen == []
    gate.set()
    writer.wait()
    assert seen == [(i, "orrery-trace-writer") for i in range(3)]
    assert all(thread.name != "orrery-trace-writer" for thread in threading.enumerate() if thread.is_alive())


def test_a_loop_of_ones_own(torch, tmp_path):
    seen = list(own.profile_loop("abcdef", tmp_path, wait=1, warmup=1, active=2, rank=1))
    own.wait()
    [profile] = fake_torch.Profile.made
    assert seen == list("abcdef") and profile.steps == 6 and not profile.is_running
    assert len(files(tmp_path)) == 1
    assert profile.options == {"record_shapes": True}
    assert list(own.profile_loop(3, tmp_path, rank=1, record_shapes=False)) == [0, 1, 2]
    assert fake_torch.Profile.made[1].options == {"record_shapes": False}


def test_a_loop_that_is_left_ends_its_profile(torch, tmp_path):
    for _ in own.profile_loop(100, tmp_path, rank=1):
        break
    assert not fake_torch.Profile.made[0].is_running


def test_the_callback_for_hugging_face(torch, tmp_path):
    callback = own.hugging_face_callback(tmp_path, wait=0, warmup=1, active=1, rank=1)
    assert type(callback).__mro__[1].__name__ == "TrainerCallback"
    callback.on_train_begin(None, None, None, model=None)
    for _ in range(3):
        callback.on_step_end(None, None, None, model=None)
    callback.on_train_end(None, None, None, model=None)
    own.wait()
    [profile] = fake_torch.Profile.made
    assert profile.steps == 3 and not profile.is_running
    assert len(files(tmp_path)) == 1


def test_the_callback_for_lightning_counts_optimizer_steps(torch, tmp_path):
    callback = own.lightning_callback(tmp_path, wait=0, warmup=1, active=1, rank=1)
    trainer = types.SimpleNamespace(global_step=10)
    callback.on_train_start(trainer, None)
    for batch in range(6):  # gradients of two batches are accumulated
        trainer.global_step += batch % 2
        callback.on_train_batch_end(trainer, None, None, None, batch)
    callback.on_exception(trainer, None, KeyboardInterrupt())
    callback.on_train_end(trainer, None)
    [profile] = fake_torch.Profile.made
    assert profile.steps == 3 and not profile.is_running


def test_memory_writes_a_snapshot_and_restores_the_state(torch, tmp_path):
    with own.memory(tmp_path, rank=2) as path:
        assert torch.cuda.memory.is_on and not os.path.exists(path)
    assert os.path.basename(path).startswith("rank-2.") and files(tmp_path) == [os.path.basename(path)]
    assert not torch.cuda.memory.is_on
    torch.cuda.memory._record_memory_history("all")
    with own.memory(tmp_path, rank=2):
        pass
    assert torch.cuda.memory.is_on and torch.cuda.memory.calls == ["all", None, "all"]


def test_memory_of_a_block_that_fails(torch, tmp_path):
    with pytest.raises(MemoryError):
        with own.memory(tmp_path, rank=2) as path:
            raise MemoryError
    assert os.path.exists(path) and not torch.cuda.memory.is_on


def test_memory_without_a_gpu(torch, tmp_path):
    torch.cuda.is_available = lambda: False
    with pytest.warns(RuntimeWarning, match="no GPU"), own.memory(tmp_path, rank=2):
        pass


def test_a_trace_of_a_rank(torch, tmp_path):
    steps = 0
    with own.trace(tmp_path, rank=4, steps=2, skip=1) as recording:
        while not recording.is_done:
            steps += 1
            recording.step()
        recording.step()
    assert steps == 1 + 1 + 2 + 1
    assert files(tmp_path) == ["rank-4.execution.json.gz", "rank-4.kineto.json.gz"]
    assert not fake_torch.Profile.made[0].is_running
    # The execution trace has one marker around all of it: however many optimizers step, it is one step.
    assert fake_torch.RecordFunction.calls == [("enter", "ProfilerStep#4"), ("exit", "ProfilerStep#4")]


def test_a_trace_that_ends_early_says_so(torch, tmp_path):
    with pytest.warns(RuntimeWarning, match="after 3 of 5 steps"):
        with own.trace(tmp_path, rank=4, steps=2, skip=1) as recording:
            for _ in range(3):
                recording.step()
    assert files(tmp_path) == []
