"""Steps and peaks of memory of Megatron-LM's functional tests; half a minute.

Rows of one configuration (sizes, degrees, sharding) are in one half, whatever their machine and container: a hash decides which. Constants are
fitted to the fitted half (tools/fit_module_calls.py); the other one is held out. Steps of rows of grade C were disturbed and count for memory only.
"""

import functools
import hashlib
import statistics

from validation import SHARED, answer, rows_of, table

TRUTH = SHARED / "truth" / "megatron_golden.csv.gz"
NEEDS = (TRUTH,)
KEYS = ("hidden", "layers", "moe_experts", "tp", "pp", "chunks", "cp", "ep", "etp", "zero_fsdp", "seq_parallel")
HALVES = ("fitted", "held out")
WITHOUT = {"eager modules and calls between steps": ["has_eager_modules"], "what the log reads": ["logs_parameter_norm", "logs_gradient_zeros"],
           "a loss in place": ["loss_in_place"], "activations before their weights": ["weighs_in_experts"]}
WORST = 8


def configuration_of(row):
    cells = {**row, "moe_experts": row["moe_experts"] or "0", "chunks": row["chunks"] or "1", "zero_fsdp": row["zero_fsdp"][:5]}
    return "|".join(cells[key] for key in KEYS)


def half_of(row):
    """Of a configuration: 0 is fitted, 1 held out."""
    return hashlib.sha256(configuration_of(row).encode()).digest()[0] % 2


@functools.cache
def tests():
    return rows_of(TRUTH)


def rows_in(half, key=None, name=None):
    return [row for row in tests() if half_of(row) == half and (key is None or key(row) == name)]


def whole(program, *changes):
    """The program's answer on all tests, with changed properties of the framework."""
    return answer(program, "validate", TRUTH, *(word for change in changes for word in ("--set", f"framework.{change}")))


def predicted(program, *changes):
    """{id: prediction} of the rows that are simulated."""
    return {found["id"]: found for found in whole(program, *changes)["predictions"]}


def is_timed(row):
    return row["completeness"] != "C"


def time_errors(rows, found):
    return [100 * (found[row["id"]]["predicted_s"] / found[row["id"]]["measured_s"] - 1) for row in rows if is_timed(row) and row["id"] in found]


def memory_errors(rows, found):
    ones = [found[row["id"]] for row in rows if "measured_peak_bytes" in found.get(row["id"], {})]
    return [100 * (one["predicted_peak_bytes"] / one["measured_peak_bytes"] - 1) for one in ones]


def mean_size(errors):
    return statistics.fmean(map(abs, errors))


def figures(errors):
    """Rows, mean |error|, median, largest, bias."""
    if not errors:
        return [0, "", "", "", ""]
    sizes = [abs(error) for error in errors]
    return [len(sizes), *(f"{value:.1f}" for value in (mean_size(errors), statistics.median(sizes), max(sizes))), f"{statistics.fmean(errors):+.1f}"]


def group_of(row):
    name = row["model"].split(" (")[0]
    return "GPT with experts" if "MoE" in name else "GPT of 7B" if "4096" in name else name.split()[0]


def gpu_of(row):
    return next(name for name in ("GB200", "H100", "A100") if row["gpu"].startswith(name))


def grouped(program, title, key):
    """A line for each name and half."""
    found = predicted(program)
    names = [(key, name) for name in dict.fromkeys(map(key, tests()))] + [(None, "all")]
    lines = [(name, word, *figures(time_errors(rows, found)), *figures(memory_errors(rows, found)))
             for of, name in names for half, word in enumerate(HALVES) if (rows := rows_in(half, of, name))]
    heads = " | ".join(f">{kind}: {head}" for kind in ("step", "peak") for head in ("rows", "mean \\|error\\| %", "median %", "largest %", "bias %"))
    return table(f"{title} | half | {heads}", lines)


def kinds(program):
    return grouped(program, "tests", group_of)


def gpus(program):
    return grouped(program, "GPU", gpu_of)


def ablations(program):
    every = [key for keys in WITHOUT.values() for key in keys]
    lines = []
    for name, keys in {"nothing": [], **WITHOUT, "all of them": every}.items():
        found = predicted(program, *(f"{key}=false" for key in keys))
        lines.append((name, *(figures(of(rows_in(half), found))[1] for of in (time_errors, memory_errors) for half in (0, 1))))
    return table("without | " + " | ".join(f">{kind}, {half}: mean %" for kind in ("step", "peak") for half in HALVES), lines)


def worst_of(unit, digits, pairs):
    """The rows with the largest errors; `pairs` are of rows with what was measured and what is predicted."""
    for row, measured, guess in sorted(pairs, key=lambda pair: -abs(pair[2] / pair[1] - 1))[:WORST]:
        yield (row["id"], row["model"].split("(")[1].rstrip(")"), gpu_of(row), HALVES[half_of(row)], f"{measured:.{digits}f} {unit}",
               f"{guess:.{digits}f} {unit}", f"{100 * (guess / measured - 1):+.0f}")


def worst(program):
    pairs = [(row, found) for row in tests() if (found := predicted(program).get(row["id"]))]
    steps = [(row, found["measured_s"], found["predicted_s"]) for row, found in pairs if is_timed(row)]
    peaks = [(row, found["measured_peak_bytes"] / 1e9, found["predicted_peak_bytes"] / 1e9) for row, found in pairs if "measured_peak_bytes" in found]
    return table("row | case | GPU | half | >measured | >predicted | >error %", [*worst_of("s", 3, steps), *worst_of("GB", 2, peaks)])


def targets(program):
    times, peaks = (of(rows_in(1), predicted(program)) for of in (time_errors, memory_errors))
    found = whole(program)
    alarms = 100 * len(found["out_of_memory"]) / max(1, found["simulated"])
    values = (("step: mean \\|error\\|", mean_size(times), 20), ("peak: mean \\|error\\|", mean_size(peaks), 5), ("peak: largest", max(map(abs, peaks)), 15),
              ("out of memory, of all rows (all of them ran)", alarms, 1))
    return table("held-out half | >value % | >limit % | met", (
        (name, f"{value:.1f}", f"≤ {limit}", "yes" if value <= limit else "**no**") for name, value, limit in values))


def refusals(program):
    reasons = [refused["reason"] for refused in whole(program)["refused"]]
    return table(">rows | reason", [(reasons.count(reason), reason) for reason in dict.fromkeys(reasons)]
                 or [(0, "none of the tests that the table has is refused")])


TABLES = {"targets": targets, "kinds of tests": kinds, "GPUs": gpus, "ablations": ablations, "worst rows": worst, "refused": refusals}
