#!/usr/bin/env python3
"""Steps and peaks of memory of Megatron-LM's functional tests: the tables of docs/validation/megatron-golden.md.

tools/validate_megatron_golden.py --program build/orrery [--write FILE]; needs ../shared; half a minute.
tools/validate_megatron_golden.py --program build/orrery --fit: the constants of the host that fit half of the configurations best:
module_calls and step_calls of data/workload/frameworks.yaml, host_ratio of data/hardware/clusters.yaml.

Rows of one configuration (sizes, degrees, sharding) are in one half, whatever their machine and container: a hash decides which. Constants are
fitted to the fitted half; the other one is held out. Steps of rows of grade C were disturbed and count for memory only.
"""

import hashlib
import json
import math
import statistics
import sys

import validation
from validation import SHARED, line

TRUTH = SHARED / "truth" / "megatron_golden.csv.gz"
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


def predicted(program, rows, *changes):
    """{id: prediction} of the rows that are simulated, and the whole answer."""
    settings = [word for change in changes for word in ("--set", f"framework.{change}")]
    answer = validation.run_json(program, "validate", TRUTH, *settings)
    by_id = {found["id"]: found for found in answer["predictions"]}
    return {row["id"]: by_id[row["id"]] for row in rows if row["id"] in by_id}, answer


def is_timed(row):
    return row["completeness"] != "C"


def time_errors(rows, found):
    return [100 * (found[row["id"]]["predicted_s"] / found[row["id"]]["measured_s"] - 1) for row in rows if is_timed(row) and row["id"] in found]


def memory_errors(rows, found):
    errors = []
    for row in rows:
        one = found.get(row["id"], {})
        if "measured_peak_bytes" in one:
            errors.append(100 * (one["predicted_peak_bytes"] / one["measured_peak_bytes"] - 1))
    return errors


def figures(errors):
    """Rows, mean |error|, median, largest, bias."""
    if not errors:
        return [0, "", "", "", ""]
    sizes = [abs(error) for error in errors]
    return [len(sizes), f"{statistics.fmean(sizes):.1f}", f"{statistics.median(sizes):.1f}", f"{max(sizes):.1f}", f"{statistics.fmean(errors):+.1f}"]


def group_of(row):
    name = row["model"].split(" (")[0]
    return "GPT with experts" if "MoE" in name else "GPT of 7B" if "4096" in name else name.split()[0]


def gpu_of(row):
    return next(name for name in ("GB200", "H100", "A100") if row["gpu"].startswith(name))


HEADER = ("rows", "mean \\|error\\| %", "median %", "largest %", "bias %")


def table_of(title, names, errors_of):
    """A line for each name and half."""
    yield line(title, "half", *(f"step: {cell}" for cell in HEADER), *(f"peak: {cell}" for cell in HEADER))
    yield "|---|---|" + "---:|" * 10
    for name in names:
        for half, word in enumerate(HALVES):
            times, peaks = errors_of(name, half)
            if times or peaks:
                yield line(name, word, *figures(times), *figures(peaks))


def grouped(title, rows, found, key):
    def errors_of(name, half):
        chosen = [row for row in rows if half_of(row) == half and (name == "all" or key(row) == name)]
        return time_errors(chosen, found), memory_errors(chosen, found)

    return list(table_of(title, [*dict.fromkeys(key(row) for row in rows), "all"], errors_of))


def ablations(program, rows, found):
    yield line("without", *(f"step, {half}: mean %" for half in HALVES), *(f"peak, {half}: mean %" for half in HALVES))
    yield "|---|---:|---:|---:|---:|"
    every = [key for keys in WITHOUT.values() for key in keys]
    for name, keys in {"nothing": [], **WITHOUT, "all of them": every}.items():
        other = predicted(program, rows, *(f"{key}=false" for key in keys))[0] if keys else found
        cells = [figures(of([row for row in rows if half_of(row) == half], other))[1] for of in (time_errors, memory_errors) for half in (0, 1)]
        yield line(name, *cells)


