"""The time-boxed, resumable run of `measure kernels`, and its smoke run."""

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
    """Restarts this program without the operators that may have broken the context."""
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


_SECONDS = 50.0


class _Outcome:
    """The outcome of one group."""

    def __init__(self):
        self.ok = self.failed = 0
        self.seconds = 0.0
        self.error = ""

    def fail(self, error):
        self.failed += 1
        self.error = self.error or error


class _Smoke:
    """Runs the groups one after the other; batches may span groups."""

    def __init__(self, bench, writer):
        self._bench = bench
        self._writer = writer
        self._pending_of_text = {}
        self.outcome_of_group = {}

    def run_group(self, group, chosen):
        outcome = self.outcome_of_group[group] = _Outcome()
        begun = time.monotonic()
        for sample in chosen:
            self._bench.first_error_of_kind.clear()
            if self._bench.add(sample):
                self._pending_of_text[sample.text] = outcome
            else:
                outcome.fail(self._bench.first_error_of_kind.get(sample.operator.kind, "skipped"))
        outcome.seconds = time.monotonic() - begun
        if self._bench.batch_is_full():
            self.finish()

    def finish(self):
        found = self._bench.finish_batch()
        for fields in found:
            self._pending_of_text.pop(fields[0]).ok += 1
        for text, outcome in self._pending_of_text.items():
            outcome.fail(f"{text}: no kernel times")
        self._pending_of_text.clear()
        if self._writer:
            self._writer.write(found)

    def lost(self, error):
        for outcome in self.outcome_of_group.values():
            if outcome.ok + outcome.failed == 0:
                outcome.fail(f"the GPU was lost: {error}")


def run_smoke(options):
    bench = Bench(options.seed)
    smoke = _Smoke(bench, rows.Writer(options.out) if options.out_given else None)
    groups = sampling.smoke_plan(options.seed, options.only, options.dtypes)
    started = time.monotonic()
    try:
        with torch.no_grad():
            for group, chosen in groups.items():
                if time.monotonic() - started < _SECONDS:
                    smoke.run_group(group, chosen)
            smoke.finish()
    except GpuLost as lost:
        smoke.lost(lost)
    bench.close()
    _print_smoke(groups, smoke.outcome_of_group, time.monotonic() - started, bench)
    return 0


def _print_smoke(groups, outcome_of_group, seconds, bench):
    print(f"{'operator':44} {'ok':>3} {'failed':>6} {'seconds':>8}  first error")
    total = 0
    for group in groups:
        outcome = outcome_of_group.get(group)
        if outcome is None:
            print(f"{group:44} not reached")
            continue
        total += outcome.ok
        print(f"{group:44} {outcome.ok:3} {outcome.failed:6} {outcome.seconds:8.2f}  "
              f"{outcome.error[:160]}")
    print(f"{total} rows in {seconds:.1f} s, {total / seconds:.1f} rows/s, {bench.mismatches} "
          f"incomplete recordings, empty event pair {bench.events.empty_us:.2f} us, "
          f"{bench.machine}", flush=True)
