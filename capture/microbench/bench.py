"""Measures samples batch by batch: events one by one, then the kernels of the whole batch."""

import collections
import gc

import torch

from microbench import operator_text, rows
from microbench.kernel_timing import EventTimer, KernelTimer, Stream
from microbench.operands import Operands, TooLarge
from microbench.prepare import prepare
from microbench.separators import SeparatorMismatch
from microbench.machine import Clocks, Turns, driver_version

_MOST_FAILURES = 5
_BATCH_ROWS = 100
_BATCH_BYTES = 30 << 30
_BATCH_US = 150e3        # of one call of each; ten repeats make it 1.5 s
_RESERVED_SHARE = 0.80   # of the GPU's memory, above which cached blocks are given back


class GpuLost(Exception):
    """The CUDA context is broken; only a new process can go on, without the suspects."""

    def __init__(self, reason, suspects):
        super().__init__(reason)
        self.suspects = suspects


class Bench:
    """The GPU, its buffers and timers, and counts of what happened."""

    def __init__(self, seed, turn_file=None, buffer_share=1.0):
        torch.backends.cudnn.benchmark = False
        self.operands = Operands(seed, buffer_share)
        self._turns = Turns(turn_file)
        stream = Stream()
        self.events = EventTimer(stream)
        self.kernels = KernelTimer(stream)
        self.clocks = Clocks()
        self.machine = rows.Machine(torch.cuda.get_device_name(0), driver_version(),
                                    str(torch.version.cuda), torch.__version__)
        self.rows_of_kind = collections.Counter()
        self.failures_of_kind = collections.Counter()
        self.skipped = self.mismatches = self.dropped = 0
        self.first_error_of_kind = {}
        self._started_of_kind = collections.Counter()
        self._batch, self._batch_us = [], 0.0
        self._base_bytes = 0
        self._memory_bytes = torch.cuda.get_device_properties(0).total_memory

    def close(self):
        self.clocks.close()

    def add(self, sample):
        """Times a sample with events and keeps it for the next batch; False where it failed."""
        if operator_text.too_large(sample.operator) or self._never_works(sample.operator.kind):
            self.skipped += 1
            return False
        if not self._batch:
            self._base_bytes = torch.cuda.memory_allocated()
        try:
            one = prepare(sample, self.operands)
            one.call()  # compiles where the library does so, before the turn is taken
            torch.cuda.synchronize()
            with self._turns:
                one.op_us = self.events.op_us(one.call)
        except TooLarge:
            self.skipped += 1
            return False
        except Exception as error:  # every operator fails alone
            self.note_failure(sample, error)
            return False
        self._started_of_kind[sample.operator.kind] += 1
        one.sm_mhz, one.mem_mhz = self.clocks.sm_mhz, self.clocks.mem_mhz
        self._batch.append(one)
        self._batch_us += one.op_us
        return True

    def _never_works(self, kind):
        """Says whether a kind only failed so far, as where there is no compiler."""
        return self.failures_of_kind[kind] >= _MOST_FAILURES and not self._started_of_kind[kind]

    def batch_is_full(self):
        return (len(self._batch) >= _BATCH_ROWS or self._batch_us > _BATCH_US
                or torch.cuda.memory_allocated() - self._base_bytes > _BATCH_BYTES)

    def finish_batch(self):
        """Times the kernels of the batch; returns its rows."""
        batch, self._batch, self._batch_us = self._batch, [], 0.0
        out = self._measured(batch, may_halve=True) if batch else []
        batch.clear()
        self._tidy()
        return out

    def _measured(self, batch, may_halve):
        try:
            with self._turns:
                times = self.kernels.measure(batch)
        except SeparatorMismatch as mismatch:
            self.mismatches += 1
            return self._halved(batch, mismatch, may_halve)
        except Exception as error:
            self.check_alive(error, [one.sample.text for one in batch])
            return self._halved(batch, error, may_halve)
        return [self._row(one, found) for one, found in zip(batch, times) if self._counts(one, found)]

    def _halved(self, batch, error, may_halve):
        if may_halve and len(batch) > 1:
            middle = len(batch) // 2
            return (self._measured(batch[:middle], may_halve=False)
                    + self._measured(batch[middle:], may_halve=False))
        self.dropped += len(batch)
        print(f"microbench: a batch of {len(batch)} rows was dropped: {_first_line(error)}",
              flush=True)
        return []

    def _counts(self, one, found):
        """Says whether a row came out; a call that left no activity is a failure."""
        if found is None:
            self.note_failure(one.sample, RuntimeError("no activity on the GPU was recorded"))
            return False
        self.rows_of_kind[one.sample.operator.kind] += 1
        return True

    def _row(self, one, found):
        return rows.row(one.sample.text, one.op_us, found, one.sm_mhz, one.mem_mhz, self.machine)

    def note_failure(self, sample, error):
        kind = sample.operator.kind
        self.failures_of_kind[kind] += 1
        if kind not in self.first_error_of_kind:
            self.first_error_of_kind[kind] = f"{sample.text}: {_first_line(error)}"
            print(f"microbench: {self.first_error_of_kind[kind]}", flush=True)
        if isinstance(error, torch.cuda.OutOfMemoryError):
            torch.cuda.empty_cache()
        self.check_alive(error, [sample.text])

    def check_alive(self, error, suspects):
        """Raises GpuLost where the context no longer answers."""
        try:
            torch.cuda.synchronize()
        except Exception:
            raise GpuLost(_first_line(error), suspects) from error

    def _tidy(self):
        gc.collect()
        if torch.cuda.memory_reserved() > _RESERVED_SHARE * self._memory_bytes:
            torch.cuda.empty_cache()


def _first_line(error):
    text = str(error).strip() or type(error).__name__
    return f"{type(error).__name__}: {text.splitlines()[0][:200]}"
