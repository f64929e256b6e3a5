"""NCCL's collectives and the compute kernels that run with them, from the plan to rows of the table of pairs."""

import dataclasses
import itertools
import random
import statistics

from collectives import plan as collective_plans
from overlap import pairs, plans
from overlap.tree import NCCL

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
        """The environment that NCCL needs before its first call."""
        channels = str(self.channels)
        out = {"NCCL_MIN_NCHANNELS": channels, "NCCL_MAX_NCHANNELS": channels,
               "NCCL_ALGO": self.algorithm, "NCCL_PROTO": self.protocol}
        if self.collective == "alltoall":  # sends and receives
            out.update(NCCL_MIN_P2P_NCHANNELS=channels, NCCL_MAX_P2P_NCHANNELS=channels)
        return out

    def plan(self):
        return collective_plans.Plan(self.collective, self.size_bytes, self.size_bytes, 2, 1, 0, "bfloat16")


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
    drawn = (plans.planned(seed, rng.randrange(10_000)) for _ in itertools.count())
    return list(itertools.islice((one for one in drawn if one.sample is not None), KERNELS_EACH))


_LEAST_COVERED = 0.9
_MOST_DRIFT = 0.02


def is_nccl(name):
    return "nccl" in name.lower() and "kernel" in name.lower()


def _covered_ns(activity, others):
    """The time during the activity in which any of `others` ran; they do not overlap each other."""
    end = activity.start_ns + activity.duration_ns
    return sum(max(0, min(end, other.start_ns + other.duration_ns)
                   - max(activity.start_ns, other.start_ns)) for other in others)


def _covered(of, by):
    return [one for one in of
            if one.duration_ns > 0 and _covered_ns(one, by) >= _LEAST_COVERED * one.duration_ns]


@dataclasses.dataclass
class Together:
    """Times in microseconds of what ran beside the other side nearly all the time."""

    compute_us: list
    communication_us: list
    launches: int  # of the compute kernel, covered or not


def together(activities, kernel_name):
    """Picks out of a recording what counts; the collectives of a stream follow one another."""
    ordered = sorted(activities, key=lambda activity: activity.start_ns)
    compute = [one for one in ordered if one.name == kernel_name]
    communication = [one for one in ordered if is_nccl(one.name)]
    times = lambda chosen: [one.duration_ns / 1e3 for one in chosen]
    return Together(times(_covered(compute, communication)),
                    times(_covered(communication, compute)), len(compute))


def _bus_gbps(setting, ranks, time_us):
    if not time_us:
        return None
    factor = collective_plans.KINDS[setting.collective].bus_factor(ranks)
    return factor * setting.size_bytes / (1e3 * time_us)


def _median(values):
    return statistics.median(values) if values else None


def _rejected(kernel):
    if not kernel["together_us"]:
        return "no launch lay within collectives"
    before, after = (statistics.median(half) for half in kernel["alone_us"])
    return "alone it changed by more than 2 %" if abs(after / before - 1.0) > _MOST_DRIFT else ""


def _row(document, index, kernel):
    setting = Setting(**document["setting"])
    alone = kernel["alone_us"][0] + kernel["alone_us"][1]
    shape, shape_of_nccl = kernel["shape"], document["nccl_shape"]
    alone_us, together_us = _median(document["alone_us"]), _median(kernel["nccl_together_us"])
    return {
        **{key: document[key] for key in ("gpu", "driver", "cuda", "torch", "power_w")},
        "pair": f"nccl{document['number']}.{index}", "sm_clock_mhz": document["sm_mhz"],
        "mem_clock_mhz": document["mem_mhz"], "mode": "steady", "first": "C", "priority": "same",
        "k_name": shape["name"], "k_kind": kernel["operator"].split()[0],
        "k_operator": kernel["operator"], "k_copies": kernel["copies"], "k_grid": shape["grid"],
        "k_block": shape["block"], "k_regs": shape["registers"], "k_smem": shape["shared_bytes"],
        "k_occupancy": shape["occupancy"], "k_alone_us": _median(alone),
        "k_alone_spread_pct": pairs.spread_pct(alone), "c_pattern": setting.pattern,
        "c_place": "peers", "c_blocks": shape_of_nccl["grid"], "c_threads": shape_of_nccl["block"],
        "c_regs": shape_of_nccl["registers"], "c_smem": shape_of_nccl["shared_bytes"],
        "c_rate_set_gbps": 0.0, "c_chunk_bytes": setting.size_bytes,
        "c_alone_gbps": _bus_gbps(setting, document["ranks"], alone_us), "c_alone_us": alone_us,
        "k_together_us": _median(kernel["together_us"]),
        "k_together_spread_pct": pairs.spread_pct(kernel["together_us"]),
        "c_together_gbps": _bus_gbps(setting, document["ranks"], together_us),
        "c_together_us": together_us, "repeats": len(kernel["together_us"]),
        "rejected": _rejected(kernel)}


def rows(document):
    """The rows of one setting as texts in the order of pairs.HEADER."""
    found = [_row(document, index, kernel) for index, kernel in enumerate(document["kernels"])]
    return [[pairs.text(row.get(key)) for key in pairs.HEADER] for row in found]


def all_rows(tree):
    return (row for document in tree.documents(NCCL) for row in rows(document))
