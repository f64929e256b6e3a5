"""Step time and memory of fine-tuning runs by team and method, of training on GPUs of AMD, and on an Ascend of which no kernel was measured.

Nothing is fitted to these rows. Memory is compared with the column mem_gb, which sources read from different tools.
"""

import collections
import functools
import pathlib
import statistics
import tempfile

from validation import GRADES, SHARED, answer, rows_of, run, table

TRUTH = SHARED / "truth"
FINE_TUNING, ASCEND, TRAINING = TRUTH / "finetune.csv", TRUTH / "ascend.csv", TRUTH / "training.csv"
NEEDS = (FINE_TUNING, ASCEND, TRAINING)
ALL_GRADES = f"{GRADES},B,B-"
BY_METHOD = "team | method | >rows | >mean \\|error\\| % | >median % | >largest % | >bias %"
ERRORS = ">rows | >simulated | >mean \\|error\\| % | >median % | >largest % | >bias % | >in the 80 % interval %"


def method_of(row):
    options = row["options"].lower()
    kind = "QLoRA" if options.startswith(("qlora", "q-lora")) else "LoRA" if row["adapter_rank"] else "full"
    return kind + (", offload" if "activation offloading" in options else "")


@functools.cache
def fine_tuned(program):
    """Rows of the table with their predictions, by id."""
    with tempfile.TemporaryDirectory() as folder:
        predicted = pathlib.Path(folder) / "rows.csv"
        run(program, "validate", FINE_TUNING, "--grade", ALL_GRADES, "--csv", predicted)
        found = {row["id"]: row for row in rows_of(predicted)}
    return [(row, found[row["id"]]) for row in rows_of(FINE_TUNING) if row["id"] in found]


def errors(values):
    """Rows, mean |error|, median, largest, bias."""
    if not values:
        return [0, *4 * ["–"]]
    sizes = [abs(value) for value in values]
    return [len(values), f"{statistics.fmean(sizes):.1f}", f"{statistics.median(sizes):.1f}", f"{max(values, key=abs):+.0f}", f"{statistics.fmean(values):+.1f}"]


def by_method(pairs_of_errors):
    """Lines by team and method, then all; `pairs_of_errors` yields rows of the table and their error in percent."""
    groups = collections.defaultdict(list)
    for row, error in pairs_of_errors:
        groups[row["team"], method_of(row)].append(error)
    every = [error for group in groups.values() for error in group]
    return [(*name, *errors(group)) for name, group in sorted(groups.items())] + [("all", "", *errors(every))]


def steps(program):
    return table(BY_METHOD, by_method(
        (row, float(found["error_percent"])) for row, found in fine_tuned(program) if not found["refused"]))


def measured_gb(row):
    """Of one GPU."""
    return float(row["mem_gb"]) / (int(row["n_gpus"]) if "memory is the sum over GPUs" in row["notes"] else 1)


def memory(program):
    return table(BY_METHOD, by_method(
        (row, 100 * (float(found["peak_gb"]) / measured_gb(row) - 1)) for row, found in fine_tuned(program)
        if row["mem_gb"] and not found["refused"]))


def line_of(name, found):
    whole = [name, found["rows"], found["simulated"]]
    return [*whole, *(f"{found[key]:.1f}" for key in ("mape", "median", "max")), f"{found['bias']:+.1f}", f"{found['coverage_80']:.0f}"]


def intervals(program):
    found = answer(program, "validate", FINE_TUNING, "--grade", ALL_GRADES)
    lines = [line_of(team["team"], team) for team in found["teams"]]
    return table(f"team | {ERRORS}", [*lines, line_of("all", found)])


def ascend(program):
    found = answer(program, "validate", ASCEND)
    return table(f"rows of | {ERRORS}", [line_of("all", found), *(line_of(scale["name"], scale) for scale in found["scales"])])


def amd(program):
    """Rows on GPUs of AMD; only their teams are predicted, since the whole table takes minutes."""
    rows = {row["id"]: row for row in rows_of(TRAINING) if "Instinct" in row["gpu"]}
    teams = ",".join(sorted({row["team"] for row in rows.values()}))
    found = answer(program, "validate", TRAINING, "--grade", ALL_GRADES, "--team", teams)
    return table("row | team | GPU | model | >measured s | >predicted s | >80 % interval | >error %", (
        (one["id"], rows[one["id"]]["team"], rows[one["id"]]["gpu"], rows[one["id"]]["model"], f"{one['measured_s']:.3f}", f"{one['predicted_s']:.3f}",
         f"{one['low_s']:.3f}–{one['high_s']:.3f}", f"{100 * (one['predicted_s'] / one['measured_s'] - 1):+.0f}")
        for one in found["predictions"] if one["id"] in rows))


def refused(program):
    reasons = collections.Counter(found["refused"] for _, found in fine_tuned(program) if found["refused"])
    reasons.update(one["reason"] for one in answer(program, "validate", ASCEND)["refused"])
    return table(">rows | reason", ((count, reason) for reason, count in reasons.most_common()))


TABLES = {"steps": steps, "memory": memory, "intervals": intervals, "AMD": amd, "Ascend": ascend, "refused": refused}
