"""The line that says where a run stands."""

import collections
import sys
import time

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
