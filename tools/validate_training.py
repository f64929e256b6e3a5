#!/usr/bin/env python3
"""Simulated against measured training steps, in sample: the tables of docs/validation/training.md and its plot.

tools/validate_training.py --program build/orrery [--write FILE]; needs ../shared. With --leave-out the table of
docs/validation/training-left-out.md instead (scoreboard.py has the errors of left-out stacks).
"""

import csv
import pathlib
import statistics
import sys
import tempfile

import validation
from validation import SHARED, line, rows_of

TRUTH = SHARED / "truth" / "training.csv"
UNFINISHED = SHARED / "truth" / "unfinished_runs.csv"
SINGLE = SHARED / "truth" / "single_gpu.csv"
NEUSIGHT = SHARED / "kernels" / "neusight" / "e2e_labels.csv"
HEADLINE = ("A", "A-")
MECHANISMS = ("power", "host_calls", "graphs", "receives", "user_buffers", "calibration")  # of `orrery validate --without`
ABLATED_ROWS = 24  # of a team, spread evenly: a refit for each mechanism would take too long with all


def validate(program, table, *options):
    return validation.run_json(program, "validate", table, *options)


def met(is_met):
    return "yes" if is_met else "**no**"


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


class Rows:
    """Rows of the truth with the errors of their predictions, in percent."""

    def __init__(self, result, table):
        self.cells = {row["id"]: row for row in rows_of(table)}
        self.errors = {p["id"]: 100 * (p["predicted_s"] / p["measured_s"] - 1) for p in result["predictions"]}

    def of(self, wanted):
        return [row for row in self.cells.values() if wanted(row)]

    def figures(self, rows):
        errors = [abs(self.errors[row["id"]]) for row in rows if row["id"] in self.errors]
        if not errors:
            return {"rows": len(rows), "simulated": 0, "mape": float("nan"), "median": float("nan"), "max": float("nan")}
        return {"rows": len(rows), "simulated": len(errors), "mape": statistics.fmean(errors),
                "median": statistics.median(errors), "max": max(errors)}


def is_headline(row):
    return row["completeness"] in HEADLINE


def from_source(*words):
    return lambda row: is_headline(row) and all(word in row["source"] for word in words)


def is_healthy_nanotron(row):
    return (from_source("nanotron")(row) and (number(row["tp"]) or 1) <= 8 and (number(row["mfu_pct"]) or 0) > 10)


# Targets: which rows, the largest mean error, the largest error of one row.
LIMITS = (
    ("Korthikanti et al., table 5", from_source("Korthikanti"), 4, 9),
    ("vTrain, one node", from_source("vTrain", "single-node"), 8, None),
    ("vTrain, 64 to 512 A100s", from_source("vTrain", "multi-node"), 12, None),
    ("MosaicML llm-foundry", from_source("llm-foundry"), 8, None),
    ("NVIDIA DGX Cloud", from_source("DGX Cloud"), 10, None),
    ("nanotron, TP ≤ 8 and MFU > 10 %", is_healthy_nanotron, 15, None),
)


def limits(rows, neusight):
    yield line("rows of", "rows", "simulated", "MAPE %", "limit", "median %", "largest %", "met")
    yield "|---|---:|---:|---:|---:|---:|---:|---|"
    for name, wanted, most, largest in LIMITS:
        figures = rows.figures(rows.of(wanted))
        is_met = figures["mape"] <= most and (largest is None or figures["max"] <= largest)
        limit = f"≤ {most}" + (f", none over {largest}" if largest else "")
        yield line(name, figures["rows"], figures["simulated"], f"{figures['mape']:.2f}", limit,
                   f"{figures['median']:.2f}", f"{figures['max']:.1f}", met(is_met))
    yield line("NeuSight's training labels", neusight["rows"], neusight["simulated"], f"{neusight['mape']:.2f}", "≤ 9",
               f"{neusight['median']:.2f}", f"{neusight['max']:.1f}", met(neusight["mape"] <= 9))
    everything = rows.figures(rows.of(lambda row: True))
    headline = rows.figures(rows.of(is_headline))
    yield ""
    for name, figures in (("all grades", everything), ("A and A-", headline)):
        share = 100 * figures["simulated"] / figures["rows"]
        yield (f"Simulated, {name}: {figures['simulated']} of {figures['rows']} rows, {share:.1f} % "
               f"(target: 95 %): {met(share >= 95)}.")


