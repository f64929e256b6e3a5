"""The time-boxed, resumable run of `measure overlap`; needs PyTorch and a GPU."""

import argparse
import sys
import tempfile
import time

import torch

from doctor import programs
from microbench.machine import StopFlag
from overlap import counters, device_library, loop, nccl_rows, pairs
from overlap.bench import Bench
from overlap.loop import Progress
from overlap.tree import LAUNCH_DATA, RunRecord, Tree

# Of the time, where both are asked for: a choice. On an H200 counting took 504 s for 295 kernels,
# pairs 9 minutes for 1,503.
_COUNTERS_SHARE = 0.25


def run(options, tools):
    """Measures until the time is up; returns the exit status. `tools` maps names to paths."""
    device_library.build()
    tree = Tree(options.out)
    record = RunRecord(tree, options.seed)
    stop = StopFlag()
    deadline = time.time() + 60.0 * options.minutes
    counted = options.counters == "auto" and (tools.get("ncu") or programs.find("ncu"))
    share = _COUNTERS_SHARE if counted else 0.0
    kernels = None
    if options.counters != "only":
        kernels = _measure_pairs(options, tree, record, tools, stop,
                                 deadline - 60.0 * options.minutes * share)
    if options.counters != "none" and not stop.is_set:
        record.note_counters(counters.measure(options, tree, deadline, stop, tools.get("ncu")))
    else:
        reason = "the run was stopped before" if stop.is_set else "not asked for (--counters none)"
        record.note_counters({"source": LAUNCH_DATA, "reason": reason})
    record.write()
    if kernels == 0:
        print("orrery-capture: no kernel could be measured; `--smoke` says what works here",
              file=sys.stderr)
        return 2
    return 0


def _measure_pairs(options, tree, record, tools, stop, deadline):
    """Measures, and writes the table whatever ended it; returns how many kernels the tree has."""
    began = time.time()
    bench = Bench(options.seed)
    registers = bench.registers()
    progress = Progress(deadline, options.kernels)
    limits = loop.Limits(stop, deadline, options.kernels, time.time)
    ended_by = "failure"
    try:
        with torch.no_grad():
            ended_by = loop.measure(bench, tree, options.seed, progress, limits)
        if options.nccl and not stop.is_set:
            record.content["nccl"] = _measure_nccl(options, tree, stop)
    finally:
        bench.close()
        progress.note(bench.clocks, always=True)
        written = pairs.write_table(tree, registers, nccl_rows.all_rows(tree))
        record.note_machine(bench.machine, tools)
        record.note_run(began, time.time(), ended_by=ended_by, kernels=progress.measured,
                        pairs=progress.pairs, left_out=dict(progress.left_out))
        record.content["pairs"] = written
        record.write()
    return progress.kernels


def _measure_nccl(options, tree, stop):
    """Returns what became of it, in words."""
    from overlap import nccl_side
    return nccl_side.measure(options.seed, tree, stop, time.time() + 60.0 * options.nccl_minutes)


_COUNTERS_SECONDS = 60.0


def smoke_in(folder, options, tools):
    tree = Tree(folder)
    bench = Bench(options.seed)
    try:
        with torch.no_grad():
            outcomes = loop.measure_smoke(bench, tree, options.seed)
        pairs.write_table(tree, bench.registers())
    finally:
        bench.close()
    if options.counters != "none":
        own = argparse.Namespace(out=folder, seed=options.seed)
        found = counters.measure(own, tree, time.time() + _COUNTERS_SECONDS, StopFlag(),
                                 tools.get("ncu"))
        outcomes.append(loop.counters_outcome(found))
    outcomes.append(loop.nccl_outcome(torch.cuda.device_count()))
    print(loop.table(outcomes), flush=True)
    return loop.status(outcomes)


def run_smoke(options, tools):
    """Measures and prints the table; returns the exit status."""
    build()
    with tempfile.TemporaryDirectory() as folder:
        return smoke_in(folder, options, tools)
