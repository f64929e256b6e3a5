#!/usr/bin/env python3
"""Fits the built-in host model, data/host/h200.csv, from the recordings of ../shared/traces/h200 and data/traced/h200.

    tools/fit_host.py --program build/orrery [--without NAME ...] [-o data/host/h200.csv]

Each recording has a step that was measured without the profiler: the profiler's overhead is found from it. Jobs of several
ranks are left out: their host does what one GPU's does not. The cost of hooks of activation checkpointing is from two held-out models.
"""

import csv
import json
import pathlib
import shutil
import statistics
import tempfile

import validation
from validation import ROOT, run

TRACED = ROOT / "data" / "traced" / "h200"
HELD_OUT = ROOT / "data" / "held_out_models" / "h200"
OTHERS = ROOT / "data" / "operator_models" / "h200"
PARTS_OF_NAMES = ("whole", "start", "between", "end", "launch", "launches", "waits", "gap")
CHECKPOINTED = ("low-rank-adapters", "checkpointed-mixer")


def traced_jobs():
    """{name: [median step of each process]} of the jobs of one rank whose steps were measured in two processes."""
    steps = {}
    for folder in sorted(TRACED.iterdir()):
        if len(list(folder.glob("rank-*"))) != 1:
            continue
        measured = json.loads((folder / "rank-0" / "steps.json").read_text(encoding="utf-8"))
        if measured.get("other_runs"):
            runs = [measured["without_profiler"], *measured["other_runs"]]
            steps[folder.name] = [statistics.median(one["step_ms"]) for one in runs]
    return steps


def collect(shared, folder):
    """Puts all recordings under their names into a folder, with steps.csv beside them."""
    steps = traced_jobs()
    for name in steps:
        shutil.copyfile(TRACED / name / "rank-0" / "kineto.orr", folder / f"{name}.orr")
    measured = validation.measured_steps([shared / "truth" / "h200_steps.csv"])
    for path in sorted((shared / "traces" / "h200").glob("*.kineto.json.gz")):
        name = path.name.split(".")[0]
        if name in measured:
            shutil.copyfile(path, folder / path.name)
            steps[name] = measured[name]
    with open(folder / "steps.csv", "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("name", "step_ms"), *((name, ms) for name in steps for ms in steps[name])])


def fit(program, shared, output, without=(), without_steps=()):
    measured = ROOT / "data" / "measured" / "h200"
    kernels = [path for kind in ("kernels", "attention") for path in sorted(measured.glob(f"{kind}-*.csv.*"))]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        collect(shared, folder)
        recordings = sorted([*folder.glob("*.orr"), *folder.glob("*.json.gz")])
        left_out = [word for name in without for word in ("--without", name)]
        said = run(program, "fit", "host", *recordings, "--steps", folder / "steps.csv", *left_out,
                   "--kernels", *kernels, "-o", output)
    add_other_names(program, output)
    add_recomputation(program, output, without_steps)
    return said


def add_other_names(program, path):
    """Adds costs of names that no recording of the fit has, from those of models with unusual operators."""
    known = {(row["part"], row["name"]) for row in validation.rows_of(path)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        names = []
        for recording in sorted(OTHERS.glob("*.kineto.orr")):
            names.append(recording.name.split(".")[0])
            shutil.copyfile(recording, folder / f"{names[-1]}.orr")
        steps = [(row["model"], row["step_ms"]) for file in sorted(OTHERS.glob("steps-*.csv")) for row in validation.rows_of(file)]
        with open(folder / "steps.csv", "w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([("name", "step_ms"), *(step for step in steps if step[0] in names)])
        run(program, "fit", "host", *sorted(folder.glob("*.orr")), "--steps", folder / "steps.csv", "-o", folder / "others.csv")
        others = (folder / "others.csv").read_text(encoding="utf-8").splitlines()[1:]
    with open(path, "a", encoding="utf-8") as out:
        for line in others:
            part, name = line.split(",")[:2]
            if part in PARTS_OF_NAMES and not name.startswith("*") and (part, name) not in known:
                out.write(line + "\n")


def add_recomputation(program, path, without):
    """The time that hooks add for each operator that is recomputed: the median over held-out models with activation checkpointing of the
    time by which their steps are longer than predicted from their execution traces."""
    costs_ns = []
    for name in CHECKPOINTED:
        if name in without:
            continue
        steps = [float(row["step_ms"]) for file in sorted(HELD_OUT.glob("steps-*.csv")) for row in validation.rows_of(file)
                 if row["model"] == name]
        made = validation.run_json(program, "predict", HELD_OUT / f"{name}.et.orr", "--gpu", "h200", "--host", path)
        costs_ns.append(1e6 * (statistics.mean(steps) - 1e3 * made["step_time_s"]) / made["host"]["recomputed_operators"])
    with open(path, "a", encoding="utf-8") as out:
        cost = round(statistics.median(costs_ns), 1)
        out.write(",".join(map(str, ["recompute", "*", *[cost] * 7, 0, len(costs_ns)])) + "\n")


def main():
    parser = validation.parser(__doc__.splitlines()[0])
    parser.add_argument("--shared", type=pathlib.Path, default=validation.SHARED)
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "data" / "host" / "h200.csv")
    options = parser.parse_args()
    print(fit(options.program, options.shared, options.output, options.without), end="")


if __name__ == "__main__":
    main()
