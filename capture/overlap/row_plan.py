"""Draws what is run with one compute kernel: rows, each a communication-like kernel and a mode."""

import dataclasses
import random

from overlap import communication_plan

_ARRIVALS = 8


@dataclasses.dataclass(frozen=True)
class Steady:
    """Communication goes on for as long as a train of launches of the compute kernel."""

    communication: object


@dataclasses.dataclass(frozen=True)
class Arrival:
    """One launch of each; the second comes `offset` of the first's time alone later."""

    communication: object
    first: str            # "K" or "C"
    offset: float
    length: float         # of the communication alone, in times of the compute kernel


def rows(seed, number, compute_us):
    """Lists the rows of a compute kernel that takes `compute_us` alone."""
    rng = random.Random(f"orrery overlap rows {seed} {number}")
    widths = list(communication_plan.WIDTHS)
    rng.shuffle(widths)
    out = [Steady(communication_plan.draw(rng, width, max(400.0, 5 * compute_us)))
           for width in widths]
    arrival_widths = rng.sample(communication_plan.ARRIVAL_WIDTHS, _ARRIVALS)
    for index, width in enumerate(arrival_widths):
        length = 10 ** rng.uniform(-0.5, 0.5)
        drawn = communication_plan.draw(rng, width, max(20.0, length * compute_us))
        offset = 0.0 if rng.random() < 0.15 else rng.uniform(0.0, 0.9)
        out.append(Arrival(drawn, "K" if index % 2 == 0 else "C", offset, length))
    rng.shuffle(out)
    return out
