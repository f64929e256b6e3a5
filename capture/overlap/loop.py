"""The loop over compute kernels, its progress and the smoke run; what touches the GPU is passed in."""

import collections
import itertools
import sys
import time

from overlap import plans, queueing


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
            measure_one(bench, tree, plans.planned(seed, number), progress)
            progress.note(bench.clocks)


def measure_one(bench, tree, planned, progress):
    """Measures one compute kernel; one that fails is counted and named."""
    try:
        document = bench.measure(planned)
    except Skipped as reason:
        progress.left_out[str(reason)] += 1
        tree.leave_out(planned.number, str(reason))
        return
    except queueing.Incomplete as reason:
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


_SECONDS = 5.0


def duration_text(seconds):
    """"2 h 5 min", "3 min 20 s", "12 s"."""
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Progress:
    """Counts what was done and says it now and then."""

    def __init__(self, deadline, most_kernels=None, now=time.time):
        self._now = now
        self._deadline = deadline
        self._most_kernels = most_kernels
        self._began = self._printed = now()
        self.kernels = 0    # in the tree, those of earlier runs as well
        self.measured = 0   # now
        self.pairs = 0
        self.left_out = collections.Counter()

    def seconds_left(self):
        """Until the time is up, or the last kernel is measured at the pace so far."""
        now = self._now()
        left = self._deadline - now
        if self._most_kernels is not None and self.measured:
            pace = (now - self._began) / self.measured
            left = min(left, pace * (self._most_kernels - self.kernels))
        return max(0.0, left)

    def line(self, clocks):
        left_out = ", ".join(f"{count} {why}" for why, count in self.left_out.items()) or "none"
        return (f"overlap: {self.kernels} kernels, {self.pairs} pairs now; left out: {left_out}; "
                f"SM {clocks.sm_mhz} MHz, {clocks.power_w:.0f} W; "
                f"{duration_text(self.seconds_left())} left")

    def note(self, clocks, always=False):
        now = self._now()
        if always or now - self._printed >= _SECONDS:
            self._printed = now
            print(self.line(clocks), file=sys.stderr, flush=True)


_KINDS = ("gemm", "elementwise", "stamped")
_MOST_TRIES = 8


class Outcome:
    """The outcome of one part."""

    def __init__(self, name, works, text, seconds=0.0):
        self.name, self.works, self.text, self.seconds = name, works, text, seconds


def candidates(seed, kind):
    """The first planned kernels of a kind."""
    number, found = 0, 0
    while found < _MOST_TRIES:
        planned = plans.planned(seed, number)
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
        except (queueing.Incomplete, RuntimeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
            break
        tree.write(planned.number, document)
        return Outcome(kind, True, f"{len(document['rows'])} pairs of {planned.text}",
                       time.monotonic() - began)
    return Outcome(kind, False, reason, time.monotonic() - began)


def measure_smoke(bench, tree, seed):
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
