#!/usr/bin/env python3
"""Fits how recordings tell the speed of their host, and lists the hosts that we have seen.

    tools/fit_hosts.py --program build/orrery [--write data/host]

Writes profiled.csv, from recordings of development whose steps were measured without a profiler and whose GPU waits for the host, and
machines.yaml, from these, from measured processes (data/host/processes) and from the other recordings of ../shared/traces. The held-out
models (data/held_out_models) tell what the factors are worth, and are not part of the fit. Run it again until nothing changes: the
factors are part of what the program says.
"""

import collections
import csv
import json
import math
import pathlib
import statistics
import subprocess

import fit_host
import validation
from pages import held_out_models
from validation import ROOT

HOST = ROOT / "data" / "host"
DEVELOPMENT = {"h200-models": validation.SHARED / "traces" / "h200-models", "h200-operators": fit_host.OTHERS}
HELD_OUT = "h200-held-out"
OBSERVERS = ("profiler", "execution trace")
COSTS = ("python", "module", "view", "empty", "operator", "backward", "launch")
LEAST_HOST_BOUND = 0.4  # share of the step; below, the GPU hides the host
POWERS = [step / 10 for step in range(11)]
PARTS = [step / 20 for step in range(8, 23)]
TORCH = "2.11"

Recording = collections.namedtuple("Recording", "name machine path steps")


def predict(program, path, *words):
    """The prediction of a recording; nothing where the program refuses."""
    done = subprocess.run([str(word) for word in (program, "predict", path, "--json", *words)], capture_output=True, text=True,
                          check=False)
    return json.loads(done.stdout) if done.returncode in (0, 3) else None


def measured_recordings():
    """Recordings with the steps of processes without a profiler. Models with activation checkpointing are left out: their hooks
    have a cost of their own; so are models that wait for a data loader."""
    for machine, folder in {HELD_OUT: fit_host.HELD_OUT, **DEVELOPMENT}.items():
        for name, found in held_out_models.steps_of(folder).items():
            if name not in fit_host.CHECKPOINTED:
                yield Recording(name, machine, next(folder.glob(f"{name}.kineto.*")), found)
    for name, found in fit_host.traced_jobs().items():
        if not name.startswith("held-out-"):  # their ranges contain waits for the GPU
            yield Recording(name, "h200-traced", fit_host.TRACED / name / "rank-0" / "kineto.orr", found)
    shared = validation.measured_steps([validation.SHARED / "truth" / "h200_steps.csv"])
    for path in sorted((validation.SHARED / "traces" / "h200").glob("*.kineto.json.gz")):
        name = path.name.split(".")[0]
        if name in shared:
            yield Recording(name, "h200-shared", path, shared[name])


def other_recordings():
    """Recordings of other machines, the first of each folder."""
    traces = validation.SHARED / "traces"
    for folder in ("astra-sim/megatron-tp8", "param/dlrm-8gpu", "param", "tracelens/h100", "tracelens/mi300", "tracelens/mi210",
                   "kineto", "hta/critical_path", "hta/trace_compare", "hta/nccl_parser_config", "hta/ns_resolution_trace"):
        for path in sorted((traces / folder).rglob("*.json*"))[:4]:
            yield Recording(path.name, folder.replace("/", "-"), path, [])


def predicted_ms(row, usual, power, part):
    """The step with other factors: where the GPU waits for the host, what the host takes less is off the step."""
    host_ms = row["operators_ms"] * (row["under_profiler"] / usual) ** power + row["program_ms"] * part
    return row["rest_ms"] + host_ms


def misfit(rows, usual, power, part):
    """Mean distance to the measured interval, and a tenth of that to its middle."""
    total = 0
    for row in rows:
        step_ms = predicted_ms(row, usual, power, part)
        total += abs(validation.percent_outside(step_ms, row["steps"])) / 100
        total += 0.1 * abs(math.log(step_ms / statistics.mean(row["steps"])))
    return total / len(rows)


def best(rows):
    usual = sorted(row["under_profiler"] for row in rows)
    middle = statistics.median(usual)
    levels = [middle * 2 ** (step / 8) for step in range(-8, 13)]
    choices = [(level, power, part) for level in levels for power in POWERS for part in PARTS]
    return min(choices, key=lambda choice: misfit(rows, *choice))


def errors_text(of_rows):
    """Mean and largest distance of pairs of a row and factors."""
    off = [validation.percent_outside(predicted_ms(row, *factors), row["steps"]) for row, factors in of_rows]
    return f"mean {statistics.mean(map(abs, off)):.1f} %, largest {max(off, key=abs):+.1f} %" if off else "none"


