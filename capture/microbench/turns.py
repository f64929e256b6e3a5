"""Lets several processes share one GPU: they prepare side by side and measure in turn.

Some libraries compile a kernel for each new shape, a second or so on one core of the host while the
GPU idles; several processes on a turn file keep it busy.
"""

import fcntl


class Turns:
    """A lock among the processes that name the same file; nothing without a name."""

    def __init__(self, path):
        self._file = open(path, "a", encoding="utf-8") if path else None

    def __enter__(self):
        if self._file:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        if self._file:
            fcntl.flock(self._file, fcntl.LOCK_UN)
