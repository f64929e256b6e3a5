#!/usr/bin/env python3
"""Predicted against measured collectives: the tables of docs/validation/collectives.md.

tools/validate_collectives.py --program build/orrery [--write FILE]; needs ../shared.
"""

import csv
import pathlib
import sys
import tempfile

import validation
from validation import SHARED, line

TRUTH = SHARED / "truth" / "nccl.csv"
TABLES = sorted((SHARED / "kernels" / "aiconfigurator").glob("*_nccl.csv.gz"))


def evaluate(program, files, *options):
    return validation.run_json(program, "evaluate", "collectives", *files, *options)


def mean(groups, figure):
    rows = sum(group["rows"] for group in groups)
    return sum(group[figure] * group["rows"] for group in groups) / rows


def by(groups, *keys):
    found = {}
    for group in groups:
        found.setdefault(tuple(group[key] for key in keys), []).append(group)
    return sorted(found.items())


def met(is_met):
    return "yes" if is_met else "no"


def in_sample(program):
    yield line("machine", "source", "GPUs", "rows ≥ 4 MB", "MAPE %", "met", "rows", "median %, all sizes", "met")
    yield "|---|---|---|---:|---:|---|---:|---:|---|"
    large = dict(by(evaluate(program, [TRUTH, *TABLES], "--min-bytes", "4000000")["groups"], "machine", "source"))
    for (machine, source), groups in by(evaluate(program, [TRUTH, *TABLES])["groups"], "machine", "source"):
        rows = large.get((machine, source), [])
        gpus = sorted({group["gpus"] for group in groups})
        mape = mean(rows, "mape") if rows else float("nan")
        median = mean(groups, "median")
        yield line(machine, source, f"{gpus[0]}–{gpus[-1]}" if len(gpus) > 1 else gpus[0],
                   sum(group["rows"] for group in rows), f"{mape:.1f}", met(mape <= 6),
                   sum(group["rows"] for group in groups), f"{median:.1f}", met(median <= 12))


def only_echo(folder):
    path = pathlib.Path(folder) / "echo.csv"
    rows = validation.rows_of(TRUTH)
    with open(path, "w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, rows[0].keys())
        writer.writeheader()
        writer.writerows(row for row in rows if row["source"].startswith("Echo"))
    return path


def more_gpus(program):
    yield line("from", "rows", "MAPE %", "median %", "bias %", "met")
    yield "|---|---:|---:|---:|---:|---|"
    with tempfile.TemporaryDirectory() as folder:
        echo = only_echo(folder)
        for name, least, limit in (("4 MB", "4000000", 6), ("1 KB", "1024", None)):
            overall = evaluate(program, [echo], "--split", "above:gpus:16", "--min-bytes", least)["overall"]
            yield line(name, overall["rows"], f"{overall['mape']:.1f}", f"{overall['median']:.1f}",
                       f"{overall['bias']:+.1f}", "–" if limit is None else met(overall["mape"] <= limit))


def inside_a_node(program):
    yield line("machine", "collective", "rows", "2 GPUs %", "4 GPUs %", "8 GPUs %", "MAPE %", "met")
    yield "|---|---|---:|---:|---:|---:|---:|---|"
    groups = evaluate(program, TABLES, "--min-bytes", "1000000")["groups"]
    for (machine, collective), found in by(groups, "machine", "collective"):
        mape = mean(found, "mape")
        yield line(machine, collective, sum(group["rows"] for group in found),
                   *(f"{group['mape']:.1f}" for group in sorted(found, key=lambda group: group["gpus"])),
                   f"{mape:.1f}", met(mape <= 8))


def unseen_sizes(program):
    yield line("machine", "source", "rows", "MAPE %")
    yield "|---|---|---:|---:|"
    groups = evaluate(program, [TRUTH, *TABLES], "--split", "random:20", "--min-bytes", "4000000")["groups"]
    for (machine, source), found in by(groups, "machine", "source"):
        yield line(machine, source, sum(group["rows"] for group in found), f"{mean(found, 'mape'):.1f}")


def unseen_machines(program):
    """Each machine by the constants of the others: the constants of a machine without measurements."""
    yield line("machine", "source", "rows ≥ 1 MB", "MAPE %", "bias %")
    yield "|---|---|---:|---:|---:|"
    tables = [TRUTH, TRUTH.with_name("nccl_multi.csv"), *TABLES]
    groups = evaluate(program, tables, "--unseen-machine", "--min-bytes", "1000000")["groups"]
    errors = []
    for (machine, source), found in by(groups, "machine", "source"):
        errors.append(mean(found, "mape"))
        yield line(machine, source, sum(group["rows"] for group in found), f"{errors[-1]:.1f}", f"{mean(found, 'bias'):+.1f}")
    yield line("mean", "", "", f"{sum(errors) / len(errors):.1f}", "")


def never_fitted(program):
    yield line("machine used", "collective", "GPUs", "rows", "MAPE %", "median %", "bias %")
    yield "|---|---|---:|---:|---:|---:|---:|"
    table = SHARED / "kernels" / "collectives" / "pipeweave.csv.gz"
    for group in evaluate(program, [table], "--min-bytes", "4000000")["groups"]:
        yield line(group["machine"], group["collective"], group["gpus"], group["rows"], f"{group['mape']:.1f}",
                   f"{group['median']:.1f}", f"{group['bias']:+.1f}")


def main():
    options = validation.parser(__doc__).parse_args()
    if not TRUTH.exists():
        sys.exit(f"validate_collectives: {TRUTH} is not there")
    parts = {"in-sample": in_sample, "more GPUs": more_gpus, "inside a node": inside_a_node, "held-out sizes": unseen_sizes,
             "machines left out": unseen_machines, "machines without a fit": never_fitted}
    validation.fill(options.write, {name: part(options.program) for name, part in parts.items()})


if __name__ == "__main__":
    main()
