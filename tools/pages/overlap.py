"""The overlap prediction: pairs on the H200, and DDP steps on eight A100s compared with Echo's publication."""

import pathlib
import statistics
import tempfile

from validation import ROOT, answer, cells, rows_of, run, run_json, table

JOBS = ROOT / "examples" / "ddp-8xa100"
MEASURED = ROOT / "data" / "measured" / "h200"
PAIRS = [MEASURED / f"overlap-{number}.csv.orrtable" for number in (1, 2)]
LATER_PAIRS = MEASURED / "overlap-3.csv.orrtable"  # nothing is fitted to it
COUNTERS = MEASURED / "overlap-counters-1.csv.orrtable"
MODEL = ROOT / "data" / "models" / "overlap.orrmodel"
HELD_OUT = ("kernel", "width", "pattern", "place", "row")
SPLITS = (7, 11, 12, 13)  # the model was developed with the first
MODES = ("steady", "communication second", "computing second")

GPUS = 8
DIVISORS = (1, 8)  # of the samples per GPU: as in the example, and an eighth

# arXiv 2412.12487: step with overlap over step without.
PUBLISHED = {"bert-large": 1.391, "gpt2": 1.481, "vgg19": 1.377, "resnet152": 1.435}


def ratio(over, under):
    return f"{over / under:.3f}" if under > 0 else "–"


