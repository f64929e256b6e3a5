#!/usr/bin/env python3
"""Accuracy of the overlap prediction: pairs on the H200, and DDP steps on eight A100s compared with Echo's publication.

tools/validate_overlap.py --program build/orrery [--write FILE]: the tables of docs/validation/overlap.md between its comments.
"""

import pathlib
import statistics
import tempfile

import validation
from validation import ROOT, line

JOBS = ROOT / "examples" / "ddp-8xa100"
MEASURED = ROOT / "data" / "measured" / "h200"
PAIRS = [MEASURED / f"overlap-{number}.csv.zst" for number in (1, 2)]
LATER_PAIRS = MEASURED / "overlap-3.csv.zst"  # nothing is fitted to it
COUNTERS = MEASURED / "overlap-counters-1.csv.zst"
MODEL = ROOT / "data" / "models" / "overlap.orrmodel"
HELD_OUT = ("kernel", "width", "pattern", "place", "row")
SPLITS = (7, 11, 12, 13)  # the model was developed with the first

GPUS = 8
DIVISORS = (1, 8)  # of the samples per GPU: as in the example, and an eighth

# arXiv 2412.12487: step with overlap over step without.
PUBLISHED = {"bert-large": 1.391, "gpt2": 1.481, "vgg19": 1.377, "resnet152": 1.435}


def simulate(program, job, *options):
    return validation.run_json(program, "simulate", job, *options)


def compute_seconds(answer):
    return sum(seconds for key, seconds in answer["breakdown_s"].items() if key.startswith("compute."))


def ratio(over, under):
    return f"{over / under:.3f}" if under > 0 else "–"


def batch_of(job):
    text = job.read_text(encoding="utf-8")
    return int(text.split("micro_batch:")[1].split(",")[0])


