#!/usr/bin/env python3
"""Generates the small kernel model and its predictions that a test compares on every machine.

Run it after the features or the fitting of kernel models have changed:

    tests/data/make_kernel_golden.py --program build/orrery

A few rows of data/measured/h200 are fitted to tests/data/kernels/small.orrmodel; the operators of
other rows, some of them beyond the measured sizes, and their times predicted by that model go to
tests/data/kernels/golden.csv, which orrery/kernel/machines_test.cc compares at 1e-6.
"""

import argparse
import csv
import io
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("gemm", "attention", "conv", "elementwise", "reduce", "layernorm", "embedding", "optimizer")
ROWS_OF_KIND = 56
OPERATORS_OF_KIND = 5
SIZES = re.compile(r"\b(m|sk|b|n|outer|rows|lookups)=(\d+)")


def unpacked(program, path):
    """The text of a table."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "table.csv"
        subprocess.run([program, "convert", path, copy], stdout=subprocess.DEVNULL, check=True)
        return copy.read_text(encoding="utf-8")


def read_rows(program):
    """Returns the header and, for each kind, its rows in the order of the files."""
    header, rows = [], {kind: [] for kind in KINDS}
    measured = ROOT / "data/measured/h200"
    for path in [*sorted(measured.glob("attention-*")), *sorted(measured.glob("kernels-*"))]:
        reader = csv.reader(io.StringIO(unpacked(program, path), newline=""))
        header = next(reader)
        for row in reader:
            kind = row[0].split()[0]
            if kind in rows:
                rows[kind].append(row)
    return header, rows


def spaced(rows, count):
    return rows[:: max(len(rows) // count, 1)][:count]


def enlarged(operator):
    """The operator with its first size 64 times as large and odd."""
    return SIZES.sub(lambda found: f"{found[1]}={int(found[2]) * 64 + 1}", operator, count=1)


def fit(program, header, rows, model):
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "rows.csv"
        with open(table, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            for kind in KINDS:
                writer.writerows(spaced(rows[kind], ROWS_OF_KIND))
        subprocess.run([program, "fit", "kernels", table, "--no-figures", "--max-spread", "100",
                        "-o", model], check=True)


def predict(program, model, operators):
    done = subprocess.run([program, "predict", "kernel", *operators, "--gpu", "h200", "--model",
                           model, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/orrery", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = ROOT / "tests/data/kernels"
    folder.mkdir(parents=True, exist_ok=True)
    header, rows = read_rows(arguments.program)
    fit(arguments.program, header, rows, folder / "small.orrmodel")
    operators = [row[0] for kind in KINDS for row in spaced(rows[kind][1:], OPERATORS_OF_KIND)]
    operators += [enlarged(operator) for operator in operators[::OPERATORS_OF_KIND]]
    kernels = predict(arguments.program, folder / "small.orrmodel", operators)
    with open(folder / "golden.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("operator", "seconds"))
        writer.writerows((kernel["operator"], repr(kernel["time_s"])) for kernel in kernels)


if __name__ == "__main__":
    main()
