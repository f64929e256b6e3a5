"""The log in the form of nccl-tests, and the loop over sizes that writes it; what touches the GPU is passed in."""

import dataclasses
import sys

from collectives import plan as plans


class LogFile:
    def __init__(self, path):
        self._file = open(path, "w", encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def write(self, line):
        self._file.write(line + "\n")
        self._file.flush()
        print(line, file=sys.stdout, flush=True)


_NOTHING = "N/A"


@dataclasses.dataclass(frozen=True)
class Device:
    rank: int
    pid: int
    host: str
    index: int  # on its host
    bus: str  # its address, such as 0000:1b:00
    name: str


@dataclasses.dataclass(frozen=True)
class Versions:
    nccl: str
    torch: str
    driver: str
    cuda: str


def bandwidths(kind, size_bytes, time_us, ranks):
    """Algorithm and bus bandwidth in GB/s (10^9)."""
    algorithm = size_bytes / time_us / 1e3
    return algorithm, algorithm * kind.bus_factor(ranks)


def header(plan, devices, versions):
    """The lines before the first row."""
    return [
        f"# orrery-capture measure collectives: a loop over NCCL {versions.nccl}; "
        f"torch {versions.torch}, driver {versions.driver}, CUDA {versions.cuda}",
        f"# Collective test starting: {plan.kind.program}",
        f"# nThread 1 nGpus 1 minBytes {plan.min_bytes} maxBytes {plan.max_bytes} "
        f"step: {plan.factor}(factor) warmup iters: {plan.warmup} iters: {plan.iterations} "
        "agg iters: 1 validation: 0 graph: 0",
        "#",
        "# Using devices",
        *(_device(device) for device in devices),
        f"NCCL version {versions.nccl}",
        "#",
        "#" + "out-of-place".rjust(73) + "in-place".rjust(31),
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
        "     time   algbw   busbw  #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "
        "     (us)  (GB/s)  (GB/s)        ",
    ]


def _device(device):
    return (f"#  Rank {device.rank:2d} Group  0 Pid {device.pid:6d} on {device.host:>10s} "
            f"device {device.index:2d} [{device.bus}] {device.name}")


def _time(time_us):
    decimals = 2 if time_us < 100 else 1 if time_us < 10000 else 0
    return f"{time_us:.{decimals}f}"


def _half(kind, size_bytes, time_us, ranks):
    if time_us is None:
        words = [_NOTHING] * 3
    else:
        algorithm, bus = bandwidths(kind, size_bytes, time_us, ranks)
        words = [_time(time_us), f"{algorithm:.2f}", f"{bus:.2f}"]
    return f"{words[0]:>9s}{words[1]:>8s}{words[2]:>8s}{_NOTHING:>8s}"


def row(plan, message, times_us, ranks):
    """One row; `times_us` has the time out of place and in place, None where there is none."""
    kind = plan.kind
    halves = "".join(_half(kind, message.size_bytes, time_us, ranks) for time_us in times_us)
    return (f"{message.size_bytes:12d}  {message.count:12d}  {plan.dtype:>8s}  "
            f"{kind.reduction:>6s}  {kind.root:6d}{halves}")


def closing(plan, bus_bandwidths):
    """The lines after the last row; the average is over both halves of all rows."""
    mean = sum(bus_bandwidths) / len(bus_bandwidths) if bus_bandwidths else 0.0
    return [f"# Avg bus bandwidth    : {mean:.6g}", "#",
            f"# Collective test concluded: {plan.kind.program}"]


def plan_lines(plan, gpus, sizes):
    """Returns lines that describe the planned measurement to the user."""
    kind = plan.kind
    lines = [f"{plan.collective} of {plan.dtype} on {gpus} GPUs, {plan.warmup} warm-up and "
             f"{plan.iterations} timed calls per size, "
             + ("out of place and in place" if kind.has_in_place else "out of place")]
    lines += [f"{message.size_bytes:14d} bytes {message.count:14d} elements per rank"
              for message in sizes]
    return lines


def times_of(plan, message, bench, group):
    """Mean over the ranks, as nccl-tests reports it: out of place, and in place where there is."""
    times = []
    for in_place in (False, True):
        if in_place and not plan.kind.has_in_place:
            times.append(None)
            continue
        group.barrier()
        own_us = bench.time_us(message, in_place)
        all_us = group.gather(own_us)
        times.append(sum(all_us) / len(all_us))
    return times


def sweep(plan, bench, group, write):
    """Measures every message and writes its row; returns the bus bandwidths of all halves."""
    bus_bandwidths = []
    for message in plans.messages(plan, group.ranks):
        times_us = times_of(plan, message, bench, group)
        write(row(plan, message, times_us, group.ranks))
        bus_bandwidths += [
            bandwidths(plan.kind, message.size_bytes, time_us, group.ranks)[1]
            for time_us in times_us if time_us is not None]
    return bus_bandwidths
