#!/usr/bin/env python3
"""Fits the 80 % intervals of steps that are predicted from recordings and execution traces, data/host/step_intervals.csv.

    tools/fit_step_intervals.py --program build/orrery [--write data/host/step_intervals.csv]

The models are those of data/held_out_models (host costs refitted without the model), data/operator_models, ../shared/traces/h200-models and
../shared/traces/h200, each from both files. An end of a class is the quantile of measured over predicted steps that a further model
exceeds in one of ten cases; a class with too few models has the quantiles of all recordings or all traces. Printed is the share of models
inside the interval that the other models give, and its mean width: no model is in the fit of its own interval.
"""

import collections
import csv
import math
import statistics

import fit_hosts
import validation
from pages import held_out_models

HOST_BOUND, UNCERTAIN = 0.05, 0.1  # as orrery/api/predict/step_intervals.cc
FOUR_OF_FIVE, UNMODELLED, BY_BYTES = 1.2816, 0.5, 0.3
KINDS = ("recording, GPU", "recording, host", "trace, GPU", "trace, GPU, extrapolated", "trace, host")
FEWEST_SAMPLES = 4  # of a host whose speed counts for the spread of hosts
FEWEST = 9  # with fewer models a quantile of a tenth is none of them

Residual = collections.namedtuple("Residual", "name way kind error host_bound unverified")


def kind_of(made, is_recorded):
    if made["host_bound"] >= HOST_BOUND:
        return "recording, host" if is_recorded else "trace, host"
    if is_recorded:
        return "recording, GPU"
    models = made["models"]
    operators = sum(models[f"operators_{source}"] for source in ("of_this_gpu", "of_siblings", "of_all_gpus", "by_roofline"))
    return "trace, GPU, extrapolated" if models["operators_extrapolated"] >= UNCERTAIN * operators else "trace, GPU"


def predictions(program):
    """Name, measured steps, way and prediction of each model and file."""
    for folder in (held_out_models.DATA, *held_out_models.DEVELOPMENT):
        for name, steps in held_out_models.steps_of(folder).items():
            for way, made in held_out_models.evaluate(program, name, folder).items():
                yield name, steps, way, made
    for recording in fit_hosts.measured_recordings():
        if recording.machine == "h200-shared":
            graph = recording.path.with_name(recording.name + ".et.json.gz")
            for way, path in ((held_out_models.RECORDING, recording.path), (held_out_models.GRAPH, graph)):
                yield recording.name, recording.steps, way, held_out_models.predict(program, path, [])


def residuals(program):
    found = []
    for name, steps, way, made in predictions(program):
        if not isinstance(made, str) and "loader_batch_s" not in made["host"]:  # a loader has an interval of its own
            is_recorded = way == held_out_models.RECORDING
            error = math.log((min(steps) + max(steps)) / 2 / (1e3 * made["step_time_s"]))
            unverified = FOUR_OF_FIVE * UNMODELLED * made["unmodelled_share"]
            found.append(Residual(name, "recording" if is_recorded else "trace", kind_of(made, is_recorded), error, made["host_bound"],
                                  unverified))
    return found


def quantile(values, share):
    """The value that one more of the kind is below with that probability; between two values in proportion."""
    place = min(max((len(values) + 1) * share - 1, 0), len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def ends(errors):
    """Low and high end, in logarithms, around the prediction."""
    errors = sorted(errors)
    return min(0, quantile(errors, 0.1)), max(0, quantile(errors, 0.9))


def of_class(found, kind):
    """The residuals that stand for a class."""
    members = [residual for residual in found if residual.kind == kind]
    return members if len(members) >= FEWEST else [residual for residual in found if residual.way == kind.split(",")[0]]


def interval_of(residual, others, hosts):
    """As orrery/api/predict/step_intervals.cc."""
    widths = []
    for end, host in zip(ends([other.error for other in of_class(others, residual.kind)]), hosts):
        host = host * residual.host_bound if residual.way == "trace" else 0
        widths.append(math.hypot(end, host, residual.unverified))
    return -widths[0], widths[1]


def coverage(found, hosts):
    """Prints what the intervals hold of models that are not in their fit."""
    rows = []
    for residual in found:
        low, high = interval_of(residual, [other for other in found if other.name != residual.name], hosts)
        rows.append((residual, low <= residual.error <= high, math.exp(high) - math.exp(low)))
    for group in (*KINDS, "recording", "trace"):
        of_group = [row for row in rows if group in (row[0].kind, row[0].way)]
        if of_group:
            inside = sum(row[1] for row in of_group)
            print(f"{group}: {inside} of {len(of_group)} inside, {100 * inside / len(of_group):.0f} %; mean width "
                  f"{100 * statistics.mean(row[2] for row in of_group):.0f} % of the step; outside: "
                  + " ".join(f"{row[0].name} {row[0].error:+.2f}" for row in of_group if not row[1]))
    inside = sum(row[1] for row in rows)
    print(f"all: {inside} of {len(rows)} inside, {100 * inside / len(rows):.0f} %")


def hosts_of_samples():
    """Hosts told by enough recordings or models."""
    return [machine for machine in fit_hosts.listed_machines() if machine["samples"] >= FEWEST_SAMPLES]


def main():
    options = validation.parser(__doc__.splitlines()[0]).parse_args()
    hosts = ends([math.log(machine["operators"]) for machine in hosts_of_samples()])
    found = residuals(options.program)
    coverage(found, hosts)
    rows = []
    for kind in KINDS:
        members = of_class(found, kind)
        rows.append([kind, *(round(math.exp(end), 3) for end in ends([member.error for member in members])), len(members)])
    rows.append(["hosts", *(round(math.exp(end), 3) for end in hosts), len(hosts_of_samples())])
    if options.write:
        with open(options.write, "w", newline="", encoding="utf-8") as out:
            csv.writer(out, lineterminator="\n").writerows([("kind", "low", "high", "models"), *rows])


if __name__ == "__main__":
    main()
