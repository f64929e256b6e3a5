#!/usr/bin/env python3
"""Measures the speed of the network flow simulation, compared with SimGrid in the same run.

    bench/network.py --build build [--rounds 3]

Prints medians of the rounds: a uniform shift and 4,096 flows of distinct random sizes on a fat tree
of 4,096 hosts, our and SimGrid's CPU time with their ratio; an all-to-all over 1,024 GPUs
under three tiers, including routing; and traffic on disjoint links for 1,000 to 100,000 flows, by flow
and link. Exits with 1 when a target is missed. Without SimGrid the ratios are
omitted.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

# Name, our benchmark, SimGrid's, minimum ratio.
RACES = (
    ("uniform shift", "BM_Shift", "BM_ShiftSimgrid", 100),
    ("4,096 random sizes", "BM_RandomSizes", "BM_RandomSizesSimgrid", 20),
)
RACERS = {ours for _, ours, _, _ in RACES}
# Name, benchmark, maximum seconds.
LIMITS = (
    ("all-to-all over 1,024 GPUs, step by step, hashed", "BM_AllToAllInSteps", 2.0),
    ("all-to-all over 1,024 GPUs, all at once, by target", "BM_AllToAllAtOnce", 2.0),
    ("a fat tree of 4,096 hosts is built", "BM_BuildFatTree", 1.0),
)
DISJOINT_SIZES = (1_000, 10_000, 100_000)
LINKS_OF_A_FLOW = 8
# Memory gets slower with size; a worse order than linear would be a factor of ten or a hundred.
MOST_GROWTH = 4
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def run_benchmarks(program, pattern):
    """Returns the seconds of each benchmark by name; skipped ones are omitted.

    Comparisons use CPU time, as SimGrid's side does in its own process, so that other work
    on the machine does not matter.
    """
    done = subprocess.run([program, f"--benchmark_filter={pattern}", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True)
    times = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        name = run["name"].partition("/iterations")[0]
        clock = "cpu_time" if name in RACERS else "real_time"
        if not run.get("error_occurred"):
            times[name] = run[clock] * SECONDS[run["time_unit"]]
    return times


def medians(program, rounds):
    """Ours and SimGrid's alternate, so that other load affects both."""
    pattern = "Shift|RandomSizes|AllToAllInSteps|AllToAllAtOnce$|Disjoint|Build"
    results = [run_benchmarks(program, pattern) for _ in range(rounds)]
    return {name: statistics.median(result[name] for result in results) for name in results[0]}


def check(what, value, unit, bound, is_met):
    print(f"{what:52} {value:10.3f} {unit:2}  ({bound}{'' if is_met else '; MISSED'})")
    return is_met


def judge_races(times):
    is_met = True
    for what, ours, theirs, least in RACES:
        print(f"{what + ', ours':52} {times[ours] * 1e3:10.3f} ms")
        if theirs not in times:
            print(f"{what}: SimGrid is not installed, no ratio")
            continue
        print(f"{what + ', SimGrid':52} {times[theirs] * 1e3:10.3f} ms")
        ratio = times[theirs] / times[ours]
        is_met &= check(what + ", ratio", ratio, "", f"at least {least}", ratio >= least)
    return is_met


def judge_disjoint(times):
    cost = {size: times[f"BM_Disjoint/{size}"] / size / LINKS_OF_A_FLOW * 1e9
            for size in DISJOINT_SIZES}
    for size in DISJOINT_SIZES:
        print(f"{f'disjoint traffic, {size:,} flows, per flow and link':52} {cost[size]:10.3f} ns")
    growth = cost[DISJOINT_SIZES[-1]] / cost[DISJOINT_SIZES[0]]
    return check("disjoint traffic, growth of that over two decades", growth, "",
                 f"at most {MOST_GROWTH}", growth <= MOST_GROWTH)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    arguments = parser.parse_args()
    times = medians(arguments.build / "modules/network/network_bench", max(arguments.rounds, 1))
    is_met = judge_races(times)
    for what, name, most in LIMITS:
        is_met &= check(what, times[name], "s", f"at most {most:g}", times[name] <= most)
    is_met &= judge_disjoint(times)
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
