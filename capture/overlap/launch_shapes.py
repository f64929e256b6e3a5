"""What kernels look like when they are launched: grid, block, registers, shared memory."""

import dataclasses
import json
import os
import tempfile

import torch


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
