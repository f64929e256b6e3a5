"""The smoke run: a few operators of every kind, pass and variant, and what became of them."""

import time

import torch

from microbench import rows, smoke_plan
from microbench.bench import Bench, GpuLost

_SECONDS = 50.0


class _Outcome:
    """What became of one group."""

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


def run(options):
    bench = Bench(options.seed)
    smoke = _Smoke(bench, rows.Writer(options.out) if options.out_given else None)
    groups = smoke_plan.plan(options.seed, options.only, options.dtypes)
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
    _print(groups, smoke.outcome_of_group, time.monotonic() - started, bench)
    return 0


def _print(groups, outcome_of_group, seconds, bench):
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
