"""Ends a run cleanly when it is told to."""

import signal


class StopFlag:
    """Set by SIGTERM and SIGINT; the run ends after what it has at hand."""

    def __init__(self):
        self.is_set = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def _set(self, *_):
        self.is_set = True
