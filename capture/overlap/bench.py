"""Measures all rows of one compute kernel in one recording."""

import gc
import statistics
import time

import torch

from microbench.machine import Clocks, driver_version
from microbench.kernel_timing import Recorder
from microbench.operands import Operands
from overlap import compute_side, plans, queueing
from overlap.compute_side import Compute
from overlap.device_library import Device
from overlap.loop import Skipped
from overlap.queueing import Queue, train_length

_SLOTS = 160
_DEVICE_BYTES = 3 << 30
_SHORTEST_US = 1.5
_LONGEST_US = 2500.0
_MOST_RESERVED_BYTES = 60 << 30
_LEAST_SHARE = 0.8  # of the longest kernel in the time of its call


class Bench:
    """The GPU with everything that the experiments need."""

    def __init__(self, seed, records=True):
        self.seed = seed
        self.device = Device(_SLOTS, _DEVICE_BYTES)
        self._operands = Operands(seed, 0.5)
        self._externals = [torch.cuda.ExternalStream(self.device.stream(i)) for i in range(2)]
        self._queue = Queue(self.device, self._externals)
        self.external = self._externals[0]
        self._recorder = Recorder()
        self.clocks = Clocks()
        self.machine = {"gpu": torch.cuda.get_device_name(0), "driver": driver_version(),
                        "cuda": str(torch.version.cuda), "torch": torch.__version__}
        if records:
            self._recorder.during(lambda: torch.zeros(1, device="cuda"))  # starts CUPTI

    def close(self):
        self.clocks.close()

    def recover(self):
        """After a failure; ends the run where the GPU is lost."""
        torch.cuda.synchronize()

    def tidy(self):
        """Gives operands of the last kernel back."""
        gc.collect()
        if torch.cuda.memory_reserved() > _MOST_RESERVED_BYTES:
            torch.cuda.empty_cache()

    def registers(self):
        """Of a thread of the light and of the heavy communication kernel."""
        return [self.device.takes("communication", heavy)[0] for heavy in (0, 1)]

    def prepare(self, planned):
        compute = Compute(planned, self._operands, self.device)
        compute.warm_up(list(enumerate(self._externals)))
        return compute

    def shape(self, compute):
        """The longest kernel of the call, from one recorded launch."""
        self.device.clear()
        return compute_side.shape(lambda: compute.launch(0, self._externals[0], 0))

    def measure(self, planned):
        """Returns the document of one compute kernel: its shape and all its runs."""
        compute = self.prepare(planned)
        shape = self.shape(compute)
        check(shape)
        alone_us = self._rough_us(compute, shape)
        rows = plans.rows(self.seed, planned.number, alone_us)
        compute.ready()
        self._queue.clear()
        began = time.monotonic()
        activities = self._recorder.during(lambda: self._fill(compute, rows, alone_us))
        shown = self._decode(activities, shape)
        return {"number": planned.number, "operator": planned.text, "copies": planned.copies,
                "shape": vars(shape), "rows": [_row_document(row) for row in rows],
                "runs": [dict(vars(run), **vars(what))
                         for run, what in zip(self._queue.runs, shown)],
                "sm_mhz": self.clocks.sm_mhz, "mem_mhz": self.clocks.mem_mhz,
                "power_w": self.clocks.power_w, "seconds": round(time.monotonic() - began, 3),
                **self.machine}

    def _rough_us(self, compute, shape):
        """The time of a launch after others, which sizes the rows."""
        self._queue.clear()
        activities = self._recorder.during(lambda: self._queue.compute_alone(compute, 6))
        times = [a.duration_ns / 1e3 for a in activities if a.name == shape.name]
        if len(times) != 6 * shape.repeats:
            raise Skipped("launches differ")
        return statistics.median(times) * shape.repeats

    def _fill(self, compute, rows, alone_us):
        launches = train_length(alone_us)
        for index, row in enumerate(rows):
            if index % 6 == 0:
                self._queue.compute_alone(compute, launches)
            if isinstance(row, plans.Steady):
                self._queue.steady(index, row, compute, alone_us)
            else:
                self._queue.arrival(index, row, compute, alone_us)
        self._queue.compute_alone(compute, launches)

    def _decode(self, activities, shape):
        runs = self._queue.runs
        slots, records = self.device.read(len(runs))
        windows = queueing.windows(activities, len(runs))
        return [queueing.decode(run, slots[run.slot], records, window, shape)
                for run, window in zip(runs, windows)]


def check(shape):
    if not shape.name:
        raise Skipped("no kernel")
    if shape.share < _LEAST_SHARE:
        raise Skipped("several kernels")
    if not _SHORTEST_US <= shape.duration_us <= _LONGEST_US:
        raise Skipped("too short or too long")


def _row_document(row):
    document = {"mode": type(row).__name__.lower(), **vars(row.communication)}
    if isinstance(row, plans.Arrival):
        document.update(first=row.first, offset=row.offset, length=row.length)
    document.update(threads=row.communication.threads, shared_bytes=row.communication.shared_bytes,
                    heavy=row.communication.heavy)
    return document
