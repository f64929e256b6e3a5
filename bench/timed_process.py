"""Runs a program, measures what it took and compares measurements with targets."""

import dataclasses
import os
import subprocess
import time


@dataclasses.dataclass
class TimedProcess:
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


def run_timed(command):
    begin = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status != 0:
        raise SystemExit(f"bench: {' '.join(map(str, command))} ended with status {process.returncode}")
    return TimedProcess(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output)


def print_target(what, value, relation, limit):
    is_met = value <= limit if relation == "<=" else value >= limit
    print(f"{what:52} {value:8.2f}  target {relation} {limit:5}  {'met' if is_met else 'MISSED'}")
