"""The collectives that are measured, as nccl-tests names, counts and rates them."""

import dataclasses
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
