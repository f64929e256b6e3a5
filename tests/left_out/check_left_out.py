#!/usr/bin/env python3
"""Fails where predictions of a team that was left out of every fit got worse than marks.json beside this file says.

    tests/left_out/check_left_out.py --program build/orrery --shared ../shared

marks.json has the mean |error| in percent and the share inside of the 80 % interval of each team, as they were when they were last
improved; a change that makes them better by more than the margin should lower them. Ends with 77 without ../shared.
"""

import argparse
import json
import pathlib
import subprocess
import sys

MARGIN = 0.3  # points of the mean error
INTERVAL_MARGIN = 2  # points of the share


def judged(program, table, teams):
    """The teams of one run that fits once and leaves each of them out."""
    command = [str(program), "validate", str(table), "--grade", "A,A-,B+", "--team", ",".join(teams), "--leave-team-out", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"check_left_out: {done.stderr.strip()}")
    return {team["team"]: team for team in json.loads(done.stdout)["teams"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--shared", required=True, type=pathlib.Path)
    options = parser.parse_args()
    table = options.shared / "truth" / "training.csv"
    if not table.exists():
        print(f"skipped: {table} is not there")
        return 77
    failed = False
    marks = json.loads((pathlib.Path(__file__).parent / "marks.json").read_text(encoding="utf-8"))
    results = judged(options.program, table, marks)
    for team, mark in marks.items():
        result = results[team]
        is_worse = result["mape"] > mark["mape"] + MARGIN or result["coverage_80"] < mark["coverage_80"] - INTERVAL_MARGIN
        failed = failed or is_worse
        print(f"{team}: {result['mape']:.2f} % (mark {mark['mape']}), {result['coverage_80']:.0f} % in the interval "
              f"(mark {mark['coverage_80']}){': worse' if is_worse else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
