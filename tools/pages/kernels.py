"""Kernel models on held-out rows; a quarter of an hour on two cores."""

import os
import pathlib
import tempfile

import validation
from validation import ROOT, cells, pooled, rows_of, run_json, table

SHARED = validation.SHARED / "kernels"
SERVED = SHARED / "aiconfigurator"
MEASURED = ROOT / "data" / "measured" / "h200"
OURS = sorted(path for path in MEASURED.glob("*.csv.*") if not path.name.startswith(("ceilings", "overlap")))
NEUSIGHT = [SHARED / "neusight" / f"{name}.csv.gz" for name in (
    "add", "addu", "bmm", "div", "divu", "gelu", "linear", "ln", "mul", "mulu", "pow", "powu", "relu", "softmax", "tanh", "conv")]
NEEDS = (SHARED,)
ERRORS = ">rows | >MAPE % | >GMAE % | >bias %"


def evaluate(program, files, *options):
    os.environ["OMP_WAIT_POLICY"] = "passive"
    return run_json(program, "evaluate", "kernels", *files, *options)


def is_met(found, mape, gmae):
    return found["mape"] <= mape and (gmae is None or found["gmae"] <= gmae)


def errors(found, mape=None, gmae=None):
    """With a limit on the mean error also the answer to whether it is met."""
    verdict = [] if mape is None else ["yes" if is_met(found, mape, gmae) else "no"]
    return [*cells(found, "rows", "mape:.2f", "gmae:.2f", "bias:+.1f"), *verdict]


def h200(program):
    result = evaluate(program, OURS, "--split", "random:20", "--max-spread", "10")
    of_operator, overall = pooled(result["groups"], "operator"), result["overall"]
    rows = [(*name, *errors(found, 8, 5)) for name, found in of_operator.items()]
    yield from table(f"operator | {ERRORS} | met", [*rows, ("**all**", *errors(overall, 8, 5))])
    yield ""
    met = sum(is_met(found, 8, 5) for found in of_operator.values())
    yield (f"{met} of {len(of_operator)} operators meet both targets. Median error of all rows "
           f"{overall['median']:.1f} %, 95th percentile {overall['p95']:.0f} %.")


def new_seed(program):
    """The shipped models on shapes that were drawn after the fit; none of them is in any other table."""
    result = evaluate(program, [MEASURED / "holdout" / "kernels-12.csv.orrtable"], "--max-spread", "10")
    return table(f"operator | {ERRORS} | MAPE ≤ 10 %", (
        (*name, *errors(found, 10)) for name, found in pooled(result["groups"], "operator").items()))


def values_of_m(program):
    rows = []
    for gpu in ("h200_sxm", "h100_sxm", "b200_sxm", "l40s", "a100_sxm"):
        for seed in (1, 2, 3) if gpu.startswith("h") else (1,):
            result = evaluate(program, [SERVED / f"{gpu}_gemm.csv.gz"], "--split", f"value:m:20:seed={seed}")
            rows.append((gpu, seed, *errors(result["overall"], 4, 2.5)))
    return table(f"GPU | seed | {ERRORS} | met", rows)


def serving_stacks(program):
    return table(f"GPU | operator | {ERRORS}", (
        (gpu, part, *errors(evaluate(program, [SERVED / f"{gpu}_{part}.csv.gz"], "--split", "random:20")["overall"]))
        for gpu in ("h200_sxm", "h100_sxm") for part in ("context_attention", "moe")))


def neusight(program):
    groups = evaluate(program, NEUSIGHT, "--split", "random:20")["groups"]
    of_gpu = pooled([group for group in groups if group["operator"] != "conv"], "gpu")
    found = {**pooled(groups, "operator", "gpu"), **{("**all but conv**", *gpu): of for gpu, of in of_gpu.items()}}
    return table(f"operator | GPU | {ERRORS} | met", (
        (name, gpu, *errors(of, 11 if gpu == "T4" else 7)) for (name, gpu), of in found.items()))


def unseen_gpu(program):
    groups = evaluate(program, NEUSIGHT, "--unseen-gpu")["groups"]
    found = {**pooled(groups, "operator", "gpu"), **{("**all**", *gpu): of for gpu, of in pooled(groups, "gpu").items()}}
    return table(f"operator | GPU | {ERRORS} | met", ((*place, *errors(of, 15)) for place, of in found.items()))


def falls(time_of_shape):
    """Counts pairs of a GEMM and its double, and the doubles that take less than 95 %."""
    pairs = fallen = 0
    for (dtype, *sizes), time in time_of_shape.items():
        for place in range(3):
            double = tuple(size * 2 if i == place else size for i, size in enumerate(sizes))
            if (dtype, *double) in time_of_shape:
                pairs += 1
                fallen += time_of_shape[(dtype, *double)] < 0.95 * time
    return pairs, fallen, f"{100 * fallen / pairs:.2f}"


def doubling(program):
    with tempfile.TemporaryDirectory() as folder:
        predictions = pathlib.Path(folder) / "predictions.csv"
        evaluate(program, [SERVED / "h200_sxm_gemm.csv.gz"], "--predictions", predictions)
        rows = rows_of(predictions)
    times = {"measured_us": {}, "predicted_us": {}}
    for row in rows:
        words = row["operator"].split()
        sizes = dict(word.split("=") for word in words if "=" in word)
        for column, of_shape in times.items():
            of_shape[(words[-1], *(int(sizes[key]) for key in "mnk"))] = float(row[column])
    return table("times | >pairs | >falls | >%", (
        ("measured", *falls(times["measured_us"])), ("predicted by the shipped models", *falls(times["predicted_us"]))))


TABLES = {"H200": h200, "new seed": new_seed, "values of m": values_of_m, "serving stacks": serving_stacks, "NeuSight": neusight,
          "unseen GPU": unseen_gpu, "doubling": doubling}