def worst(rows, found):
    yield line("row", "case", "GPU", "half", "measured", "predicted", "error %")
    yield "|---|---|---|---|---:|---:|---:|"
    timed = [row for row in rows if is_timed(row) and row["id"] in found]
    for kind, chosen, digits in (("s", timed, 3), ("GB", [row for row in rows if "measured_peak_bytes" in found.get(row["id"], {})], 2)):
        def pair(row, kind=kind):
            one = found[row["id"]]
            return (one["measured_s"], one["predicted_s"]) if kind == "s" else (one["measured_peak_bytes"] / 1e9, one["predicted_peak_bytes"] / 1e9)
        for row in sorted(chosen, key=lambda row: -abs(pair(row)[1] / pair(row)[0] - 1))[:WORST]:
            measured, guess = pair(row)
            yield line(row["id"], row["model"].split("(")[1].rstrip(")"), gpu_of(row), HALVES[half_of(row)], f"{measured:.{digits}f} {kind}",
                       f"{guess:.{digits}f} {kind}", f"{100 * (guess / measured - 1):+.0f}")


def targets(rows, found, answer):
    held = [row for row in rows if half_of(row) == 1]
    times, peaks = time_errors(held, found), memory_errors(held, found)
    alarms = 100 * len(answer["out_of_memory"]) / max(1, answer["simulated"])
    yield line("held-out half", "value %", "limit %", "met")
    yield "|---|---:|---:|---|"
    for name, value, limit in (("step: mean \\|error\\|", statistics.fmean(map(abs, times)), 20), ("peak: mean \\|error\\|", statistics.fmean(map(abs, peaks)), 5),
                               ("peak: largest", max(map(abs, peaks)), 15), ("out of memory, of all rows (all of them ran)", alarms, 1)):
        yield line(name, f"{value:.1f}", f"≤ {limit}", "yes" if value <= limit else "**no**")


def refusals(answer):
    yield line("rows", "reason")
    yield "|---:|---|"
    reasons = [refused["reason"] for refused in answer["refused"]]
    for reason in dict.fromkeys(reasons):
        yield line(reasons.count(reason), reason)
    if not reasons:
        yield line(0, "none of the tests that the table has is refused")


def fit(program, rows):
    """Steps that the host decides grow evenly with its calls, so that three predictions of each row tell all others."""
    rows = [row for row in rows if half_of(row) == 0 and is_timed(row)]
    catalogue = (validation.ROOT / "data" / "hardware" / "clusters.yaml").read_text(encoding="utf-8")
    shipped = float(catalogue.split("name: DGX A100\n", 1)[1].split("host_ratio: ", 1)[1].split()[0])
    none, many, step = (predicted(program, rows, f"module_calls={modules}", f"step_calls={steps}")[0] for modules, steps in ((0, 0), (10, 0), (0, 2000)))
    parts = {row["id"]: (none[row["id"]]["predicted_s"], (many[row["id"]]["predicted_s"] - none[row["id"]]["predicted_s"]) / 10,
                         (step[row["id"]]["predicted_s"] - none[row["id"]]["predicted_s"]) / 2000) for row in rows if row["id"] in none}

    def error(modules, steps, ratio):
        """The mean |logarithm| of predicted over measured of configurations, each of which counts once: their tests differ little."""
        sizes = {}
        for row in rows:
            if row["id"] in parts:
                fixed, module, between = parts[row["id"]]
                factor = ratio / shipped if gpu_of(row) == "A100" else 1
                size = abs(math.log((fixed + factor * (modules * module + steps * between)) / none[row["id"]]["measured_s"]))
                sizes.setdefault(configuration_of(row), []).append(size)
        return statistics.fmean(statistics.fmean(found) for found in sizes.values())

    best = min((error(modules, 100 * steps, ratio / 20), modules, 100 * steps, ratio / 20)
               for modules in range(4, 17) for steps in range(0, 42, 2) for ratio in range(18, 36))
    print(json.dumps({"mean_log_error": round(best[0], 4), "module_calls": best[1], "step_calls": best[2], "host_ratio of DGX A100": best[3], "rows": len(parts)}))


def main():
    parser = validation.parser(__doc__)
    parser.add_argument("--fit", action="store_true", help="print the constants that fit the fitted half best")
    options = parser.parse_args()
    if not TRUTH.exists():
        sys.exit(f"validate_megatron_golden: {TRUTH} does not exist")
    rows = validation.rows_of(TRUTH)
    if options.fit:
        fit(options.program, rows)
        return
    found, answer = predicted(options.program, rows)
    validation.fill(options.write, {"targets": list(targets(rows, found, answer)), "kinds of tests": grouped("tests", rows, found, group_of),
                                    "GPUs": grouped("GPU", rows, found, gpu_of), "ablations": list(ablations(options.program, rows, found)),
                                    "worst rows": list(worst(rows, found)), "refused": list(refusals(answer))})


if __name__ == "__main__":
    main()
