#!/usr/bin/env python3
"""Fits the 80 % intervals of steps that are predicted from recordings and execution traces, data/host/step_intervals.csv.

    tools/fit_step_intervals.py --program build/orrery [--write data/host/step_intervals.csv]

Each measured model of development (fit_hosts.DEVELOPMENT) is predicted from both files. Of a class with n models an end is the order
statistic that a further model of the class exceeds in one of ten cases: number (n + 1) / 10, at most the outermost. Printed: the share
of models inside the interval that the others of their class give, and of held-out models, which are not part of the fit.
"""

import collections
import csv
import math

import fit_host
import fit_hosts
import validation
from pages import held_out_models

HOST_BOUND, UNCERTAIN = 0.25, 0.1  # as orrery/api/predict/step_intervals.cc
KINDS = ("recording, GPU", "recording, host", "trace, GPU", "trace, GPU, extrapolated", "trace, host")


def graph_of(path):
    return next(path.parent.glob(path.name.split(".")[0] + ".et.*"), None)


def kind_of(made, is_recorded):
    if made["host_bound"] >= HOST_BOUND:
        return "recording, host" if is_recorded else "trace, host"
    if is_recorded:
        return "recording, GPU"
    models = made["models"]
    operators = sum(models[f"operators_{source}"] for source in ("of_this_gpu", "of_siblings", "of_all_gpus", "by_roofline"))
    return "trace, GPU, extrapolated" if models["operators_extrapolated"] >= UNCERTAIN * operators else "trace, GPU"


def residuals(program, folder):
    """{kind: [logarithm of measured over predicted]} of the models of a folder."""
    found = collections.defaultdict(list)
    for name, steps in held_out_models.steps_of(folder).items():
        recording = next(folder.glob(f"{name}.kineto.*"))
        for path in (recording, graph_of(recording)):
            made = fit_hosts.predict(program, path, "--gpu", "h200")
            if made and "step_time_s" in made:
                middle_ms = (min(steps) + max(steps)) / 2
                found[kind_of(made, path == recording)].append(math.log(middle_ms / (1e3 * made["step_time_s"])))
    return found


def ends(values):
    """Low and high end, in logarithms, each with room for a tenth."""
    values = sorted(values) or [0]
    outside = max(0, math.floor((len(values) + 1) / 10) - 1)
    return min(0, values[outside]), max(0, values[-1 - outside])


def is_inside(value, values):
    low, high = ends(values)
    return low <= value <= high


def spread_of_hosts():
    """Ends of the hosts that were seen, one vote each."""
    text = (fit_hosts.HOST / "machines.yaml").read_text(encoding="utf-8")
    paces = [float(line.split("operators: ")[1].split(",")[0]) for line in text.splitlines() if "samples" in line and "name:" in line]
    return ends([math.log(pace) for pace in paces]), len(paces)


def main():
    options = validation.parser(__doc__.splitlines()[0]).parse_args()
    found, held_out = collections.defaultdict(list), residuals(options.program, fit_host.HELD_OUT)
    for folder in fit_hosts.DEVELOPMENT.values():
        for kind, values in residuals(options.program, folder).items():
            found[kind] += values
    rows = []
    for kind in KINDS:
        values = found[kind]
        low, high = ends(values)
        rows.append([kind, round(math.exp(low), 3), round(math.exp(high), 3), len(values)])
        left_out = sum(is_inside(value, values[:at] + values[at + 1:]) for at, value in enumerate(values))
        inside = sum(is_inside(value, values) for value in held_out[kind])
        print(f"{kind}: {len(values)} models, {low:+.3f} to {high:+.3f}; each left out: {left_out} inside; held out: {inside} of "
              f"{len(held_out[kind])}; residuals {' '.join(f'{value:+.3f}' for value in sorted(values))}")
    (low, high), hosts = spread_of_hosts()
    rows.append(["hosts", round(math.exp(low), 3), round(math.exp(high), 3), hosts])
    if options.write:
        with open(options.write, "w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([("kind", "low", "high", "models"), *rows])


if __name__ == "__main__":
    main()