def by_source(rows):
    yield line("source", "grade", "rows", "simulated", "MAPE %", "median %", "largest %")
    yield "|---|---|---:|---:|---:|---:|---:|"
    groups = {}
    for row in rows.cells.values():
        groups.setdefault((row["source"], row["completeness"]), []).append(row)
    for (source, grade), found in sorted(groups.items()):
        figures = rows.figures(found)
        cells = [f"{figures['mape']:.2f}", f"{figures['median']:.2f}", f"{figures['max']:.1f}"]
        yield line(source, grade, figures["rows"], figures["simulated"], *(cells if figures["simulated"] else ["–"] * 3))


def groups(title, found):
    yield line(title, "rows", "MAPE %", "median %", "largest %", "bias %")
    yield "|---|---:|---:|---:|---:|---:|"
    for group in found:
        yield line(group["name"], group["simulated"], f"{group['mape']:.2f}", f"{group['median']:.2f}",
                   f"{group['max']:.1f}", f"{group['bias']:+.1f}")


def refused(result):
    counts = {}
    for row in result["refused"]:
        counts.setdefault(row["reason"], []).append(row["id"])
    if not counts:
        yield "None."
        return
    yield line("rows", "reason", "first")
    yield "|---:|---|---|"
    for reason, found in sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))[:25]:
        yield line(len(found), reason, found[0])
    if len(counts) > 25:
        yield ""
        yield f"… and {len(counts) - 25} other reasons."


def short_list(result, table, columns):
    cells = {row["id"]: row for row in rows_of(table)}
    yield line(*columns, "measured s", "predicted s", "error %")
    yield "|---" * len(columns) + "|---:|---:|---:|"
    for row in result["predictions"]:
        error = 100 * (row["predicted_s"] / row["measured_s"] - 1)
        yield line(*(cells[row["id"]][column] for column in columns), f"{row['measured_s']:.4g}",
                   f"{row['predicted_s']:.4g}", f"{error:+.1f}")


def odd_labels(result, table, most=0.8):
    """Lists labels with an implausible forward pass. They are included in all numbers, and reported."""
    cells = {row["id"]: row for row in rows_of(table)}
    shares = {}
    for row in result["predictions"]:
        backward = number(cells[row["id"]]["bwall_latency_ms"])
        if backward:
            shares[row["id"]] = number(cells[row["id"]]["fw_latency_ms"]) / backward
    odd = {name: share for name, share in shares.items() if share > most}
    rest = [abs(100 * (p["predicted_s"] / p["measured_s"] - 1)) for p in result["predictions"] if p["id"] not in odd]
    named = ", ".join(f"{name} ({share:.2f})" for name, share in odd.items())
    usual = statistics.median(shares.values())
    yield (f"A backward pass has twice the GEMMs of the forward pass: the forward pass takes {usual:.2f} of it in the "
           f"median of these labels. It takes more than {most} in {len(odd)}: {named}. The reason is not stated. They are included in all numbers here;"
           f" the mean error of the others is {statistics.fmean(rest):.2f} %.")


def unfinished_table(path):
    """Writes configurations without a result as published rows, modelled on a run of the same sweep and model that has one."""
    sweep = [row for row in rows_of(TRUTH) if from_source("nanotron")(row)]
    alike = {row["params_b"]: row for row in sweep}
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, sweep[0].keys())
        writer.writeheader()
        for row in rows_of(UNFINISHED):
            batch = int(row["dp"]) * int(row["mbs"]) * int(row["grad_acc"])
            changes = {"id": row["id"], "n_gpus": row["n_gpus"], "tp": row["tp"], "pp": row["pp"], "dp": row["dp"],
                       "mbs": row["mbs"], "grad_accum": row["grad_acc"], "gbs": batch, "step_time_s": 1,
                       "tokens_per_s": "", "zero_fsdp": f"ZeRO-{row['zero']}"}
            writer.writerow({**alike[row["params_b"]], **changes})


