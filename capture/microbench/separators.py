"""Cuts a profiled stream into calls by separator kernels, and how often each call is repeated."""

import dataclasses
import statistics


@dataclasses.dataclass
class Activity:
    """One kernel, copy or fill on the GPU."""

    name: str
    start_ns: int
    duration_ns: int


class SeparatorMismatch(Exception):
    """The recording does not hold as many separators as were launched."""


def cut(activities, separator_name, expected_separators):
    """Returns the activities before each separator, in the order they ran."""
    segments, current = [], []
    for activity in sorted(activities, key=lambda x: x.start_ns):
        if activity.name == separator_name:
            segments.append(current)
            current = []
        else:
            current.append(activity)
    if len(segments) != expected_separators:
        raise SeparatorMismatch(f"{len(segments)} separators of {expected_separators}")
    return segments


def quartiles(values):
    """Returns (first quartile, median, third quartile)."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, statistics.median(values), high


@dataclasses.dataclass
class KernelTimes:
    """The GPU time of a configuration's calls, in microseconds."""

    kernel_us: float
    warm_us: float
    spread_pct: float
    repeats: int
    kernels: int
    main_kernel: str


def _total_us(segment):
    """Adds the times; kernels of several streams (cuDNN's recurrent layers) count once where they
    run side by side."""
    total = end = 0
    for activity in sorted(segment, key=lambda x: x.start_ns):
        begin = max(activity.start_ns, end)
        end = max(end, activity.start_ns + activity.duration_ns)
        total += max(0, end - begin)
    return total / 1e3


def summarise(cold, warm):
    """Sums up the segments of one configuration; None where a call left no activity."""
    if not cold or not all(cold) or not all(warm):
        return None
    low, middle, high = quartiles([_total_us(segment) for segment in cold])
    # The call whose time is the middle one speaks for the number and names of kernels.
    typical = min(cold, key=lambda segment: abs(_total_us(segment) - middle))
    longest = max(typical, key=lambda activity: activity.duration_ns)
    warm_us = statistics.median(_total_us(segment) for segment in warm) if warm else middle
    spread = 100.0 * (high - low) / middle if middle > 0 else 0.0
    return KernelTimes(middle, warm_us, spread, len(cold), len(typical), longest.name)


def by_call(segments, plan):
    """Sums up the segments of each call of a plan of (cold repeats, warm repeats).

    A cold call makes two segments: the flush before it, and the call. A warm call makes one.
    """
    out, at = [], 0
    for cold, warm in plan:
        cold_segments = segments[at + 1:at + 2 * cold:2]
        at += 2 * cold
        out.append(summarise(cold_segments, segments[at:at + warm]))
        at += warm
    return out


def _between(low, value, high):
    return max(low, min(high, int(value)))


def event_repeats(op_us):
    return _between(2, 14e3 / max(op_us, 1.0), 3)


def cold_repeats(op_us):
    return _between(2, 14e3 / max(op_us, 1.0), 5)


def warm_repeats(op_us):
    return _between(1, 8e3 / max(op_us, 1.0), 3)
