#!/usr/bin/env python3
"""Runs the benchmarks of a module, prints medians of the rounds and exits with 1 when a limit is exceeded.

    bench/modules.py kernels|collectives|network [--build build] [--rounds 3]

kernels: a million distinct operators in one batch on two threads, including features, without memoization, and a
memoized operator. collectives: the closed form with and without NCCL's algorithm selection, and flows of collectives
over 1,024 GPUs under three tiers of switches, including routing. network: a uniform shift and 4,096 flows of distinct
random sizes on a fat tree of 4,096 hosts, our and SimGrid's CPU time with their ratio (omitted without SimGrid); an
all-to-all over 1,024 GPUs; and traffic on disjoint links for 1,000 to 100,000 flows, by flow and link.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
# Description, benchmark, maximum seconds (None: no limit).
LIMITS = {
    "kernels": (
        ("a million distinct operators", "BM_PredictDistinct/operators:1000000/threads:2/real_time", 5.0),
        ("a memoized operator", "BM_PredictRepeated", 0.2e-6)),
    "collectives": (
        ("closed form, choice included", "BM_ClosedFormChoosing", 1e-6),
        ("closed form of one algorithm", "BM_ClosedForm", 1e-6),
        ("flows: all-to-all over 1,024 GPUs, alone, hashed", "BM_AllToAllAlone", 2.0),
        ("flows: the same among others, at once, by target", "BM_AllToAllAmongOthers", 2.0),
        ("flows: the same among others, in rounds, hashed", "BM_AllToAllAmongOthersInRounds", 2.0),
        ("flows: ring all-reduce over 1,024 GPUs, hashed", "BM_RingsAlone", None),
        ("flows: the same, sprayed", "BM_RingsSprayed", None)),
    "network": (
        ("all-to-all over 1,024 GPUs, step by step, hashed", "BM_AllToAllInSteps", 2.0),
        ("all-to-all over 1,024 GPUs, all at once, by target", "BM_AllToAllAtOnce", 2.0),
        ("a fat tree of 4,096 hosts is built", "BM_BuildFatTree", 1.0)),
}
FILTERS = {"kernels": "Distinct/operators:1000000|Repeated", "collectives": ".",
           "network": "Shift|RandomSizes|AllToAllInSteps|AllToAllAtOnce$|Disjoint|Build"}
# Description, our benchmark, SimGrid's, minimum ratio.
RACES = (("uniform shift", "BM_Shift", "BM_ShiftSimgrid", 100),
         ("4,096 random sizes", "BM_RandomSizes", "BM_RandomSizesSimgrid", 20))
DISJOINT_SIZES = (1_000, 10_000, 100_000)
LINKS_OF_A_FLOW = 8
# Memory gets slower with size; a worse order than linear would be a factor of ten or a hundred.
MOST_GROWTH = 4


def clock_of(module, benchmark):
    """CPU time for what uses one thread, so that other work on the machine does not matter."""
    uses_one_thread = module == "collectives" or benchmark in {ours for _, ours, _, _ in RACES}
    return "cpu_time" if uses_one_thread else "real_time"


def run_benchmarks(program, module):
    """Returns the seconds of each benchmark by name; failed and skipped ones are omitted."""
    done = subprocess.run([program, f"--benchmark_filter={FILTERS[module]}", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True)
    runs = {run["name"].partition("/iterations")[0]: run for run in json.loads(done.stdout)["benchmarks"]
            if not run.get("error_occurred")}
    return {name: run[clock_of(module, name)] * SECONDS[run["time_unit"]] for name, run in runs.items()}


def readable(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:8.3f} {unit}"
    return f"{seconds * 1e9:8.1f} ns"


def check(what, value, limit="", is_met=True):
    print(f"{what:52} {value:>12}" + (f"  ({limit}{'' if is_met else '; MISSED'})" if limit else ""))
    return is_met


def check_races(times):
    is_met = True
    for what, ours, theirs, least in RACES:
        check(what + ", ours", readable(times[ours]))
        if theirs not in times:
            print(f"{what}: SimGrid is not installed, no ratio")
            continue
        check(what + ", SimGrid", readable(times[theirs]))
        ratio = times[theirs] / times[ours]
        is_met &= check(what + ", ratio", f"{ratio:.3f}", f"at least {least}", ratio >= least)
    return is_met


def check_disjoint(times):
    cost = {size: times[f"BM_Disjoint/{size}"] / size / LINKS_OF_A_FLOW for size in DISJOINT_SIZES}
    for size, seconds in cost.items():
        check(f"disjoint traffic, {size:,} flows, per flow and link", readable(seconds))
    growth = cost[DISJOINT_SIZES[-1]] / cost[DISJOINT_SIZES[0]]
    return check("disjoint traffic, growth of that over two decades", f"{growth:.3f}", f"at most {MOST_GROWTH}",
                 growth <= MOST_GROWTH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", choices=LIMITS)
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    options = parser.parse_args()
    name = options.module.removesuffix("s")
    program = options.build / f"modules/{name}/{name}_bench"
    rounds = [run_benchmarks(program, options.module) for _ in range(max(options.rounds, 1))]
    times = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    is_met = check_races(times) & check_disjoint(times) if options.module == "network" else True
    for what, benchmark, most in LIMITS[options.module]:
        limit = "" if most is None else f"at most {readable(most).strip()}"
        is_met &= check(what, readable(times[benchmark]), limit, most is None or times[benchmark] <= most)
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
