"""Just enough of PyTorch, Transformers and Lightning to test what calls them."""
import json
import os
import sys
import threading
import types

_PROCESS = os.getpid()
TRACE = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "deviceProperties": [], "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0}]}


class KinetoResults:
    """Of one cycle."""

    def __init__(self, profile):
        self._profile = profile

    def save(self, path):
        self._profile.saved_by.append(threading.current_thread().name)
        if self._profile.fails_in_forks and os.getpid() != _PROCESS:
            raise OSError("in a fork")
        if self._profile.error:
            raise self._profile.error
        with open(path, "w") as file:
            json.dump(TRACE, file)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    return dict(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)


class Profile:
    """Ends a cycle after wait + warmup + active steps."""
    made = []

    def __init__(self, *, schedule, on_trace_ready, **options):
        self.schedule, self.on_trace_ready, self.options = schedule, on_trace_ready, options
        self.steps, self.cycles, self.is_running, self.error, self.saved_by = 0, 0, False, None, []
        self.fails_in_forks = False
        self.profiler = None
        Profile.made.append(self)

    def start(self):
        self.is_running = True

    def __enter__(self):
        self.start()
        return self

    def step(self):
        assert self.is_running
        self.steps += 1
        length = self.schedule["wait"] + self.schedule["warmup"] + self.schedule["active"]
        if self.steps % length == 0 and (not self.schedule["repeat"] or self.cycles < self.schedule["repeat"]):
            self.end_cycle()

    def end_cycle(self):
        self.cycles += 1
        self.profiler = types.SimpleNamespace(kineto_results=KinetoResults(self))
        self.on_trace_ready(self)

    def export_chrome_trace(self, path):
        KinetoResults(self).save(path)

    def stop(self):
        assert self.is_running
        self.is_running = False

    def __exit__(self, *_):
        self.stop()


class Observer:
    """An ExecutionTraceObserver; its file is complete when it is unregistered."""

    def register_callback(self, path):
        self.path, self.calls = path, []

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")

    def unregister_callback(self):
        assert self.calls == ["start", "stop"]
        with open(self.path, "w") as file:
            json.dump({"schema": "1.0.2-chakra.0.0.4", "nodes": []}, file)


class RecordFunction:
    """record_function; what was entered and left is in `calls`."""

    calls = []

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.calls.append(("enter", self.name))
        return self

    def __exit__(self, *_):
        self.calls.append(("exit", self.name))


class Memory:
    """torch.cuda.memory with its history."""

    def __init__(self):
        self.is_on, self.calls = False, []

    def _record_memory_history(self, enabled="all", **options):
        self.is_on = enabled is not None
        self.calls.append(enabled)

    def _dump_snapshot(self, path):
        assert self.is_on
        with open(path, "wb") as file:
            file.write(b"snapshot")


def install(monkeypatch, rank=None):
    """Puts the fakes where imports find them; returns the fake of torch."""
    Profile.made = []
    torch = types.ModuleType("torch")
    memory = Memory()
    RecordFunction.calls = []
    torch.profiler = types.SimpleNamespace(profile=Profile, schedule=schedule, ExecutionTraceObserver=Observer,
                                           record_function=RecordFunction)
    torch.cuda = types.SimpleNamespace(is_available=lambda: True, memory=memory)
    torch._C = types.SimpleNamespace(_cuda_isHistoryEnabled=lambda: memory.is_on)
    torch.distributed = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: rank is not None, get_rank=lambda: rank)
    transformers = types.ModuleType("transformers")
    transformers.TrainerCallback = type("TrainerCallback", (), {})
    lightning = types.ModuleType("pytorch_lightning")
    callbacks = types.ModuleType("pytorch_lightning.callbacks")
    callbacks.Callback = lightning.Callback = type("Callback", (), {})
    for module in (torch, transformers, lightning, callbacks):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    return torch
