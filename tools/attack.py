#!/usr/bin/env python3
"""Attacks the program from outside: mutated files, hostile jobs, folders and options, full disks, signals, other environments.

    tools/attack.py --minutes 10 [--seed 1] [--only KIND] [--program build/orrery] [--write docs/validation/robustness.md]
    tools/attack.py --seed 1 --only files --run 17        # one case again

The order of the cases depends on the seed alone, each case on the seed, its kind and its number. No run may end by a signal, with
a status that the manual does not name, without an end, or with more memory than a limit; write outside its output folder,
change an input, or leave a torn file; print raw control characters, invalid JSON or impossible values; give another answer from
a damaged store. Servers listen on this machine only. Ends with a table and
status 1 where there is a finding. What reproduces a finding is kept in build/attack/findings/N.
"""

import collections
import pathlib
import re
import shutil
import sys
import time

import validation
from attack import faults, kinds, physics, services, stores, surroundings
from attack.case import ROOT, Case
from attack.oracle import Limits

KINDS = {  # name: (attack, cases in each round)
    "files": (kinds.attack_files, 10), "names": (kinds.attack_names, 1), "jobs": (kinds.attack_jobs, 3), "folders": (kinds.attack_folders, 3),
    "options": (kinds.attack_options, 6), "full disks": (faults.attack_full_disks, 2), "closed streams": (faults.attack_streams, 1),
    "limits": (faults.attack_limits, 1), "kills": (faults.attack_kills, 2), "targets": (faults.attack_targets, 2),
    "environments": (faults.attack_determinism, 1), "figures": (physics.attack_physics, 3),
    "several jobs": (physics.attack_several_jobs, 1), "searches": (physics.attack_searches, 1), "stores": (stores.attack_stores, 2),
    "variables": (surroundings.attack_variables, 2), "paths": (surroundings.attack_paths, 2),
    "timelines": (surroundings.attack_timelines, 2), "servers": (services.attack_servers, 1), "processes": (services.attack_processes, 1),
    "python": (services.attack_python, 1)}
KEPT_OF_A_FAULT = 3


def cases_in_order(only):
    """(kind, number) without an end."""
    numbers = collections.Counter()
    while True:
        for kind in [only] if only else KINDS:
            for _ in range(KINDS[kind][1]):
                yield kind, numbers[kind]
                numbers[kind] += 1


class Attack:
    def __init__(self, program, work, seed):
        self.program, self.work, self.seed, self.limits = program, work, seed, Limits.of_program(program)
        self.cases, self.runs, self.findings, self.known = (collections.Counter() for _ in range(4))
        self.kept = 0

    def start_case(self, kind, number):
        shutil.rmtree(self.work / "case", ignore_errors=True)
        return Case(self.program, self.work, self.seed, kind, number, self.limits)

    def run(self, kind, number):
        case = self.start_case(kind, number)
        KINDS[kind][0](case)
        case.check_folder()
        self.cases[kind] += 1
        self.runs[kind] += case.runs
        if case.findings:
            self.findings[kind] += 1
            self.report(case)

    def report(self, case):
        fault = kinds_of_fault(case.findings[0])
        self.known[fault] += 1
        if self.known[fault] > KEPT_OF_A_FAULT:
            return
        self.kept += 1
        folder = self.work / "findings" / str(self.kept)
        case.keep(folder, self.seed)
        print(f"{case.kind} {case.number}: {case.findings[0][:300]} ({folder})", flush=True)

    def table(self):
        lines = [validation.line("attack", "cases", "runs of the program", "findings"), validation.line("---", "---:", "---:", "---:")]
        for kind in [*KINDS, "all"]:
            figures = [counter.total() if kind == "all" else counter[kind] for counter in (self.cases, self.runs, self.findings)]
            lines.append(validation.line(kind, *(f"{figure:,}" for figure in figures)))
        return lines


def kinds_of_fault(reason):
    """Equal for findings that differ only in numbers and names."""
    return re.sub(r"[0-9]+|'[^']*'|\S*/\S*", "#", reason)[:120]


def main():
    parser = validation.parser(__doc__.splitlines()[0], type=pathlib.Path, default=ROOT / "build" / "orrery")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", choices=KINDS, help="this kind alone")
    parser.add_argument("--run", type=int, help="of --only: this case alone")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "attack")
    options = parser.parse_args()
    if options.run is not None and not options.only:
        parser.error("--run needs --only")
    shutil.rmtree(options.work / "findings", ignore_errors=True)
    attack = Attack(options.program.resolve(), options.work.resolve(), options.seed)
    end = time.monotonic() + 60 * options.minutes
    for kind, number in [(options.only, options.run)] if options.run is not None else cases_in_order(options.only):
        if time.monotonic() > end:
            break
        attack.run(kind, number)
    for fault, count in attack.known.most_common():
        print(f"{count:5}  {fault}")
    print("\n".join(attack.table()))
    if options.write:
        validation.fill(options.write, {"attack": [*attack.table(), "", f"Seed {options.seed}, {options.minutes:g} minutes."]})
    return 1 if attack.known else 0


if __name__ == "__main__":
    sys.exit(main())
