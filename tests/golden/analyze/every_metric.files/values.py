"""Prints each metric of `orrery analyze --list` with its value on the first sample that has one.

    values.py LIST CSV ...   the list, and a table of each sample, called by the sample
"""

import csv
import pathlib
import sys

listed, *tables = map(pathlib.Path, sys.argv[1:])
# An indented name is another one for the metric above it.
names = [line.split()[0] for line in listed.read_text().splitlines()[2:] if line and line[0] != " "]
values = {}
for table in tables:
    for row in csv.DictReader(table.open()):
        if row["status"] == "ok":
            values.setdefault(row["metric"], f"{float(row['value']):.6g} {row['unit']}".strip() + f", {table.stem}")
for name in names:
    print(f"{name}: {values.get(name, 'NO SAMPLE')}")
