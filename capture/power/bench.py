"""Times one operator twice: as a burst on a GPU that rested, and at the clocks of hours of work."""

import dataclasses
import math
import time

import torch

from power.nvml import Sampler

_REST_S = 0.12        # the board falls back to its idle power
_BURST_CALLS = 6
_BURST_S = 0.4e-3     # at least this much work, so that events do not count
_WARM_UP_S = 0.35     # clocks settle within some tens of milliseconds
_SUSTAINED_S = 0.4
_GRAPH_S = 4e-3       # of work in one launch, so that the host never holds up the GPU
_MOST_CALLS = 512


@dataclasses.dataclass
class Measured:
    burst_us: float
    sustained_us: float
    power_w: float   # mean of samples
    energy_w: float  # by the counter of energy, whose steps are long
    sm_mhz: float
    memory_mhz: float
    celsius: int


class Repeated:
    """A call, many times in one launch: a CUDA graph, or a plain loop where it cannot be captured."""

    def __init__(self, call, count):
        self.count = count
        self._call = call
        self._graph = None
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(count):
                    call()
            self._graph = graph
        except RuntimeError:
            torch.cuda.synchronize()

    def launch(self):
        if self._graph is not None:
            self._graph.replay()
            return
        for _ in range(self.count):
            self._call()


def _seconds_of(launches, repeated):
    """GPU time of one call, over some launches of many."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(launches):
        repeated.launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / (launches * repeated.count)


def _run_for(seconds, repeated, span_s):
    """Keeps the GPU busy; returns the time of one call on it. Two launches are ahead at most."""
    begin, last = torch.cuda.Event(enable_timing=True), None
    begin.record()
    launches = 0
    until = time.monotonic() + seconds
    ahead = []
    while time.monotonic() < until:
        repeated.launch()
        launches += 1
        last = torch.cuda.Event(enable_timing=True)
        last.record()
        ahead.append(last)
        if len(ahead) > max(2, math.ceil(8e-3 / span_s)):
            ahead.pop(0).synchronize()
    last.synchronize()
    return begin.elapsed_time(last) / 1e3 / (launches * repeated.count)


def measure(call, gpu):
    """Returns a Measured; `call` launches one operator."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    rough_s = max(1e-6, _seconds_of(2, Repeated(call, 4)))
    many = Repeated(call, max(1, min(_MOST_CALLS, math.ceil(_GRAPH_S / rough_s))))
    few = Repeated(call, max(_BURST_CALLS, min(_MOST_CALLS, math.ceil(_BURST_S / rough_s))))
    torch.cuda.synchronize()
    time.sleep(_REST_S)
    few.launch()  # a board that rested wakes up first
    burst_s = _seconds_of(1, few)
    span_s = rough_s * many.count
    with Sampler(gpu) as sampler:
        _run_for(_WARM_UP_S, many, span_s)
        energy_j, since = gpu.energy_j(), time.monotonic()
        sustained_s = _run_for(_SUSTAINED_S, many, span_s)
        spent_j, seconds = gpu.energy_j() - energy_j, time.monotonic() - since
    watts, sm_mhz, memory_mhz = sampler.means(since)
    return Measured(burst_s * 1e6, sustained_s * 1e6, watts, spent_j / seconds, sm_mhz, memory_mhz, gpu.celsius())
