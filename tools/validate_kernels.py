#!/usr/bin/env python3
"""Evaluates kernel models on held-out rows and writes docs/validation/kernels.md.

tools/validate_kernels.py --program build/orrery --write docs/validation/kernels.md
Needs ../shared/kernels; takes about a quarter of an hour on two cores.
"""

import math
import os
import pathlib
import sys
import tempfile

import validation
from validation import ROOT, line

SHARED = validation.SHARED / "kernels"
OURS = sorted(path for path in (ROOT / "data" / "measured" / "h200").glob("*.csv.*")
              if not path.name.startswith(("ceilings", "overlap")))
NEW_SEED = ROOT / "data" / "measured" / "h200" / "holdout" / "kernels-12.csv.zst"
NEUSIGHT_NAMES = ["add", "addu", "bmm", "div", "divu", "gelu", "linear", "ln", "mul", "mulu", "pow",
                  "powu", "relu", "softmax", "tanh"]


def neusight(*names):
    return [SHARED / "neusight" / f"{name}.csv.gz" for name in names]


def evaluate(program, files, *options):
    environment = dict(os.environ, OMP_WAIT_POLICY="passive")
    return validation.run_json(program, "evaluate", "kernels", *files, *options, environment=environment)


def merged(groups, key):
    """Means over rows of groups with the same key; GMAE is merged as the mean of logarithms."""
    out = {}
    for group in groups:
        entry = out.setdefault(key(group), {"rows": 0, "mape": 0.0, "log": 0.0, "bias": 0.0})
        rows = group["rows"]
        entry["rows"] += rows
        entry["mape"] += rows * group["mape"]
        entry["log"] += rows * math.log(group["gmae"])
        entry["bias"] += rows * group["bias"]
    for entry in out.values():
        entry["mape"] /= entry["rows"]
        entry["gmae"] = math.exp(entry["log"] / entry["rows"])
        entry["bias"] /= entry["rows"]
    return out


def figures(entry, limit=None):
    cells = [str(entry["rows"]), f"{entry['mape']:.2f}", f"{entry['gmae']:.2f}",
             f"{entry['bias']:+.1f}"]
    if limit is not None:
        mape, gmae = limit
        met = entry["mape"] <= mape and (gmae is None or entry["gmae"] <= gmae)
        cells.append("yes" if met else "no")
    return cells


def ours(program):
    result = evaluate(program, OURS, "--split", "random:20", "--max-spread", "10")
    yield line("operator", "rows", "MAPE %", "GMAE %", "bias %", "met")
    yield "|---|---:|---:|---:|---:|---|"
    by_operator = merged(result["groups"], lambda group: group["operator"])
    for name, entry in sorted(by_operator.items()):
        yield line(name, *figures(entry, (8, 5)))
    met = sum(1 for entry in by_operator.values() if entry["mape"] <= 8 and entry["gmae"] <= 5)
    overall = result["overall"]
    yield line("**all**", *figures(overall, (8, 5)))
    yield ""
    yield (f"{met} of {len(by_operator)} operators meet both targets. Median error of all rows "
           f"{overall['median']:.1f} %, 95th percentile {overall['p95']:.0f} %.")


def new_seed(program):
    """The shipped models on shapes that were drawn after the fit; none of them is in any other table."""
    result = evaluate(program, [NEW_SEED], "--max-spread", "10")
    yield line("operator", "rows", "MAPE %", "GMAE %", "bias %", "MAPE ≤ 10 %")
    yield "|---|---:|---:|---:|---:|---|"
    for name, entry in sorted(merged(result["groups"], lambda group: group["operator"]).items()):
        yield line(name, *figures(entry, (10, None)))


def unseen_m(program):
    yield line("GPU", "seed", "rows", "MAPE %", "GMAE %", "bias %", "met")
    yield "|---|---|---:|---:|---:|---:|---|"
    for gpu in ("h200_sxm", "h100_sxm", "b200_sxm", "l40s", "a100_sxm"):
        for seed in (1, 2, 3) if gpu.startswith("h") else (1,):
            result = evaluate(program, [SHARED / "aiconfigurator" / f"{gpu}_gemm.csv.gz"],
                              "--split", f"value:m:20:seed={seed}")
            yield line(gpu, str(seed), *figures(result["overall"], (4, 2.5)))


