#!/usr/bin/env python3
"""Compares examples with the rows of tables of published runs that describe the same run: one description has one answer.

    tests/known_answers/check_examples.py --program build/orrery --shared ../shared

Each pair is a row and an example, with what differs between them as changes of the example's text. A row of a table that is not there is
skipped by name. Exit status: 0 all agree, 1 some differ.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PUBLISHED = ROOT / "data" / "published" / "training.csv"
RELATIVE = 1e-9

# The row, the example, and the changes of its text that make it the row's run: rows sum gradients in fp32 unless
# they say otherwise, where Megatron's command line says what it does.
PAIRS = (
    ("deepseekv3hard-0001", "deepseek-v3-2048-h800.yaml", ()),
    ("korthikantieta-0001", "gpt-22b-megatron.yaml",
     ((" --sequence-parallel", ""), ("--recompute-granularity selective", "--recompute-granularity full --recompute-method uniform"),
      ("--fp16", "--fp16 --accumulate-allreduce-grads-in-fp32"))),
    ("nvidiadgxcloud-0147", "llama3-70b-512-h100.yaml", (("  pp: 4\n", "  pp: 4\n  cp: 2\n"),)),
)


def answer(program, *arguments):
    """The output of a command as JSON; 3 means that something was not modelled, 4 that memory does not suffice."""
    done = subprocess.run([str(program), *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"check_examples: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def row_of(identity, tables):
    """The columns and cells of a row, from the first table that has it; None where none has."""
    for table in tables:
        if table.exists():
            with open(table, encoding="utf-8", newline="") as file:
                found = [row for row in csv.DictReader(file) if row["id"] == identity]
            if found:
                return found[0]
    return None


def predicted(program, row):
    """The row's step time."""
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "row.csv"
        with open(table, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, row.keys())
            writer.writeheader()
            writer.writerow(row)
        rows = answer(program, "validate", str(table))
    if rows["refused"]:
        sys.exit(f"check_examples: {row['id']} is refused: {rows['refused'][0]['reason']}")
    return rows["predictions"][0]["predicted_s"]


def changed(example, changes):
    """The text of an example after the changes."""
    text = (ROOT / "examples" / example).read_text(encoding="utf-8")
    for old, new in changes:
        if old not in text:
            sys.exit(f"check_examples: {example} has no '{old}'")
        text = text.replace(old, new)
    return text


def simulated(program, example, changes):
    """The step time of the changed example."""
    with tempfile.TemporaryDirectory() as folder:
        job = pathlib.Path(folder) / example
        job.write_text(changed(example, changes), encoding="utf-8")
        return answer(program, "simulate", str(job))["step_time_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--shared", required=True, type=pathlib.Path)
    options = parser.parse_args()
    failed = False
    for identity, example, changes in PAIRS:
        row = row_of(identity, (PUBLISHED, options.shared / "truth" / "training.csv"))
        if row is None:
            print(f"skipped: no table has {identity}")
            continue
        of_example = simulated(options.program, example, changes)
        of_row = predicted(options.program, row)
        differs = abs(of_example / of_row - 1) > RELATIVE
        failed = failed or differs
        print(f"{identity}: row {of_row:.9g} s, examples/{example}: {of_example:.9g} s{': differs' if differs else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
