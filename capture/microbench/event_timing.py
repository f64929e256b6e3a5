"""Times a call with CUDA events, the queue kept ahead of the host."""

import statistics
import time

import torch

from microbench import separators

_MOST_REPEATS = 21
_SPIN_CYCLES_PER_US = 1980  # of the SM clock; a lower clock only makes the wait longer
_LONGEST_SPIN_US = 40_000
_FLUSH_US = 20              # a lower bound of what one flush gives the host


class EventTimer:
    """Measures op_us: the median over repeats, each with an empty L2, less an empty pair."""

    def __init__(self, stream):
        self._flush = stream.flush
        make = lambda: torch.cuda.Event(enable_timing=True)
        self._pairs = [(make(), make()) for _ in range(_MOST_REPEATS)]
        self.empty_us = 0.0
        self._flush()
        self._measure(lambda: None, 5, 10.0)
        self.empty_us = self._measure(lambda: None, _MOST_REPEATS, 10.0)

    def warm_up(self, call):
        """Calls twice; returns (time on the GPU, time of the host) of the second, in µs."""
        call()
        torch.cuda.synchronize()
        begin, end = self._pairs[0]
        begin.record()
        started = time.perf_counter()
        call()
        host_us = (time.perf_counter() - started) * 1e6
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3, host_us

    def op_us(self, call):
        """Returns the time of one call in µs."""
        rough_us, host_us = self.warm_up(call)
        count = separators.event_repeats(max(rough_us, host_us))
        return max(0.0, self._measure(call, count, host_us) - self.empty_us)

    def _measure(self, call, count, host_us):
        spin_us = min(_LONGEST_SPIN_US, 150 + count * (max(0.0, host_us - _FLUSH_US) + 25.0))
        torch.cuda._sleep(int(spin_us * _SPIN_CYCLES_PER_US))
        flush = self._flush
        pairs = self._pairs[:count]
        for begin, end in pairs:
            flush()
            begin.record()
            call()
            end.record()
        pairs[-1][1].synchronize()
        return statistics.median(begin.elapsed_time(end) for begin, end in pairs) * 1e3
