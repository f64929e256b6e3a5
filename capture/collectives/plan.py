"""What is measured: sizes, repeats and types; needs neither GPU nor PyTorch."""

import dataclasses
import re

from collectives import kinds

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
        return kinds.KINDS[self.collective]


@dataclasses.dataclass(frozen=True)
class Message:
    size_bytes: int  # of the full side, over all ranks
    count: int  # elements that one rank gives (or gets, where that is the smaller side)


def _message(plan, size_bytes, ranks):
    element = kinds.ELEMENT_BYTES[plan.dtype]
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
