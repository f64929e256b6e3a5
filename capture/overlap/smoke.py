"""The smoke run: three kernels of different kinds, counters, NCCL, and what became of them."""

import time

from overlap import compute_plan, decoding
from overlap.loop import Skipped

_KINDS = ("gemm", "elementwise", "stamped")
_MOST_TRIES = 8


class Outcome:
    """What became of one part."""

    def __init__(self, name, works, text, seconds=0.0):
        self.name, self.works, self.text, self.seconds = name, works, text, seconds


def candidates(seed, kind):
    """The first planned kernels of a kind."""
    number, found = 0, 0
    while found < _MOST_TRIES:
        planned = compute_plan.planned(seed, number)
        if planned.text.split()[0] == kind:
            found += 1
            yield planned
        number += 1


def _measure_kind(bench, tree, seed, kind):
    """Measures the first kernel of a kind that is fit for it."""
    began = time.monotonic()
    reason = ""
    for planned in candidates(seed, kind):
        try:
            document = bench.measure(planned)
        except Skipped as skipped:
            reason = f"left out: {skipped}"
            continue
        except (decoding.Incomplete, RuntimeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
            break
        tree.write(planned.number, document)
        return Outcome(kind, True, f"{len(document['rows'])} pairs of {planned.text}",
                       time.monotonic() - began)
    return Outcome(kind, False, reason, time.monotonic() - began)


def measure(bench, tree, seed):
    return [_measure_kind(bench, tree, seed, kind) for kind in _KINDS]


def counters_outcome(found):
    """Of what counters.measure returned."""
    works = found["source"].startswith("ncu")
    text = f"{found['source']}, {found['kernels']} kernels" if works else found["reason"]
    return Outcome("counters", works, text)


def nccl_outcome(gpus):
    works = gpus > 1
    return Outcome("nccl", works, f"{gpus} GPUs" if works else "skipped: it needs a second GPU")


def table(outcomes):
    lines = [f"{'part':12} {'works':>5} {'seconds':>7}  what"]
    lines += [f"{one.name:12} {'yes' if one.works else 'no':>5} {one.seconds:7.1f}  {one.text}"
              for one in outcomes]
    return "\n".join(lines)


def status(outcomes):
    """0 when kernels and counters work, 3 when only some do, 2 when no kernel could be measured."""
    needed = [one.works for one in outcomes if one.name != "nccl"]
    kernels = [one.works for one in outcomes if one.name in _KINDS]
    return 0 if all(needed) else 3 if any(kernels) else 2
