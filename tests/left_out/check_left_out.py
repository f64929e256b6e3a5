#!/usr/bin/env python3
"""Fails where predictions of stacks and teams that were left out of the fit of frameworks got worse than targets.json beside this file says.

    tests/left_out/check_left_out.py --program build/orrery --shared ../shared [--update]

targets.json has the mean |error| in percent and the share of rows inside the 80 % interval of each stack and team with LEAST_ROWS
rows or more (at most MOST_ROWS of a team, spread over the table), and of all these rows together, as they were when `--update` last
wrote it: those that miss their targets, too, so that nothing gets worse unseen. A row is evaluated with scalars of frameworks and
intervals that were fitted without its stack and its team, and with collectives that neither measured; kernels and power are not
refitted. Ends with 77 without ../shared.
"""

import argparse
import json
import pathlib
import subprocess
import sys

MARGIN = 0.3  # points of the mean error
INTERVAL_MARGIN = 2  # points of the share
LEAST_ROWS = 20
MOST_ROWS = 160  # of a team: its mean needs no more, and a run of all rows takes several times as long
TARGETS = pathlib.Path(__file__).parent / "targets.json"


def evaluated(program, table):
    """Figures by name of each stack and team that is large enough, and of all rows, of one run that leaves each out."""
    command = [str(program), "validate", str(table), "--grade", "A,A-,B+", "--leave-team-out", "--most-rows", str(MOST_ROWS), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"check_left_out: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    groups = {"all": result}
    groups.update({f"stack {group['name']}": group for group in result["stacks"]})
    groups.update({f"team {group['team']}": group for group in result["teams"]})
    return {name: group for name, group in groups.items() if group["simulated"] >= LEAST_ROWS}


def rounded(group):
    return {"rows": group["simulated"], "mape": round(group["mape"], 1), "coverage_80": round(group["coverage_80"])}


def is_worse(group, target):
    return (group["mape"] > target["mape"] + MARGIN or group["coverage_80"] < target["coverage_80"] - INTERVAL_MARGIN
            or group["simulated"] < target["rows"])


def compare(results, targets):
    """Prints each target beside what was found; whether one is missed."""
    failed = False
    for name, target in targets.items():
        group = results.get(name)
        worse = group is None or is_worse(group, target)
        failed = failed or worse
        found = "not simulated" if group is None else (
            f"{group['simulated']} rows, {group['mape']:.2f} % (target {target['mape']}), {group['coverage_80']:.1f} % in the interval "
            f"(target {target['coverage_80']})")
        print(f"{name}: {found}{': worse' if worse else ''}")
    for name in sorted(set(results) - set(targets)):
        print(f"{name}: no target; write it with --update")
        failed = True
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--shared", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write what is found as the new targets")
    options = parser.parse_args()
    table = options.shared / "truth" / "training.csv"
    if not table.exists():
        print(f"skipped: {table} is not there")
        return 77
    results = evaluated(options.program, table)
    if options.update:
        lines = [f"  {json.dumps(name)}: {json.dumps(rounded(group))}" for name, group in results.items()]
        TARGETS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 1 if compare(results, json.loads(TARGETS.read_text(encoding="utf-8"))) else 0


if __name__ == "__main__":
    sys.exit(main())