def memory(program, headline):
    ran, lost = headline["simulated"], len(headline["out_of_memory"])
    share = 100 * lost / ran
    yield (f"Of {ran} rows of grade A and A- that ran, {lost} are predicted out of memory: {share:.1f} % "
           f"(target: at most 2 %): {met(share <= 2)}.")
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "unfinished.csv"
        unfinished_table(table)
        result = validate(program, table)
    yield (f"Of {result['rows']} configurations of the same sweep as nanotron's rows without a result "
           f"(`unfinished_runs.csv`: the cause is not stated), {result['simulated']} can be simulated and "
           f"{len(result['out_of_memory'])} are predicted out of memory: "
           f"{100 * len(result['out_of_memory']) / max(1, result['simulated']):.1f} %.")
    yield ""
    by_size = {}
    size_of = {row["id"]: row["params_b"] for row in rows_of(UNFINISHED)}
    for row in result["predictions"]:
        by_size.setdefault(size_of[row["id"]], []).append(row["id"])
    yield line("parameters, 10⁹", "configurations without a result", "predicted out of memory", "%")
    yield "|---:|---:|---:|---:|"
    for size, found in sorted(by_size.items(), key=lambda item: float(item[0])):
        full = len(set(found) & set(result["out_of_memory"]))
        yield line(size, len(found), full, f"{100 * full / len(found):.0f}")


def thinned_truth(folder):
    """The table with at most ABLATED_ROWS headline rows of each team."""
    rows = [row for row in rows_of(TRUTH) if is_headline(row)]
    teams = {row["team"]: [other for other in rows if other["team"] == row["team"]] for row in rows}
    path = pathlib.Path(folder) / "training.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        for of_team in teams.values():
            count = min(ABLATED_ROWS, len(of_team))
            writer.writerows(of_team[i * len(of_team) // count] for i in range(count))
    return path


def ablations(program):
    """The effect of each mechanism on the errors of teams that were left out, all scalars fitted without it."""
    with tempfile.TemporaryDirectory() as folder:
        table = thinned_truth(folder)
        results = {"everything": validate(program, table, "--leave-team-out")}
        for mechanism in MECHANISMS:
            results[f"without {mechanism}"] = validate(program, table, "--leave-team-out", "--without", mechanism)
    names = [team["team"] for team in results["everything"]["teams"] if team["simulated"] >= 4]
    yield line("", *names)
    yield "|---|" + "---:|" * len(names)
    for name, result in results.items():
        errors = {team["team"]: team["mape"] for team in result["teams"]}
        yield line(name, *(f"{errors[team]:.2f}" for team in names))


def training_only(result):
    """NeuSight's table without its inference rows, which are refused by design."""
    errors = [abs(100 * (p["predicted_s"] / p["measured_s"] - 1)) for p in result["predictions"]]
    rows = result["rows"] - sum("inference" in row["reason"] for row in result["refused"])
    return {"rows": rows, "simulated": len(errors), "mape": statistics.fmean(errors),
            "median": statistics.median(errors), "max": max(errors)}


def tables(program, picture):
    everything, neusight, single = (validate(program, table) for table in (TRUTH, NEUSIGHT, SINGLE))
    headline = validate(program, TRUTH, "--grade", ",".join(HEADLINE), *(["--svg", picture] if picture else []))
    rows = Rows(everything, TRUTH)
    return {
        "targets": limits(rows, training_only(neusight)), "sources": by_source(rows),
        "GPUs": groups("GPU", headline["gpus"]), "scales": groups("scale", headline["scales"]),
        "dimensions": groups("dimension of parallelism", headline["dimensions"]), "memory": memory(program, headline),
        "NeuSight": [*short_list(neusight, NEUSIGHT, ("device", "model", "seqlen", "batch", "option")), "",
                     *odd_labels(neusight, NEUSIGHT)],
        "single machines": short_list(single, SINGLE, ("model", "gpu", "n_gpus", "seq_len", "precision", "framework")),
        "refused": refused(everything), "refused on single machines": refused(single)}


def main():
    parser = validation.parser(__doc__)
    parser.add_argument("--leave-out", action="store_true",
                        help="only the ablations: frameworks refitted without each team and each mechanism (15 minutes)")
    options = parser.parse_args()
    for table in (TRUTH, SINGLE, UNFINISHED, NEUSIGHT):
        if not table.exists():
            sys.exit(f"validate_training: {table} does not exist")
    if options.leave_out:
        found = {"ablations": ablations(options.program)}
    else:
        found = tables(options.program, str(options.write.with_suffix(".svg")) if options.write else None)
    validation.fill(options.write, found)


if __name__ == "__main__":
    main()
