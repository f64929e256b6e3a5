"""Simulated against measured training steps, in sample (scoreboard.py has the errors of left-out stacks)."""

import pathlib
import statistics
import tempfile

from validation import SHARED, answer, cells, rows_of, run_json, table, write_rows

TRUTH = SHARED / "truth" / "training.csv"
UNFINISHED = SHARED / "truth" / "unfinished_runs.csv"
SINGLE = SHARED / "truth" / "single_gpu.csv"
NEUSIGHT = SHARED / "kernels" / "neusight" / "e2e_labels.csv"
NEEDS = (TRUTH, SINGLE, UNFINISHED, NEUSIGHT)
HEADLINE = ("A", "A-")
ERRORS = ("mape:.2f", "median:.2f", "max:.1f")
MOST_REASONS = 25
ODD_SHARE = 0.8  # of the backward pass, for a forward pass


def validate(program, path):
    return answer(program, "validate", path)


def headline(program):
    return answer(program, "validate", TRUTH, "--grade", ",".join(HEADLINE))


def met(is_met):
    return "yes" if is_met else "**no**"


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def errors_of(result):
    """{id of a row: error of its prediction in percent}."""
    return {row["id"]: 100 * (row["predicted_s"] / row["measured_s"] - 1) for row in result["predictions"]}


def statistics_of(num_rows, errors):
    sizes = [abs(error) for error in errors] or [float("nan")]
    return {"rows": num_rows, "simulated": len(errors), "mape": statistics.fmean(sizes), "median": statistics.median(sizes),
            "max": max(sizes)}


def statistics_of_rows(rows, errors):
    return statistics_of(len(rows), [errors[row["id"]] for row in rows if row["id"] in errors])


def is_headline(row):
    return row["completeness"] in HEADLINE


def from_source(*words):
    return lambda row: is_headline(row) and all(word in row["source"] for word in words)


def is_healthy_nanotron(row):
    return from_source("nanotron")(row) and (number(row["tp"]) or 1) <= 8 and (number(row["mfu_pct"]) or 0) > 10


# Targets: which rows, the largest mean error, the largest error of one row.
LIMITS = (
    ("Korthikanti et al., table 5", from_source("Korthikanti"), 4, 9),
    ("vTrain, one node", from_source("vTrain", "single-node"), 8, None),
    ("vTrain, 64 to 512 A100s", from_source("vTrain", "multi-node"), 12, None),
    ("MosaicML llm-foundry", from_source("llm-foundry"), 8, None),
    ("NVIDIA DGX Cloud", from_source("DGX Cloud"), 10, None),
    ("nanotron, TP ≤ 8 and MFU > 10 %", is_healthy_nanotron, 15, None),
)


def target_row(name, found, most, largest=None):
    is_met = found["mape"] <= most and (largest is None or found["max"] <= largest)
    limit = f"≤ {most}" + (f", none over {largest}" if largest else "")
    return (name, *cells(found, "rows", "simulated", "mape:.2f"), limit, *cells(found, "median:.2f", "max:.1f"), met(is_met))


def training_labels(program):
    """NeuSight's table without its inference rows, which are refused by design."""
    result = validate(program, NEUSIGHT)
    rows = result["rows"] - sum("inference" in row["reason"] for row in result["refused"])
    return statistics_of(rows, errors_of(result).values())


def targets(program):
    rows, errors = rows_of(TRUTH), errors_of(validate(program, TRUTH))
    found = [target_row(name, statistics_of_rows(list(filter(wanted, rows)), errors), most, largest)
             for name, wanted, most, largest in LIMITS]
    yield from table("rows of | >rows | >simulated | >MAPE % | >limit | >median % | >largest % | met",
                     [*found, target_row("NeuSight's training labels", training_labels(program), 9)])
    yield ""
    for name, wanted in (("all grades", rows), ("A and A-", list(filter(is_headline, rows)))):
        simulated = statistics_of_rows(wanted, errors)["simulated"]
        share = 100 * simulated / len(wanted)
        yield f"Simulated, {name}: {simulated} of {len(wanted)} rows, {share:.1f} % (target: 95 %): {met(share >= 95)}."


def sources(program):
    errors, groups = errors_of(validate(program, TRUTH)), {}
    for row in rows_of(TRUTH):
        groups.setdefault((row["source"], row["completeness"]), []).append(row)
    rows = []
    for place, of_place in sorted(groups.items()):
        found = statistics_of_rows(of_place, errors)
        rows.append((*place, *cells(found, "rows", "simulated"), *(cells(found, *ERRORS) if found["simulated"] else ["–"] * 3)))
    return table("source | grade | >rows | >simulated | >MAPE % | >median % | >largest %", rows)


def groups_by(title, key):
    """A table of the groups that `orrery validate` makes of the headline rows."""
    return lambda program: table(f"{title} | >rows | >MAPE % | >median % | >largest % | >bias %", (
        cells(group, "name", "simulated", *ERRORS, "bias:+.1f") for group in headline(program)[key]))


