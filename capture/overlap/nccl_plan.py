"""Draws collectives of NCCL and the compute kernels that run beside them."""

import dataclasses
import itertools
import random

from collectives import plan as plans
from overlap import compute_plan

KERNELS_EACH = 8  # compute kernels for one setting, since a setting needs processes of its own
_COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "alltoall")
_PROTOCOLS = ("Simple", "LL", "LL128")
_CHANNELS = (1, 2, 4, 8, 12, 16, 24, 32)
_SIZES = tuple(2**power for power in range(20, 29))
_LARGEST_LOW_LATENCY = 2**24  # NCCL itself takes LL for small messages only


@dataclasses.dataclass(frozen=True)
class Setting:
    """One collective with everything forced that NCCL would choose."""

    collective: str
    algorithm: str
    protocol: str
    channels: int
    size_bytes: int  # of the full side

    @property
    def pattern(self):
        """As the table's column c_pattern says it."""
        return f"nccl_{self.collective}_{self.algorithm}_{self.protocol}".lower()

    def environment(self):
        """What NCCL must find in its environment before its first call."""
        channels = str(self.channels)
        out = {"NCCL_MIN_NCHANNELS": channels, "NCCL_MAX_NCHANNELS": channels,
               "NCCL_ALGO": self.algorithm, "NCCL_PROTO": self.protocol}
        if self.collective == "alltoall":  # sends and receives
            out.update(NCCL_MIN_P2P_NCHANNELS=channels, NCCL_MAX_P2P_NCHANNELS=channels)
        return out

    def plan(self):
        return plans.Plan(self.collective, self.size_bytes, self.size_bytes, 2, 1, 0, "bfloat16")


def setting(seed, number):
    """The setting of a number, by it and the seed alone."""
    rng = random.Random(f"orrery overlap nccl {seed} {number}")
    collective = rng.choice(_COLLECTIVES)
    algorithm = rng.choice(("Ring", "Tree")) if collective == "all_reduce" else "Ring"
    protocol = "Simple" if collective == "alltoall" else rng.choice(_PROTOCOLS)
    most = _LARGEST_LOW_LATENCY if protocol == "LL" else _SIZES[-1]
    size_bytes = rng.choice([size for size in _SIZES if size <= most])
    return Setting(collective, algorithm, protocol, rng.choice(_CHANNELS), size_bytes)


def kernels(seed, number):
    """The compute kernels of a setting: operators of PyTorch, other ones for each setting."""
    rng = random.Random(f"orrery overlap nccl kernels {seed} {number}")
    drawn = (compute_plan.planned(seed, rng.randrange(10_000)) for _ in itertools.count())
    return list(itertools.islice((one for one in drawn if one.sample is not None), KERNELS_EACH))
