#!/usr/bin/env python3
"""Measures the speed of operator prediction with the shipped models of the H200.

    bench/kernels.py --build build [--rounds 3]

Prints the seconds for a million distinct operators in one batch on two threads, including features,
without memoization, and the microseconds for a memoized operator: medians of the
rounds, and their limits. Exits with 1 when one is exceeded.
"""

import argparse
import json
import pathlib
import subprocess
import sys

# Benchmark, description, unit, units per nanosecond, maximum.
FIGURES = (
    ("BM_PredictDistinct/operators:1000000/threads:2/real_time",
     "a million distinct operators", "s", 1e-9, 5.0),
    ("BM_PredictRepeated", "an operator again", "us", 1e-3, 0.2),
)
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def medians(program, rounds):
    """Returns the median real time of each benchmark in nanoseconds."""
    done = subprocess.run([program, "--benchmark_filter=Distinct/operators:1000000|Repeated",
                           f"--benchmark_repetitions={rounds}", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True)
    return {run["run_name"]: run["real_time"] * NANOSECONDS[run["time_unit"]]
            for run in json.loads(done.stdout)["benchmarks"]
            if run.get("aggregate_name") == "median"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    arguments = parser.parse_args()
    times = medians(arguments.build / "modules/kernel/kernel_bench", max(arguments.rounds, 2))
    is_slow = False
    for name, what, unit, scale, most in FIGURES:
        value = times[name] * scale
        is_slow = is_slow or value > most
        print(f"{what:30} {value:8.3f} {unit:2}  (at most {most:g})")
    sys.exit(1 if is_slow else 0)


if __name__ == "__main__":
    main()
