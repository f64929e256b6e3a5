"""Compute kernels beside NCCL's own kernels: one process a GPU; needs PyTorch and several GPUs."""

import dataclasses
import math
import os
import pathlib
import sys
import tempfile
import time

import torch
import torch.distributed
import torch.multiprocessing

from collectives import nccl_library, own_loop, plan as plans
from microbench.machine import Clocks, driver_version
from microbench.kernel_timing import Recorder
from microbench.operands import Operands
from overlap import bench, compute_side, nccl_rows, queueing
from overlap.compute_side import Compute
from overlap.loop import Skipped
from overlap.tree import NCCL, Tree

_BUFFER_SHARE = 0.2
_WARM_UPS = 3
_ALONE = 10                 # collectives timed alone
_MOST_COLLECTIVES = 2000
_HEAD_START_CYCLES = 40_000_000  # the stream waits until all is queued


def _say(text):
    print(f"overlap: {text}", file=sys.stderr, flush=True)
    return text


def measure(seed, tree, stop, deadline):
    """Measures setting after setting until the time is up; returns what became of it."""
    gpus = torch.cuda.device_count()
    if gpus < 2:
        return _say("NCCL's own kernels are skipped: they need a second GPU")
    number = 0
    while not stop.is_set and time.time() < deadline:
        if not tree.has(number, NCCL):
            try:
                _measure_setting(seed, number, gpus, tree.folder)
            except Exception as error:  # a worker's errors arrive as one type
                return _say(f"NCCL's kernels could not be measured: {own_loop.reason(error)}")
            _say(f"NCCL setting {number}: {nccl_rows.setting(seed, number)}")
        number += 1
    return _say(f"{number} settings of NCCL on {gpus} GPUs")


def _measure_setting(seed, number, gpus, folder):
    with tempfile.TemporaryDirectory() as meeting:
        torch.multiprocessing.spawn(
            _worker, (seed, number, gpus, str(pathlib.Path(meeting) / "meeting"), folder),
            nprocs=gpus)


def _worker(rank, seed, number, gpus, meeting_file, folder):
    setting = nccl_rows.setting(seed, number)
    os.environ.update(setting.environment())  # before NCCL's first call in this process
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting_file}", rank=rank,
                                         world_size=gpus)
    try:
        group = own_loop.Group(rank, gpus)
        side = _Side(setting, group)
        if rank == 0:
            document = _Lead(side, group, seed).document(number)
            Tree(folder).write(number, document, NCCL)
        else:
            _follow(side, group)
        side.close()
    finally:
        torch.distributed.destroy_process_group()


class _Side:
    """One rank's part of the collective."""

    def __init__(self, setting, group):
        self.setting = setting
        self.stream = torch.cuda.Stream()
        nccl = nccl_library.load()
        unique_id = group.from_first(nccl.unique_id() if group.rank == 0 else None)
        self._communicator = nccl.communicator(group.ranks, unique_id, group.rank)
        plan = setting.plan()
        message = plans.messages(plan, group.ranks)[0]
        self._buffers = [torch.randint(0, 256, (message.size_bytes,), dtype=torch.uint8,
                                       device="cuda") for _ in range(2)]
        self.call = self._communicator.prepare(plan, *(one.data_ptr() for one in self._buffers),
                                               message, self.stream.cuda_stream)

    def calls(self, count):
        for _ in range(count):
            self.call()

    def close(self):
        torch.cuda.synchronize()
        self._communicator.destroy()


def _follow(side, group):
    """Joins as many collectives as the first rank says, until it says none."""
    while True:
        count = group.from_first(None)
        if count == 0:
            return
        side.calls(count)
        torch.cuda.synchronize()


class _Lead:
    """The first rank: it alone computes and records."""

    def __init__(self, side, group, seed):
        self._side = side
        self._group = group
        self._seed = seed
        self._operands = Operands(seed, _BUFFER_SHARE)
        self._stream = torch.cuda.Stream()
        self._recorder = Recorder()
        self._clocks = Clocks()

    def document(self, number):
        try:
            self._collectives(_WARM_UPS)
            shape = compute_side.shape(lambda: self._collectives(1))
            alone = self._recorder.during(lambda: self._collectives(_ALONE + 1))
            # The first brings the GPUs in step.
            alone_us = [a.duration_ns / 1e3 for a in alone if nccl_rows.is_nccl(a.name)][1:]
            if not alone_us:
                raise RuntimeError("the recording holds no kernel of NCCL")
            kernels = [self._kernel(planned, sum(alone_us) / len(alone_us))
                       for planned in nccl_rows.kernels(self._seed, number)]
            self._group.from_first(0)
        finally:
            self._clocks.close()
        return {"number": number, "ranks": self._group.ranks,
                "setting": dataclasses.asdict(self._side.setting), "nccl_shape": vars(shape),
                "alone_us": alone_us, "kernels": [one for one in kernels if one],
                "sm_mhz": self._clocks.sm_mhz, "mem_mhz": self._clocks.mem_mhz,
                "power_w": self._clocks.power_w, "gpu": torch.cuda.get_device_name(0),
                "driver": driver_version(), "cuda": str(torch.version.cuda),
                "torch": torch.__version__}

    def _collectives(self, count, between=lambda: None):
        """All ranks join; `between` is done after the first was queued."""
        self._group.from_first(count)
        self._side.calls(1)
        between()
        self._side.calls(count - 1)

    def _train(self, compute, launches):
        for _ in range(launches):
            compute.launch(0, self._stream, 0)

    def _alone_us(self, compute, shape, launches):
        activities = self._recorder.during(lambda: self._train(compute, launches))
        times = [a.duration_ns / 1e3 for a in activities if a.name == shape.name]
        if len(times) < 2:
            raise Skipped("incomplete recordings")
        return times[1:]

    def _kernel(self, planned, collective_us):
        """Returns the measurement of one compute kernel; None if it is not suitable."""
        with torch.no_grad():
            try:
                compute = Compute(planned, self._operands, None)
                compute.warm_up([(0, self._stream)])
                shape = compute_side.shape(lambda: compute.launch(0, self._stream, 0))
                bench.check(shape)
                return self._beside(compute, shape, collective_us)
            except Skipped:
                return None

    def _beside(self, compute, shape, collective_us):
        launches = queueing.train_length(shape.duration_us)
        before = self._alone_us(compute, shape, launches)
        cover = 1.5 * launches * shape.duration_us / collective_us
        count = min(_MOST_COLLECTIVES, math.ceil(cover) + 3)
        found = nccl_rows.together(
            self._recorder.during(lambda: self._queue_both(compute, launches, count)), shape.name)
        after = self._alone_us(compute, shape, launches)
        return {"operator": compute.planned.text, "copies": compute.planned.copies,
                "shape": vars(shape), "alone_us": [before, after],
                "together_us": found.compute_us, "nccl_together_us": found.communication_us,
                "launches": found.launches}

    def _queue_both(self, compute, launches, count):
        """The train begins behind the first collective, which brings the GPUs in step."""
        with torch.cuda.stream(self._side.stream):
            torch.cuda._sleep(_HEAD_START_CYCLES)
        in_step = torch.cuda.Event()

        def train():
            in_step.record(self._side.stream)
            self._stream.wait_event(in_step)
            self._train(compute, launches)

        self._collectives(count, train)