def other_served(program):
    yield line("GPU", "operator", "rows", "MAPE %", "GMAE %", "bias %")
    yield "|---|---|---:|---:|---:|---:|"
    for gpu in ("h200_sxm", "h100_sxm"):
        for part in ("context_attention", "moe"):
            result = evaluate(program, [SHARED / "aiconfigurator" / f"{gpu}_{part}.csv.gz"],
                              "--split", "random:20")
            yield line(gpu, part, *figures(result["overall"]))


def neusight_table(program):
    result = evaluate(program, neusight(*NEUSIGHT_NAMES, "conv"), "--split", "random:20")
    yield line("operator", "GPU", "rows", "MAPE %", "GMAE %", "bias %", "met")
    yield "|---|---|---:|---:|---:|---:|---|"
    entries = merged(result["groups"], lambda group: (group["operator"], group["gpu"]))
    for (name, gpu), entry in sorted(entries.items()):
        yield line(name, gpu, *figures(entry, (11 if gpu == "T4" else 7, None)))
    without = [group for group in result["groups"] if group["operator"] != "conv"]
    for gpu, entry in sorted(merged(without, lambda group: group["gpu"]).items()):
        yield line("**all but conv**", gpu, *figures(entry, (11 if gpu == "T4" else 7, None)))


def unseen_gpu(program):
    result = evaluate(program, neusight(*NEUSIGHT_NAMES, "conv"), "--unseen-gpu")
    yield line("operator", "GPU", "rows", "MAPE %", "GMAE %", "bias %", "met")
    yield "|---|---|---:|---:|---:|---:|---|"
    entries = merged(result["groups"], lambda group: (group["operator"], group["gpu"]))
    for (name, gpu), entry in sorted(entries.items()):
        yield line(name, gpu, *figures(entry, (15, None)))
    for gpu, entry in sorted(merged(result["groups"], lambda group: group["gpu"]).items()):
        yield line("**all**", gpu, *figures(entry, (15, None)))


def falls(time_of_shape):
    """Counts pairs of a GEMM and its double, and the doubles that take less than 95 %."""
    pairs = fallen = 0
    for (dtype, *sizes), time in time_of_shape.items():
        for place in range(3):
            double = tuple(size * 2 if i == place else size for i, size in enumerate(sizes))
            if (dtype, *double) in time_of_shape:
                pairs += 1
                fallen += time_of_shape[(dtype, *double)] < 0.95 * time
    return pairs, fallen


def doubling(program):
    table = SHARED / "aiconfigurator" / "h200_sxm_gemm.csv.gz"
    with tempfile.TemporaryDirectory() as folder:
        predictions = pathlib.Path(folder) / "predictions.csv"
        evaluate(program, [table], "--predictions", str(predictions))
        rows = validation.rows_of(predictions)
    measured, predicted = {}, {}
    for row in rows:
        words = row["operator"].split()
        sizes = dict(word.split("=") for word in words if "=" in word)
        shape = (words[-1], *(int(sizes[key]) for key in "mnk"))
        measured[shape] = float(row["measured_us"])
        predicted[shape] = float(row["predicted_us"])
    yield line("times", "pairs", "falls", "%")
    yield "|---|---:|---:|---:|"
    for name, times in (("measured", measured), ("predicted by the shipped models", predicted)):
        pairs, fallen = falls(times)
        yield line(name, str(pairs), str(fallen), f"{100 * fallen / pairs:.2f}")


def main():
    parser = validation.parser(__doc__)
    parser.add_argument("--only", action="append", metavar="TABLE", help="this table (all); may be repeated")
    options = parser.parse_args()
    parts = {"H200": ours, "new seed": new_seed, "values of m": unseen_m, "serving stacks": other_served,
             "NeuSight": neusight_table, "unseen GPU": unseen_gpu, "doubling": doubling}
    tables = {}
    for name, part in parts.items():
        if name not in (options.only or parts):
            continue
        tables[name] = list(part(options.program))
        print(f"validate_kernels: {name} done", file=sys.stderr, flush=True)
    validation.fill(options.write, tables)


if __name__ == "__main__":
    main()
