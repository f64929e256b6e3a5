#!/usr/bin/env python3
"""Errors of step time and memory of fine-tuning runs by team and method: full, LoRA and QLoRA.

    tools/validate_fine_tuning.py [--program build/orrery] [--table ../shared/truth/finetune.csv] [--grades A,A-,B+,B,B-]

Nothing is fitted to these rows. Memory is compared with the column mem_gb, which sources read from different tools. Rows that cannot
be described are counted by reason. Ends with 77 where the table is not there.
"""

import argparse
import collections
import csv
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def method_of(row):
    options = row["options"].lower()
    kind = "QLoRA" if options.startswith(("qlora", "q-lora")) else "LoRA" if row["adapter_rank"] else "full"
    return kind + (", offload" if "activation offloading" in options else "")


def figures(errors):
    if not errors:
        return f'{"–":>6} {"–":>7} {"–":>7}'
    mape = statistics.mean(abs(error) for error in errors)
    return f"{mape:6.1f} {statistics.mean(errors):+7.1f} {max(errors, key=abs):+7.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "orrery"))
    parser.add_argument("--table", type=pathlib.Path, default=ROOT.parent / "shared" / "truth" / "finetune.csv")
    parser.add_argument("--grades", default="A,A-,B+,B,B-")
    options = parser.parse_args()
    if not options.table.is_file():
        print(f"validate_fine_tuning: {options.table} is not there", file=sys.stderr)
        return 77
    with open(options.table, encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.csv"
        subprocess.run([options.program, "validate", str(options.table), "--grade", options.grades, "--csv", str(out)],
                       check=False, stdout=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            predicted = list(csv.DictReader(file))
    groups = collections.defaultdict(lambda: {"rows": 0, "time": [], "memory": []})
    refused = collections.Counter()
    for row in predicted:
        truth = rows[row["id"]]
        group = groups[truth["team"], method_of(truth)]
        group["rows"] += 1
        if row["refused"]:
            refused[row["refused"]] += 1
            continue
        group["time"].append(float(row["error_percent"]))
        if truth["mem_gb"]:
            group["memory"].append(100 * (float(row["peak_gb"]) / float(truth["mem_gb"]) - 1))
    print(f'{"team":16} {"method":14} rows  simulated   time: MAPE, bias, largest   memory: MAPE, bias, largest (%)')
    for (team, method), group in sorted(groups.items()):
        print(f'{team:16} {method:14} {group["rows"]:4}  {len(group["time"]):9}   {figures(group["time"])}   {"":4}{figures(group["memory"])}')
    times = [error for group in groups.values() for error in group["time"]]
    memory = [error for group in groups.values() for error in group["memory"]]
    print(f'{"all":31} {len(predicted):4}  {len(times):9}   {figures(times)}   {"":4}{figures(memory)}')
    for reason, count in refused.most_common():
        print(f"{count:4} refused: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
