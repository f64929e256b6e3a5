#!/usr/bin/env python3
"""Measures the speed of collective prediction.

    bench/collectives.py --build build [--rounds 3]

Prints medians of the rounds: the closed form with and without NCCL's algorithm selection, and flows
of collectives over 1,024 GPUs under three tiers of switches, including routing. Exits with 1 when a
target is missed.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

# Name, benchmark, maximum seconds (none: no target).
FIGURES = (
    ("closed form, choice included", "BM_ClosedFormChoosing", 1e-6),
    ("closed form of one way", "BM_ClosedForm", 1e-6),
    ("flows: all-to-all over 1,024 GPUs, alone, hashed", "BM_AllToAllAlone", 2.0),
    ("flows: the same among others, at once, by target", "BM_AllToAllAmongOthers", 2.0),
    ("flows: the same among others, in rounds, hashed", "BM_AllToAllAmongOthersInRounds", 2.0),
    ("flows: ring all-reduce over 1,024 GPUs, hashed", "BM_RingsAlone", None),
    ("flows: the same, sprayed", "BM_RingsSprayed", None),
)
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def run_benchmarks(program):
    """Returns the seconds of each benchmark by name; failed ones are omitted.

    All use one thread: CPU time, so that other work on the machine does not matter.
    """
    done = subprocess.run([program, "--benchmark_format=json"], check=True, capture_output=True,
                          text=True)
    return {run["name"]: run["cpu_time"] * SECONDS[run["time_unit"]]
            for run in json.loads(done.stdout)["benchmarks"] if not run.get("error_occurred")}


def readable(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:8.3f} {unit}"
    return f"{seconds * 1e9:8.1f} ns"


def check(what, seconds, most):
    is_met = most is None or seconds <= most
    bound = "" if most is None else f"  (at most {readable(most).strip()}{'' if is_met else '; MISSED'})"
    print(f"{what:52} {readable(seconds):12}{bound}")
    return is_met


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    arguments = parser.parse_args()
    program = arguments.build / "modules/collective/collective_bench"
    rounds = [run_benchmarks(program) for _ in range(max(arguments.rounds, 1))]
    is_met = True
    for what, name, most in FIGURES:
        is_met &= check(what, statistics.median(times[name] for times in rounds), most)
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