def refused_in(path):
    def refused(program):
        counts = {}
        for row in validate(program, path)["refused"]:
            counts.setdefault(row["reason"], []).append(row["id"])
        if not counts:
            yield "None."
            return
        ordered = sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))
        yield from table(">rows | reason | first", ((len(found), reason, found[0]) for reason, found in ordered[:MOST_REASONS]))
        if len(counts) > MOST_REASONS:
            yield from ("", f"… and {len(counts) - MOST_REASONS} other reasons.")
    return refused


def predictions_of(path, *columns):
    def predictions(program):
        given = {row["id"]: row for row in rows_of(path)}
        result = validate(program, path)
        errors = errors_of(result)
        return table(" | ".join(columns) + " | >measured s | >predicted s | >error %", (
            (*(given[row["id"]][column] for column in columns), *cells(row, "measured_s:.4g", "predicted_s:.4g"),
             f"{errors[row['id']]:+.1f}") for row in result["predictions"]))
    return predictions


def odd_labels(program):
    """Lists labels with an implausible forward pass. They are included in all numbers, and reported."""
    given = {row["id"]: row for row in rows_of(NEUSIGHT)}
    errors, shares = errors_of(validate(program, NEUSIGHT)), {}
    for name in errors:
        backward = number(given[name]["bwall_latency_ms"])
        if backward:
            shares[name] = number(given[name]["fw_latency_ms"]) / backward
    odd = {name: share for name, share in shares.items() if share > ODD_SHARE}
    named = ", ".join(f"{name} ({share:.2f})" for name, share in odd.items())
    rest = statistics.fmean(abs(error) for name, error in errors.items() if name not in odd)
    return (f"A backward pass has twice the GEMMs of the forward pass: the forward pass takes {statistics.median(shares.values()):.2f} of it "
            f"in the median of these labels. It takes more than {ODD_SHARE} in {len(odd)}: {named}. The reason is not stated. They are included "
            f"in all numbers here; the mean error of the others is {rest:.2f} %.")


def neusight(program):
    yield from predictions_of(NEUSIGHT, "device", "model", "seqlen", "batch", "option")(program)
    yield from ("", odd_labels(program))


def unfinished_rows():
    """Configurations without a result as published rows, modelled on a run of the same sweep and model that has one."""
    alike = {row["params_b"]: row for row in rows_of(TRUTH) if from_source("nanotron")(row)}
    for row in rows_of(UNFINISHED):
        batch = int(row["dp"]) * int(row["mbs"]) * int(row["grad_acc"])
        yield {**alike[row["params_b"]], **{key: row[key] for key in ("id", "n_gpus", "tp", "pp", "dp", "mbs")},
               "grad_accum": row["grad_acc"], "gbs": batch, "step_time_s": 1, "tokens_per_s": "", "zero_fsdp": f"ZeRO-{row['zero']}"}


def memory(program):
    ran, lost = headline(program)["simulated"], len(headline(program)["out_of_memory"])
    yield (f"Of {ran} rows of grade A and A- that ran, {lost} are predicted out of memory: {100 * lost / ran:.1f} % "
           f"(target: at most 2 %): {met(100 * lost / ran <= 2)}.")
    with tempfile.TemporaryDirectory() as folder:
        result = run_json(program, "validate", write_rows(pathlib.Path(folder) / "unfinished.csv", list(unfinished_rows())))
    yield (f"Of {result['rows']} configurations of the same sweep as nanotron's rows without a result "
           f"(`unfinished_runs.csv`: the cause is not stated), {result['simulated']} can be simulated and "
           f"{len(result['out_of_memory'])} are predicted out of memory: "
           f"{100 * len(result['out_of_memory']) / max(1, result['simulated']):.1f} %.")
    yield ""
    by_size, size_of = {}, {row["id"]: row["params_b"] for row in rows_of(UNFINISHED)}
    for row in result["predictions"]:
        by_size.setdefault(size_of[row["id"]], []).append(row["id"] in result["out_of_memory"])
    yield from table(">parameters, 10⁹ | >configurations without a result | >predicted out of memory | >%", (
        (size, len(found), sum(found), f"{100 * sum(found) / len(found):.0f}")
        for size, found in sorted(by_size.items(), key=lambda item: float(item[0]))))


TABLES = {
    "targets": targets, "sources": sources, "GPUs": groups_by("GPU", "gpus"), "scales": groups_by("scale", "scales"),
    "dimensions": groups_by("dimension of parallelism", "dimensions"), "memory": memory, "NeuSight": neusight,
    "single machines": predictions_of(SINGLE, "model", "gpu", "n_gpus", "seq_len", "precision", "framework"),
    "refused": refused_in(TRUTH), "refused on single machines": refused_in(SINGLE)}
