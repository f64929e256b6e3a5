#!/usr/bin/env python3
"""Measures speed and memory of the simulation of training jobs.

    bench/simulate.py --build build [--rounds 3] [--write docs/validation/simulate-speed.md]

Runs the whole program, including model loading: GPT-175B on 8,192 GPUs, the same on
131,072, and 1,024 ranks with and without folding, which must agree exactly. Then the events
per second of the engine alone, on one core. Prints medians of the rounds and exits with 1 when a
target is missed. Limits apply to wall time: on a busy
machine look at the CPU time, and at the printed load average.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

JOB = pathlib.Path(__file__).parent.parent / "examples/gpt-175b-8192.yaml"
LARGE = ("plan.dp=1024", "gpus=131072", "training.global_batch=24576", "cluster.nodes=0")
SMALL = ("plan.dp=8", "gpus=1024", "training.global_batch=192")
GB = 1e9


class Run:
    """One simulation: its result, seconds and bytes."""

    def __init__(self, program, overrides=(), options=()):
        command = [program, "simulate", JOB, "--json", *options]
        for override in overrides:
            command += ["--set", override]
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        text = process.stdout.read()
        _, status, usage = process_usage(process)
        self.seconds = time.monotonic() - begin
        if status != 0:
            sys.exit(f"bench: {' '.join(map(str, command))} ended with {status}")
        self.bytes = usage.ru_maxrss * 1024
        self.processor_seconds = usage.ru_utime + usage.ru_stime
        self.answer = json.loads(text)


def process_usage(process):
    """Waits for the process with wait4 and returns its resource usage."""
    pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return pid, process.returncode, usage


def engine_events_per_second(build):
    """Events per second of the engine's benchmarks on one core."""
    program = build / "modules/simulate/simulate_bench"
    if not program.exists():
        return {}
    done = subprocess.run([program, "--benchmark_format=json"], check=True, capture_output=True,
                          text=True)
    return {run["name"]: run["items_per_second"] for run in json.loads(done.stdout)["benchmarks"]
            if "items_per_second" in run}


class Report:
    """Rows of a table, and whether all targets were met."""

    def __init__(self):
        self.rows = []
        self.is_met = True

    def add(self, what, value, unit, most=None, least=None):
        is_met = (most is None or value <= most) and (least is None or value >= least)
        limit = f"at most {most:g} {unit}" if most is not None else (
            f"at least {least:,.0f} {unit}" if least is not None else "")
        self.is_met &= is_met
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        self.rows.append((what, f"{number} {unit}", limit, "" if is_met else "MISSED"))

    def text(self):
        return "\n".join(f"{what:58} {value:>22}  {limit} {missed}".rstrip()
                         for what, value, limit, missed in self.rows)

    def markdown(self):
        lines = ["| quantity | measured | target |", "|---|---:|---|"]
        lines += [f"| {what} | {value} | {limit} {missed} |" for what, value, limit, missed in self.rows]
        return "\n".join(lines)


def add_job(report, name, runs, most_seconds, most_bytes=None):
    report.add(f"{name}: wall time", statistics.median(run.seconds for run in runs), "s",
               most=most_seconds)
    report.add(f"{name}: CPU time",
               statistics.median(run.processor_seconds for run in runs), "s")
    report.add(f"{name}: memory", max(run.bytes for run in runs) / GB, "GB",
               most=most_bytes and most_bytes / GB)
    answer = runs[0].answer
    report.add(f"{name}: events", answer["events"], "events")
    report.add(f"{name}: rank classes", answer["rank_classes"], "classes")
    report.add(f"{name}: simulated step time", answer["step_time_s"], "s")


def add_unfolded(report, program):
    folded = Run(program, SMALL)
    unfolded = Run(program, SMALL, ("--no-fold",))
    report.add("1,024 ranks without folding: wall time", unfolded.seconds, "s", most=30)
    report.add("1,024 ranks without folding: CPU time", unfolded.processor_seconds, "s")
    report.add("1,024 ranks without folding: memory", unfolded.bytes / GB, "GB")
    report.add("1,024 ranks without folding: events", unfolded.answer["events"], "events")
    keys = ("step_time_s", "breakdown_s", "exposed_communication_s")
    differences = sum(folded.answer[key] != unfolded.answer[key] for key in keys)
    report.add("1,024 ranks: results that differ from the folded ones", differences, "results", most=0)


def load_text():
    """Load average before the run."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def write(path, report, load):
    path.write_text(
        "# Simulation speed\n\n"
        "Generated by `make bench-simulate`. Times are those of the whole program, including start-up "
        "and loading of kernel models.\nLimits apply to wall time. Load average before the run: "
        f"{load}.\n\n" + report.markdown() + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    program = arguments.build / "orrery"
    report = Report()
    load = load_text()
    print(f"Load average: {load}.")
    rounds = range(max(arguments.rounds, 1))
    add_job(report, "GPT-175B on 8,192 GPUs", [Run(program) for _ in rounds], 1, GB)
    add_job(report, "GPT-175B on 131,072 GPUs", [Run(program, LARGE) for _ in rounds], 5)
    add_unfolded(report, program)
    for name, rate in engine_events_per_second(arguments.build).items():
        report.add(f"engine, {name}", rate, "events/s", least=2e6 if "Simulate" in name else None)
    print(report.text())
    if arguments.write:
        write(arguments.write, report, load)
    sys.exit(0 if report.is_met else 1)


if __name__ == "__main__":
    main()
