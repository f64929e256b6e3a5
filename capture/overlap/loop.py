"""The loop over compute kernels; what touches the GPU is handed in."""

import itertools
import sys

from overlap import compute_plan, decoding


class Skipped(Exception):
    """A compute kernel that is not fit for the experiment; the message says why."""


def measure(bench, tree, seed, progress, limits):
    """Measures what the tree lacks until `limits` end it; returns what ended it."""
    for number in itertools.count():
        ended_by = limits.reached(progress.kernels)
        if ended_by:
            return ended_by
        if tree.has(number):
            progress.kernels += 1
        elif not tree.was_left_out(number):
            measure_one(bench, tree, compute_plan.planned(seed, number), progress)
            progress.note(bench.clocks)


def measure_one(bench, tree, planned, progress):
    """Measures one compute kernel; one that fails is counted and named."""
    try:
        document = bench.measure(planned)
    except Skipped as reason:
        progress.left_out[str(reason)] += 1
        tree.leave_out(planned.number, str(reason))
        return
    except decoding.Incomplete as reason:
        _say_left_out(planned, progress, "incomplete recordings", reason)
        return
    except RuntimeError as error:  # PyTorch's, for memory that is lacking among others
        _say_left_out(planned, progress, "failed", error)
        bench.recover()
        return
    finally:
        bench.tidy()
    tree.write(planned.number, document)
    progress.kernels += 1
    progress.measured += 1
    progress.pairs += len(document["rows"])


def _say_left_out(planned, progress, why, error):
    progress.left_out[why] += 1
    first = (str(error).splitlines() or [type(error).__name__])[0]
    print(f"overlap: {planned.text}: {first[:150]}", file=sys.stderr)


class Limits:
    """When a run ends: by a signal, by the time, or with the last kernel asked for."""

    def __init__(self, stop, deadline, most_kernels, now):
        self._stop = stop
        self._deadline = deadline
        self._most_kernels = most_kernels
        self._now = now

    def reached(self, kernels):
        """"signal", "time", "kernels", or "" while there is more to do."""
        if self._stop.is_set:
            return "signal"
        if self._most_kernels is not None and kernels >= self._most_kernels:
            return "kernels"
        return "time" if self._now() > self._deadline else ""
