"""The measured collectives: as nccl-tests names, counts and rates them, sizes, repeats and types; needs neither GPU nor PyTorch."""

import dataclasses
import re
import typing

# Bytes of an element, by NCCL's names.
ELEMENT_BYTES = {
    "int8": 1, "uint8": 1, "half": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float": 4,
    "int64": 8, "uint64": 8, "double": 8,
}


def _all_but_one(ranks):
    return (ranks - 1) / ranks


@dataclasses.dataclass(frozen=True)
class Kind:
    program: str  # of nccl-tests
    reduction: str  # as its column redop says
    root: int  # -1: none
    is_split: bool  # each rank has its share of the full side
    bus_factor: typing.Callable[[int], float]  # bus bandwidth / algorithm bandwidth, by ranks
    has_in_place: bool = True


KINDS = {
    "all_reduce": Kind("all_reduce_perf", "sum", -1, False, lambda ranks: 2 * _all_but_one(ranks)),
    "all_gather": Kind("all_gather_perf", "none", -1, True, _all_but_one),
    "reduce_scatter": Kind("reduce_scatter_perf", "sum", -1, True, _all_but_one),
    "alltoall": Kind("alltoall_perf", "none", -1, True, _all_but_one, has_in_place=False),
    "broadcast": Kind("broadcast_perf", "none", 0, False, lambda ranks: 1.0),
    "reduce": Kind("reduce_perf", "sum", 0, False, lambda ranks: 1.0),
    "sendrecv": Kind("sendrecv_perf", "sum", -1, False, lambda ranks: 1.0, has_in_place=False),
}


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "k": 2**10, "m": 2**20, "g": 2**30,
          "kib": 2**10, "mib": 2**20, "gib": 2**30}

# NCCL's fast paths want shares that begin at multiples of this.
_ALIGNED_BYTES = 16


def parse_size(text):
    """Bytes of "8", "64MiB", "1GB" or, as nccl-tests writes it, "64M"; ValueError if it is none."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text} is no size; write bytes or a number with KB, MB, GB, KiB, MiB "
                         "or GiB")
    return int(match[1]) * _UNITS[match[2]]


@dataclasses.dataclass(frozen=True)
class Plan:
    collective: str
    min_bytes: int
    max_bytes: int
    factor: int
    iterations: int
    warmup: int
    dtype: str

    @property
    def kind(self):
        return KINDS[self.collective]


@dataclasses.dataclass(frozen=True)
class Message:
    size_bytes: int  # of the full side, over all ranks
    count: int  # elements that one rank gives (or gets, where that is the smaller side)


def _message(plan, size_bytes, ranks):
    element = ELEMENT_BYTES[plan.dtype]
    if not plan.kind.is_split:
        count = size_bytes // element
        return Message(count * element, count)
    per_line = max(_ALIGNED_BYTES // element, 1)
    count = size_bytes // (ranks * element) // per_line * per_line
    return Message(count * ranks * element, count)


def messages(plan, ranks):
    """The messages of a sweep, growing; sizes that would leave a rank without data are left out."""
    chosen = []
    size_bytes = plan.min_bytes
    while size_bytes <= plan.max_bytes:
        message = _message(plan, size_bytes, ranks)
        if message.count > 0 and message not in chosen:
            chosen.append(message)
        size_bytes *= plan.factor
    return chosen


def nccl_tests_arguments(plan, gpus):
    """The options that make a program of nccl-tests measure the plan on the GPUs of one node."""
    return ["-b", str(plan.min_bytes), "-e", str(plan.max_bytes), "-f", str(plan.factor),
            "-g", str(gpus), "-n", str(plan.iterations), "-w", str(plan.warmup), "-d", plan.dtype]