def step_row(program, name, divisor):
    """One job simulated on one GPU, and on all in three overlap modes."""
    job = JOBS / f"{name}.yaml"
    batch = max(1, int(job.read_text(encoding="utf-8").split("micro_batch:")[1].split(",")[0]) // divisor)

    def simulate(gpus, *options):
        return run_json(program, "simulate", job, "--set", f"training.micro_batch={batch}", "--set",
                        f"training.global_batch={gpus * batch}", *options)

    alone = simulate(1, "--set", "gpus=1")["step_time_s"]
    none, analytic, model = (simulate(GPUS, "--overlap", kind) for kind in ("none", "analytic", "model"))
    step, held_up = none["step_time_s"], model["held_up"]
    all_reduce = sum(total["transfer_s"] for total in none["communication"])
    compute = sum(seconds for key, seconds in none["breakdown_s"].items() if key.startswith("compute."))
    return (name, batch, *(f"{1e3 * seconds:.1f}" for seconds in (alone, step, all_reduce)),
            ratio(analytic["step_time_s"], step), ratio(model["step_time_s"], step), ratio(model["step_time_s"], alone),
            ratio(held_up["kernels_s"], held_up["kernels_alone_s"]), f"{100 * held_up['kernels_alone_s'] / compute:.0f} %")


def steps(program):
    return table("job | >samples/GPU | >one GPU, ms | >step without slowdown, ms | >all-reduce, ms | >analytic / without | >model / without "
                 "| >model / one GPU | >slowed kernels / alone | >of compute time | >Echo", (
                     (*step_row(program, name, divisor), published) for divisor in DIVISORS for name, published in PUBLISHED.items()))


def evaluate_split(program, held_out, seed=SPLITS[0]):
    return answer(program, "evaluate", "overlap", *PAIRS, "--counters", COUNTERS, "--held-out", held_out, "--seed", seed)


ERRORS = ">rows | >MAPE % | >median % | >within 5 % | >10 % | >15 % | >R² of ln time | >total %"


def error_cells(found):
    return cells(found, "rows", "mape:.2f", "median:.2f", "within_5:.1f", "within_10:.1f", "within_15:.1f", "r2:.4f", "error_of_sum:+.2f")


def predictors_of(found):
    """The learned model with and without launch data, then the baselines."""
    return [*found["predictors"][:1], found["as_planned"], *found["predictors"][1:]]


def wait_cells(found):
    return cells(found["delays"], "median_error:.1f", "precision:.0f", "recall:.0f")


def kernel_of(row):
    return row["k_operator"], row["k_name"]


def pair_rows(program, path):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "pairs.csv"
        run(program, "convert", path, copy)
        return rows_of(copy)


def sentence_on_new_kernels(program, predictions):
    """The kernels of the later table that are not in the training tables."""
    known = {kernel_of(row) for path in PAIRS for row in pair_rows(program, path)}
    later = pair_rows(program, LATER_PAIRS)
    errors = [abs(100 * (float(row["predicted_us"]) / float(row["measured_us"]) - 1))
              for row in rows_of(predictions) if kernel_of(later[int(row["line"]) - 2]) not in known]
    kernels = {kernel_of(row) for row in later}
    within = 100 * statistics.fmean(error <= 10 for error in errors)
    return (f"{len(kernels & known)} of its {len(kernels)} kernels are also in the first two tables; without "
            f"them: {len(errors)} rows, MAPE {statistics.fmean(errors):.2f} %, {within:.1f} % within 10 %.")


def later_pairs(program):
    """The shipped model on pairs measured after it was finished."""
    with tempfile.TemporaryDirectory() as folder:
        predictions = pathlib.Path(folder) / "predictions.csv"
        found = run_json(program, "evaluate", "overlap", LATER_PAIRS, "--model", MODEL, "--predictions", predictions)
        new_kernels = sentence_on_new_kernels(program, predictions)
    # Medians of names would be those of the evaluated rows themselves.
    shown = [each for each in predictors_of(found) if not each["name"].startswith("median")]
    yield from ("Measured after the model was finished (seed 3), evaluated with the shipped model:", "")
    yield from table(f"predictor | {ERRORS} | >R² of ln slowdown", (
        (each["name"], *error_cells(each), *cells(each, "r2_of_stretch:.3f")) for each in shown))
    error, precision, recall = wait_cells(found)
    yield from ("", f"Waits: median error {error} %, precision {precision} %, recall {recall} %. Communication time: "
                f"{found['communication']['mape']:.2f} %. {new_kernels}", "")


def split_row(seed, found):
    learned = found["predictors"][0]
    return (seed, *cells(learned, "rows", "mape:.2f", "within_10:.1f", "r2:.4f", "r2_of_stretch:.3f"), f"{wait_cells(found)[0]} %",
            *cells(found["as_planned"], "mape:.2f"))


def splits(program):
    yield from ("Kernels held out, by split:", "")
    yield from table("split | >rows | >MAPE % | >within 10 % | >R² of ln time | >R² of ln slowdown | >waits: median error "
                     "| >without launch data: MAPE %",
                     (split_row(seed, evaluate_split(program, "kernel", seed)) for seed in SPLITS))
    yield ""


def mode_row(held_out, found):
    modes = {group["name"]: group for group in found["groups"] if group["by"] == "mode"}
    return (held_out, found["predictors"][0]["rows"], *(f"{modes[mode]['mape']:.2f}" for mode in MODES),
            *cells(found["communication"], "mape:.2f"), *(f"{share} %" for share in wait_cells(found)))


def held_out(program):
    found_by = {by: evaluate_split(program, by) for by in HELD_OUT}
    yield from ("Held out of the first two tables:", "")
    yield from table(f"held out by | predictor | {ERRORS} | >R² of ln slowdown", (
        (by, each["name"], *error_cells(each), *cells(each, "r2_of_stretch:.3f"))
        for by, found in found_by.items() for each in predictors_of(found)[:None if by == "kernel" else 2]))
    yield ""
    yield from table("held out by | >rows | >" + " | >".join(MODES) + " | >communication time | >waits: median error | >precision | >recall",
                     (mode_row(by, found) for by, found in found_by.items()))
    yield ""


def groups(program):
    yield from ("Kernels held out, by group:", "")
    yield from table(f"by |  | {ERRORS}", (
        (group["by"], group["name"].strip(), *error_cells(group)) for group in evaluate_split(program, "kernel")["groups"]
        if group["by"] in ("place", "width", "kind")))


def pairs(program):
    for part in (later_pairs, splits, held_out, groups):
        yield from part(program)


TABLES = {"pairs": pairs, "steps": steps}
