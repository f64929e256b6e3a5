"""The time-boxed, resumable run of `measure kernels`."""

import gc
import os
import sys
import time

import torch

from microbench import rows, sampling
from microbench.bench import Bench, GpuLost
from microbench.machine import StopFlag

_PROGRESS_SECONDS = 5.0
_MOST_RESTARTS = 20
_DEADLINE = "ORRERY_CAPTURE_DEADLINE"
_RESTARTS = "ORRERY_CAPTURE_RESTARTS"


class Progress:
    """Prints where the run stands, now and then."""

    def __init__(self):
        self._started = self._printed = time.monotonic()
        self.rows = 0

    def rate(self):
        return self.rows / max(1e-9, time.monotonic() - self._started)

    def print(self, bench, always=False):
        now = time.monotonic()
        if not always and now - self._printed < _PROGRESS_SECONDS:
            return
        self._printed = now
        print(f"microbench: {self.rows} rows, {self.rate():.1f} rows/s, "
              f"{sum(bench.failures_of_kind.values())} failed, {bench.skipped} too large, "
              f"{bench.mismatches} incomplete recordings, {bench.dropped} rows dropped, "
              f"SM {bench.clocks.sm_mhz} MHz, {bench.clocks.power_w:.0f} W",
              file=sys.stderr, flush=True)


def _failed_path(out):
    return out + ".failed"


def _failed_before(out):
    try:
        with open(_failed_path(out), encoding="utf-8") as file:
            return set(file.read().splitlines())
    except FileNotFoundError:
        return set()


def _restart(out, lost):
    """Starts this program anew without the operators that may have broken the context."""
    with open(_failed_path(out), "a", encoding="utf-8") as file:
        file.writelines(text + "\n" for text in lost.suspects)
    restarts = int(os.environ.get(_RESTARTS, "0")) + 1
    print(f"microbench: the GPU was lost at {lost.suspects[:3]} ({lost})", flush=True)
    if restarts > _MOST_RESTARTS:
        sys.exit(1)
    os.environ[_RESTARTS] = str(restarts)
    os.execv(sys.executable, [sys.executable, *sys.argv])


def _deadline(minutes):
    """Returns the time to stop at; a restarted run keeps its first one."""
    if _DEADLINE not in os.environ:
        os.environ[_DEADLINE] = str(time.time() + 60.0 * minutes)
    return float(os.environ[_DEADLINE])


def run(options):
    """Measures until the time is up; returns the exit status."""
    deadline = _deadline(options.minutes)
    stop = StopFlag()
    done = rows.operators_in(options.out) | _failed_before(options.out)
    writer = rows.Writer(options.out)
    bench = Bench(options.seed, options.turn_file, options.buffer_share)
    progress = Progress()
    print(f"microbench: {bench.machine.gpu}, driver {bench.machine.driver}, "
          f"CUDA {bench.machine.cuda}, torch {bench.machine.torch}, "
          f"empty event pair {bench.events.empty_us:.2f} us, {len(done)} operators known",
          file=sys.stderr, flush=True)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with torch.no_grad():
            for current in sampling.sequence(options.seed, options.only, options.dtypes,
                                             options.shares):
                if stop.is_set or time.time() > deadline:
                    break
                if current.text in done:
                    continue
                done.add(current.text)
                bench.add(current)
                if bench.batch_is_full():
                    _finish_batch(bench, writer, progress)
            _finish_batch(bench, writer, progress)
    except GpuLost as lost:
        bench.close()
        writer.close()
        _restart(options.out, lost)
    finally:
        bench.close()
    writer.close()
    progress.print(bench, always=True)
    print_summary(bench)
    return 0


def _finish_batch(bench, writer, progress):
    found = bench.finish_batch()
    writer.write(found)
    progress.rows += len(found)
    progress.print(bench)


def print_summary(bench):
    print(f"{'kind':14} {'rows':>7} {'failed':>7}  first error")
    for kind in sampling.SAMPLERS:
        count, failed = bench.rows_of_kind[kind], bench.failures_of_kind[kind]
        if count or failed:
            error = bench.first_error_of_kind.get(kind, "")
            print(f"{kind:14} {count:7} {failed:7}  {error}")
    print(f"{'all':14} {sum(bench.rows_of_kind.values()):7} "
          f"{sum(bench.failures_of_kind.values()):7}", flush=True)
