#!/usr/bin/env python3
"""The table of published runs that the program is built with: data/published/training.csv from ../shared/truth/training.csv.

    tools/select_published_runs.py [--table ../shared/truth/training.csv] [--out data/published/training.csv] [--check]

The selection is by publication, never by row: whoever wants to know how good predictions are must not choose the rows. Publications are
those whose numbers may be passed on: papers, of which numbers are taken, and tables under licences that allow copies. Columns are
those that describe a run, and where its numbers stand. --check compares and writes nothing; ends with 77 where the table is not there.
"""

import argparse
import csv
import io
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Source by source: what allows its rows to be passed on.
PUBLICATIONS = {
    "Megatron-LM SC'21 (2104.04473)": "numbers of a paper",
    "MT-NLG 530B (2201.11990)": "numbers of a paper",
    "GPT-NeoX-20B (2204.06745)": "numbers of a paper",
    "Korthikanti et al. (2205.05198)": "numbers of a paper",
    "MegaScale (2402.15627)": "numbers of a paper",
    "Nemotron-4 15B (2402.16819)": "numbers of a paper",
    "Llama 3 paper (2407.21783)": "numbers of a paper",
    "DeepSeek-V3 hardware paper (ISCA25, 2505.09343)": "numbers of a paper",
    "IBM fms-fsdp README": "Apache-2.0",
    "HF Ultra-Scale Playbook figures": "Apache-2.0",
}
# Columns that nothing reads and that are not needed to find a number again.
OMITTED = ("notes", "options", "recipe_ref", "recipe_certainty", "framework_version", "vpp", "grad_accum")


def selected(table):
    """The rows of the publications as text, without columns that none of them fills."""
    with open(table, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["source"] in PUBLICATIONS]
    missing = sorted(set(PUBLICATIONS) - {row["source"] for row in rows})
    if missing:
        sys.exit(f"select_published_runs: {table} has no rows of {', '.join(missing)}")
    columns = [name for name in rows[0] if name not in OMITTED and any(row[name] for row in rows)]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=pathlib.Path, default=ROOT.parent / "shared" / "truth" / "training.csv")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data" / "published" / "training.csv")
    parser.add_argument("--check", action="store_true", help="only say whether the file is what would be written")
    options = parser.parse_args()
    if not options.table.exists():
        print(f"skipped: {options.table} is not there")
        return 77
    text = selected(options.table)
    if options.check:
        is_same = options.out.read_text(encoding="utf-8") == text
        print(f"{options.out.name}: {'as selected' if is_same else 'differs: run tools/select_published_runs.py'}")
        return 0 if is_same else 1
    options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
