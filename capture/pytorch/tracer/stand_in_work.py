"""What a collective of the stand-in returns: waits on streams as NCCL's work does."""

import os
import sys

import torch
from torch._C._distributed_c10d import Work

_CALLS_THAT_WAIT = "distributed_c10d.py"


def _is_called_at_once(caller):
    """Whether `torch.distributed` itself waits, as it does unless asked for an asynchronous call.
    There is no caller in a thread of the autograd engine."""
    return caller is not None and os.path.basename(caller.f_code.co_filename) == _CALLS_THAT_WAIT


class StandInWork(Work):
    """The end of a marker on a stream. Without an event there is nothing to wait for: the
    marker was put on the caller's own stream, or was for the host."""

    def __init__(self, results, event=None, stream=None, entry=None, blocks_host=False):
        super().__init__()
        self._results = results
        self._event = event
        self._stream = stream
        self._entry = entry
        self._blocks_host = blocks_host
        self._future = None

    def wait(self, timeout=None):
        if self._entry is not None and _is_called_at_once(sys._getframe().f_back):
            self._entry["waits"] = True
        if self._event is not None:
            self._event.wait(torch.cuda.current_stream())
            if self._blocks_host:
                self._event.synchronize()
        return True

    def synchronize(self):
        self.wait()

    def block_current_stream(self):
        self.wait()

    def get_future(self):
        """A completed future. Its event is recorded on the marker's stream, so whoever waits
        for it (DDP's reducer) orders its own stream behind, as behind NCCL."""
        if self._future is None:
            self._future = self._made_future()
        return self._future

    def _made_future(self):
        if self._stream is None:
            future = torch.futures.Future()
            future.set_result(self._results)
            return future
        future = torch.futures.Future(devices=[self._stream.device])
        with torch.cuda.stream(self._stream):
            future.set_result(self._results)
        return future

    def result(self):
        return self._results

    def is_completed(self):
        return True

    def is_success(self):
        return True

    def exception(self):
        return None

    def source_rank(self):
        return -1
