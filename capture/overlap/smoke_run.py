"""The smoke run on the GPU, in a tree that is thrown away."""

import argparse
import tempfile
import time

import torch

from microbench.machine import StopFlag
from overlap import counters, pairs, smoke
from overlap.run import build
from overlap.bench import Bench
from overlap.tree import Tree

_COUNTERS_SECONDS = 60.0


def run_in(folder, options, tools):
    tree = Tree(folder)
    bench = Bench(options.seed)
    try:
        with torch.no_grad():
            outcomes = smoke.measure(bench, tree, options.seed)
        pairs.write_table(tree, bench.registers())
    finally:
        bench.close()
    if options.counters != "none":
        own = argparse.Namespace(out=folder, seed=options.seed)
        found = counters.measure(own, tree, time.time() + _COUNTERS_SECONDS, StopFlag(),
                                 tools.get("ncu"))
        outcomes.append(smoke.counters_outcome(found))
    outcomes.append(smoke.nccl_outcome(torch.cuda.device_count()))
    print(smoke.table(outcomes), flush=True)
    return smoke.status(outcomes)


def run(options, tools):
    """Measures and prints the table; returns the exit status."""
    build()
    with tempfile.TemporaryDirectory() as folder:
        return run_in(folder, options, tools)
