#!/usr/bin/env python3
"""Compares examples with the rows of tables of published runs that describe the same run: one description has one answer.

    tests/known_answers/check_examples.py --program build/orrery --shared ../shared

Each pair is an example with what differs from the row, in words of `orrery simulate --set`, and the row. A row of a table that is not there is
skipped by name. Exit status: 0 all agree, 1 some differ.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PUBLISHED = ROOT / "data" / "published" / "training.csv"
RELATIVE = 1e-9

# The row, the words of its source, the example, and the settings that make it the row's run: rows sum gradients in fp32 unless they say
# otherwise, where Megatron's command line says what it does.
PAIRS = (
    ("deepseekv3hard-0001", "DeepSeek-V3", "deepseek-v3-2048-h800.yaml", ()),
    ("korthikantieta-0001", "Korthikanti", "gpt-22b-megatron.yaml",
     ("plan.recompute=full", "plan.sequence_parallel=false", "training.gradient_bytes=4")),
    ("nvidiadgxcloud-0147", "DGX Cloud", "llama3-70b-512-h100.yaml", ("plan.cp=2",)),
)


def answer(program, *arguments):
    """What a command prints as JSON; 3 means that something was not modelled, 4 that memory does not suffice."""
    done = subprocess.run([str(program), *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"check_examples: {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def predicted(program, table, source, identity):
    """The row's step time; None where the table has no such row."""
    rows = answer(program, "validate", str(table), "--source", source)
    found = [row for row in rows["predictions"] if row["id"] == identity]
    refused = [row["reason"] for row in rows["refused"] if row["id"] == identity]
    if refused:
        sys.exit(f"check_examples: {identity} is refused: {refused[0]}")
    return found[0]["predicted_s"] if found else None


def table_with(identity, tables):
    """The first table that has the row."""
    for table in tables:
        if table.exists() and f"\n{identity}," in table.read_text(encoding="utf-8"):
            return table
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--shared", required=True, type=pathlib.Path)
    options = parser.parse_args()
    failed = False
    for identity, source, example, changes in PAIRS:
        table = table_with(identity, (PUBLISHED, options.shared / "truth" / "training.csv"))
        if table is None:
            print(f"skipped: no table has {identity}")
            continue
        settings = [word for change in changes for word in ("--set", change)]
        of_example = answer(options.program, "simulate", str(ROOT / "examples" / example), *settings)["step_time_s"]
        of_row = predicted(options.program, table, source, identity)
        differs = abs(of_example / of_row - 1) > RELATIVE
        failed = failed or differs
        print(f"{identity}: row {of_row:.9g} s, examples/{example} {' '.join(changes)}: {of_example:.9g} s{': differs' if differs else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