class Steps:
    """One job with `batch` samples on each of its GPUs, simulated without communication and with it in three overlap modes."""

    def __init__(self, program, name, divisor):
        job = JOBS / f"{name}.yaml"
        self.batch = max(1, batch_of(job) // divisor)
        settings = ["--set", f"training.micro_batch={self.batch}", "--set"]
        self.alone = simulate(program, job, *settings, f"training.global_batch={self.batch}", "--set", "gpus=1")
        settings += [f"training.global_batch={GPUS * self.batch}"]
        self.none, self.analytic, self.model = (
            simulate(program, job, *settings, "--overlap", kind) for kind in ("none", "analytic", "model"))

    def moving_s(self):
        return sum(total["transfer_s"] for total in self.none["communication"])

    def cells(self):
        held_up = self.model["held_up"]
        none = self.none["step_time_s"]
        model = self.model["step_time_s"]
        return (
            self.batch,
            f"{1e3 * self.alone['step_time_s']:.1f}",
            f"{1e3 * none:.1f}",
            f"{1e3 * self.moving_s():.1f}",
            ratio(self.analytic["step_time_s"], none),
            ratio(model, none),
            ratio(model, self.alone["step_time_s"]),
            ratio(held_up["kernels_s"], held_up["kernels_alone_s"]),
            f"{100 * held_up['kernels_alone_s'] / compute_seconds(self.none):.0f} %")


def table(program):
    header = ("job", "samples/GPU", "one GPU, ms", "step without slowdown, ms", "all-reduce, ms", "analytic / without",
              "model / without", "model / one GPU", "slowed kernels / alone", "of compute time", "Echo")
    lines = [line(*header), "|---|" + "---:|" * (len(header) - 1)]
    for divisor in DIVISORS:
        for name, published in PUBLISHED.items():
            lines.append(line(name, *Steps(program, name, divisor).cells(), published))
    return lines


def evaluate(program, *arguments):
    return validation.run_json(program, "evaluate", "overlap", *arguments)


def evaluate_split(program, held_out, seed=SPLITS[0]):
    return evaluate(program, *PAIRS, "--counters", COUNTERS, "--held-out", held_out, "--seed", seed)


def figure_cells(figures):
    return (figures["rows"], f"{figures['mape']:.2f}", f"{figures['median']:.2f}", f"{figures['within_5']:.1f}",
            f"{figures['within_10']:.1f}", f"{figures['within_15']:.1f}", f"{figures['r2']:.4f}",
            f"{figures['error_of_sum']:+.2f}")


NAMES = ("rows", "MAPE %", "median %", "within 5 %", "10 %", "15 %", "R² of ln time", "total %")


def shown_predictors(found):
    """The learned model with and without launch data, then the baselines."""
    return [*found["predictors"][:1], found["as_planned"], *found["predictors"][1:]]


def wait_cells(found):
    delays = found["delays"]
    return (f"{delays['median_error']:.1f} %", f"{delays['precision']:.0f} %", f"{delays['recall']:.0f} %")


def kernel_of(row):
    return row["k_operator"], row["k_name"]


def figures_of_new_kernels(predictions):
    """A sentence on the kernels of the later table that are not in the training tables."""
    known = {kernel_of(row) for path in PAIRS for row in validation.rows_of(path)}
    later = validation.rows_of(LATER_PAIRS)
    errors = [abs(100 * (float(row["predicted_us"]) / float(row["measured_us"]) - 1))
              for row in validation.rows_of(predictions) if kernel_of(later[int(row["line"]) - 2]) not in known]
    kernels = {kernel_of(row) for row in later}
    within = 100 * statistics.fmean(error <= 10 for error in errors)
    return (f"{len(kernels & known)} of its {len(kernels)} kernels are also in the first two tables; without "
            f"them: {len(errors)} rows, MAPE {statistics.fmean(errors):.2f} %, {within:.1f} % within 10 %.")


def later_tables(program):
    """The shipped model on pairs measured after it was finished."""
    with tempfile.TemporaryDirectory() as folder:
        predictions = pathlib.Path(folder) / "predictions.csv"
        found = evaluate(program, LATER_PAIRS, "--model", MODEL, "--predictions", predictions)
        new_kernels = figures_of_new_kernels(predictions)
    lines = ["Measured after the model was finished (seed 3), evaluated with the shipped model:", "",
             line("predictor", *NAMES, "R² of ln slowdown"), "|---|" + "---:|" * (len(NAMES) + 1)]
    # Medians of names would be those of the evaluated rows themselves.
    lines += [line(figures["name"], *figure_cells(figures), f"{figures['r2_of_stretch']:.3f}")
              for figures in shown_predictors(found) if not figures["name"].startswith("median")]
    error, precision, recall = wait_cells(found)
    lines += ["", f"Waits: median error {error}, precision {precision}, recall {recall}. Communication time: "
              f"{found['communication']['mape']:.2f} %. {new_kernels}", ""]
    return lines


def split_table(program, first):
    """`first`: the result of the first split, which is expensive to repeat."""
    lines = ["Kernels held out, by split:", "",
             line("split", "rows", "MAPE %", "within 10 %", "R² of ln time", "R² of ln slowdown", "waits: median error",
                  "without launch data: MAPE %"), "|---|" + "---:|" * 7]
    for seed in SPLITS:
        found = first if seed == SPLITS[0] else evaluate_split(program, "kernel", seed)
        learned = found["predictors"][0]
        lines.append(line(seed, learned["rows"], f"{learned['mape']:.2f}", f"{learned['within_10']:.1f}",
                          f"{learned['r2']:.4f}", f"{learned['r2_of_stretch']:.3f}", wait_cells(found)[0],
                          f"{found['as_planned']['mape']:.2f}"))
    return lines + [""]


def held_out_tables(found_by):
    lines = ["Held out of the first two tables:", "", line("held out by", "predictor", *NAMES, "R² of ln slowdown"),
             "|---|---|" + "---:|" * (len(NAMES) + 1)]
    more = [line("held out by", "rows", "steady", "communication second", "computing second",
                 "communication time", "waits: median error", "precision", "recall"),
            "|---|" + "---:|" * 8]
    for held_out, found in found_by.items():
        shown = shown_predictors(found)
        for figures in shown if held_out == "kernel" else shown[:2]:
            lines.append(line(held_out, figures["name"], *figure_cells(figures), f"{figures['r2_of_stretch']:.3f}"))
        modes = {group["name"]: group for group in found["groups"] if group["by"] == "mode"}
        more.append(line(held_out, found["predictors"][0]["rows"],
                         *(f"{modes[mode]['mape']:.2f}" for mode in
                           ("steady", "communication second", "computing second")),
                         f"{found['communication']['mape']:.2f}", *wait_cells(found)))
    return [*lines, "", *more, ""]


def group_table(found):
    lines = ["Kernels held out, by group:", "", line("by", "", *NAMES), "|---|---|" + "---:|" * len(NAMES)]
    return lines + [line(group["by"], group["name"].strip(), *figure_cells(group)) for group in found["groups"]
                    if group["by"] in ("place", "width", "kind")]


def pair_tables(program):
    found_by = {held_out: evaluate_split(program, held_out) for held_out in HELD_OUT}
    return [*later_tables(program), *split_table(program, found_by["kernel"]), *held_out_tables(found_by),
            *group_table(found_by["kernel"])]


def main():
    options = validation.parser(__doc__).parse_args()
    validation.fill(options.write, {"pairs": pair_tables(options.program), "steps": table(options.program)})


if __name__ == "__main__":
    main()
