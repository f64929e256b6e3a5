"""The time-boxed, resumable run of `measure overlap`."""

import collections
import csv
import gc
import itertools
import sys
import time

import torch

from overlap import compute_plan, counters, decoding, device_library, pairs
from overlap.bench import Bench, Skipped
from overlap.tree import Tree

_PROGRESS_SECONDS = 5.0


class Progress:
    """Says now and then where the run stands."""

    def __init__(self):
        self._printed = time.monotonic()
        self.kernels = self.rows = 0
        self.left_out = collections.Counter()

    def note(self, bench, always=False):
        now = time.monotonic()
        if always or now - self._printed >= _PROGRESS_SECONDS:
            self._printed = now
            left_out = ", ".join(f"{count} {why}" for why, count in self.left_out.items())
            print(f"overlap: {self.kernels} kernels, {self.rows} pairs; left out: "
                  f"{left_out or 'none'}; SM {bench.clocks.sm_mhz} MHz, "
                  f"{bench.clocks.power_w:.0f} W", file=sys.stderr, flush=True)


def _architecture():
    major, minor = torch.cuda.get_device_capability(0)
    return f"sm_{major}{minor}"


def run(options):
    """Measures until the time is up; returns the exit status."""
    device_library.build(_architecture())
    tree = Tree(options.out)
    deadline = time.time() + 60.0 * options.minutes
    if options.counters != "only":
        _measure_pairs(options, tree, deadline)
    if options.counters != "none":
        counters.measure(options, tree, deadline)
    return 0


def _measure_pairs(options, tree, deadline):
    bench = Bench(options.seed)
    registers = [bench.device.takes("communication", heavy)[0] for heavy in (0, 1)]
    progress = Progress()
    try:
        with torch.no_grad():
            for number in itertools.count():
                if time.time() > deadline or progress.kernels == options.kernels:
                    break
                if tree.has(number):
                    progress.kernels += 1
                    continue
                _measure_one(bench, tree, compute_plan.planned(options.seed, number), progress)
                progress.note(bench)
    finally:
        bench.close()
    progress.note(bench, always=True)
    write_table(tree, registers)


def _measure_one(bench, tree, planned, progress):
    try:
        document = bench.measure(planned)
    except Skipped as reason:
        progress.left_out[str(reason)] += 1
        return
    except decoding.Incomplete as reason:
        progress.left_out["incomplete recordings"] += 1
        print(f"overlap: {planned.text}: {reason}", file=sys.stderr)
        return
    except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
        progress.left_out["failed"] += 1
        print(f"overlap: {planned.text}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
        torch.cuda.synchronize()  # ends the run where the GPU is lost
        return
    finally:
        gc.collect()
        if torch.cuda.memory_reserved() > 60 << 30:
            torch.cuda.empty_cache()
    tree.write(planned.number, document)
    progress.kernels += 1
    progress.rows += len(document["rows"])


def write_table(tree, registers):
    """Writes processed/pairs.csv from all raw documents."""
    with open(tree.path("processed", "pairs.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(pairs.HEADER)
        for document in tree.documents():
            writer.writerows(pairs.rows(document, registers))