def fit_profiled(rows):
    table = []
    for observer in OBSERVERS:
        bound = [row for row in rows if row["observer"] == observer and row["host_bound"] >= LEAST_HOST_BOUND]
        kind = [row for row in bound if row["machine"] != HELD_OUT]
        if len(kind) < 5:
            raise SystemExit(f"fit_hosts: only {len(kind)} host-bound recordings with {observer}")
        found = best(kind)
        left_out = [(row, best([other for other in kind if other is not row])) for row in kind]
        held_out = [(row, found) for row in bound if row["machine"] == HELD_OUT]
        print(f"{observer}: {len(kind)} recordings, usual ratio {found[0]:.3f}, power {found[1]}, part {found[2]}; each left out: "
              f"{errors_text(left_out)}; held-out models: {errors_text(held_out)}")
        table.append([observer, TORCH, round(found[0], 3), *found[1:], len(kind)])
    return table


def built_in():
    return {row["observer"]: row for row in validation.rows_of(HOST / "profiled.csv")}


def observed(program):
    """The answer of the program on each measured recording, with the factors of profiled.csv undone."""
    factors, rows = built_in(), []
    for recording in measured_recordings():
        made = predict(program, recording.path)
        host = made and made["host"]
        if not host or "pace" not in host or "loader_batch_s" in host or "step_time_s" not in made:
            continue
        observer = OBSERVERS[1] if host["profiler_us"] > 4 else OBSERVERS[0]
        rows.append({"name": recording.name, "machine": recording.machine, "steps": recording.steps, "observer": observer,
                     "under_profiler": host["pace_under_profiler"], "pace": host["pace"], "host_bound": made["host_bound"],
                     "step_ms": 1e3 * made["step_time_s"],
                     "operators_ms": 1e3 * host["operators_s"] / host["pace"],
                     "program_ms": 1e3 * host["program_s"] / float(factors[observer]["program"]),
                     "rest_ms": 1e3 * (made["step_time_s"] - host["operators_s"] - host["program_s"])})
    return rows


def write_profiled(rows, folder):
    with open(folder / "profiled.csv", "w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(
            [("observer", "torch", "under_profiler", "power", "program", "recordings"), *rows])


def processes():
    """{process: (costs, pace)}: the pace is the median ratio of its steps to those that costs of pace 1 give, by the recordings of
    the same models."""
    folder = HOST / "processes"
    costs, steps = collections.defaultdict(dict), collections.defaultdict(dict)
    for row in validation.rows_of(folder / "costs.csv"):
        costs[row["process"]][row["cost"]] = float(row["ns"])
    for row in validation.rows_of(folder / "steps.csv"):
        steps[row["process"]][row["model"]] = float(row["step_ms"])
    return costs, steps


def machines(program, rows, table):
    """The reference's measured costs and the list of hosts."""
    factors = {row[0]: row[2:5] for row in table}
    at_reference = {row["name"]: row["rest_ms"] + row["operators_ms"] + row["program_ms"] * factors[row["observer"]][2]
                    for row in rows if row["machine"] == HELD_OUT and row["host_bound"] >= LEAST_HOST_BOUND}
    costs, steps = processes()
    paces = {process: statistics.median(ms / at_reference[name] for name, ms in found.items() if name in at_reference)
             for process, found in steps.items()}
    reference = {name: round(statistics.median(costs[process][name] / pace for process, pace in paces.items()), 1) for name in COSTS}
    listed = [("reference", "Intel Xeon (H200 machines)", (1, 1, 1), 21, "data/host/h200.csv")]
    for process, pace in paces.items():
        listed.append((f"h200-process-{process}", "Intel Xeon, 16 cores", (pace, pace, pace),
                       sum(name in at_reference for name in steps[process]), "data/host/processes"))
    groups = collections.defaultdict(list)
    for row in rows:
        usual, power, _ = factors[row["observer"]]
        groups[row["machine"]].append((row["under_profiler"] / usual) ** power)
    for recording in other_recordings():
        made = predict(program, recording.path)
        host = made and made.get("host")
        if host and "pace" in host:
            usual, power, _ = factors[OBSERVERS[host["profiler_us"] > 4]]
            groups[recording.machine].append((host["pace_under_profiler"] / usual) ** power)
    for machine, ratios in groups.items():
        pace = statistics.median(ratios)
        listed.append((machine, "not known", (pace, pace, pace), len(ratios), "recordings"))
    return reference, listed


def write_machines(reference, listed, folder):
    lines = ["# Written by tools/fit_hosts.py. reference: nanoseconds of `orrery measure host` that stand for the costs of h200.csv;",
             "# machines: times over the reference's of operators, Python and launches; samples: recordings, or models of a process.",
             "reference: {" + ", ".join(f"{name}: {cost}" for name, cost in reference.items()) + "}", "machines:"]
    for name, cpu, pace, samples, source in listed:
        operators, program, launches = (round(value, 3) for value in pace)
        lines.append(f'  - {{name: {name}, cpu: "{cpu}", operators: {operators}, program: {program}, launches: {launches}, '
                     f'samples: {samples}, source: "{source}"}}')
    (folder / "machines.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    options = validation.parser(__doc__.splitlines()[0]).parse_args()
    rows = observed(options.program)
    table = fit_profiled(rows)
    reference, listed = machines(options.program, rows, table)
    for entry in listed:
        print(*entry)
    if options.write:
        write_profiled(table, options.write)
        write_machines(reference, listed, options.write)


if __name__ == "__main__":
    main()
