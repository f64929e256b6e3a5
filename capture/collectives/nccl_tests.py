"""The programs of nccl-tests, where they are installed."""

import os
import shutil
import subprocess
import sys

from collectives import log_file, plan as plans


def find(plan, folder=None):
    """The program that measures the plan's collective, in `folder` or in $PATH; None if absent."""
    path = None
    if folder is not None:
        path = os.pathsep.join((folder, os.path.join(folder, "build")))
    return shutil.which(plan.kind.program, path=path)


def _is_row(line):
    words = line.split()
    return len(words) > 2 and words[0].isdigit() and words[1].isdigit()


def command(program, plan, gpus):
    return [program, *plans.nccl_tests_arguments(plan, gpus)]


def run(program, plan, gpus, out):
    """Keeps what the program prints as the log; 0, 3 if it broke off, 2 without any row."""
    num_rows = 0
    with log_file.LogFile(out) as log, subprocess.Popen(
            command(program, plan, gpus), stdout=subprocess.PIPE, text=True,
            errors="replace") as process:
        for line in process.stdout:
            log.write(line.rstrip("\n"))
            num_rows += _is_row(line)
    if process.returncode == 0 and num_rows > 0:
        return 0
    print(f"orrery-capture: {program} ended with status {process.returncode} after {num_rows} "
          f"rows; what it said is in {out}", file=sys.stderr)
    return 3 if num_rows > 0 else 2
