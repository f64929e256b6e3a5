"""The compute side on the GPU: operators and kernels of our own, their launches, and the shape of their kernels."""

import dataclasses
import json
import os
import tempfile

import torch

from microbench.prepare import prepare, set_tf32

_WARM_UPS = 3


class Compute:
    """One compute kernel, ready to be launched."""

    def __init__(self, planned, operands, device):
        self.planned = planned
        self._device = device
        self._tf32 = False
        self._calls = []
        self._next = 0
        if planned.sample is not None:
            made = [prepare(planned.sample, operands) for _ in range(planned.copies)]
            self._calls = [one.call for one in made]
            self._tf32 = made[0].uses_tf32

    @property
    def is_stamped(self):
        return self.planned.stamped is not None

    def launch(self, stream, external, slot):
        """Launches once; `external` is the stream as PyTorch sees it."""
        if self.is_stamped:
            self._device.stamped(stream, slot, self.planned.stamped)
            return
        call = self._calls[self._next]
        self._next = (self._next + 1) % len(self._calls)
        with torch.cuda.stream(external):
            call()

    def warm_up(self, streams):
        """Calls in each stream until nothing is compiled or allocated any more."""
        set_tf32(self._tf32)
        for stream, external in streams:
            for _ in range(_WARM_UPS * max(1, len(self._calls))):
                self.launch(stream, external, 0)
        torch.cuda.synchronize()

    def ready(self):
        set_tf32(self._tf32)


@dataclasses.dataclass
class Shape:
    """The longest kernel of a call; its time is that of all its launches in the call."""

    name: str = ""
    duration_us: float = 0.0
    share: float = 0.0   # of the time of all kernels of the call
    kernels: int = 0     # of the call
    repeats: int = 0     # of this one in the call
    grid: int = 0
    block: int = 0
    registers: int = 0
    shared_bytes: int = 0
    occupancy: float = 0.0  # as the profiler estimates it, per cent


def _recorded(call):
    """Runs a call once under the profiler; returns its events of the GPU."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]


def shape_of(events):
    """Sums up the events of one call."""
    kernels = [e for e in events if e["cat"] == "kernel"]
    if not kernels:
        return Shape()
    longest = max(kernels, key=lambda e: e["dur"])
    arguments = longest.get("args", {})
    product = lambda edges: int(edges[0]) * int(edges[1]) * int(edges[2])
    total = sum(e["dur"] for e in events)
    own = sum(e["dur"] for e in kernels if e["name"] == longest["name"])
    return Shape(longest["name"], own, own / total if total else 0.0,
                 len(kernels), sum(e["name"] == longest["name"] for e in kernels),
                 product(arguments.get("grid", (0, 0, 0))),
                 product(arguments.get("block", (0, 0, 0))),
                 int(arguments.get("registers per thread", 0)),
                 int(arguments.get("shared memory", 0)),
                 float(arguments.get("est. achieved occupancy %", 0)))


def shape(call):
    return shape_of(_recorded(call))
