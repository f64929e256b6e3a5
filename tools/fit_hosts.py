#!/usr/bin/env python3
"""Fits how recordings tell the speed of their host, and lists the hosts that we have seen.

    tools/fit_hosts.py --program build/orrery [--write data/host]

profiled.csv: the usual ratio of recorded to reference CPU times while the profiler runs, the median over recordings of the machines that the
costs of data/host/h200.csv are from. machines.yaml: the hosts of these and of the other recordings of ../shared/traces, and of measured
processes (data/host/processes).
"""

import collections
import csv
import json
import re
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
LEAST_OF_OBSERVER_US = 4  # as orrery/workload/recorded/host/host_pace.cc
FEWEST_OPERATORS = 20  # of a recording that tells its host
COSTS = ("python", "module", "view", "empty", "operator", "backward", "launch")

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


def observer_of(host):
    """An observer of execution traces takes ten times a profiler's microsecond inside an operator."""
    return OBSERVERS[host["profiler_us"] > LEAST_OF_OBSERVER_US]


def ratios_of(program, recordings):
    """(machine, observer, ratio under the profiler) of recordings whose program answers."""
    for recording in recordings:
        made = predict(program, recording.path)
        host = made and made.get("host")
        if host and host.get("pace_operators", 0) >= FEWEST_OPERATORS:
            yield recording.machine, observer_of(host), host["pace_under_profiler"]


def profiled(ratios):
    """Rows of profiled.csv: the usual ratio is the median; the powers stay as they were chosen (docs/design/0033-host.md)."""
    table = []
    for row in validation.rows_of(HOST / "profiled.csv"):
        found = [ratio for _, observer, ratio in ratios if observer == row["observer"]]
        table.append({**row, "under_profiler": round(statistics.median(found), 2), "recordings": len(found)})
    return table


def processes():
    """{process: (costs, pace)}: the pace is the median, over models, of its step to the usual step of that model."""
    folder = HOST / "processes"
    costs, steps = collections.defaultdict(dict), collections.defaultdict(dict)
    for row in validation.rows_of(folder / "costs.csv"):
        costs[row["process"]][row["cost"]] = float(row["ns"])
    for row in validation.rows_of(folder / "steps.csv"):
        steps[row["process"]][row["model"]] = float(row["step_ms"])
    others = held_out_models.steps_of(fit_host.HELD_OUT)
    usual = {name: statistics.median([*others[name], *(found[name] for found in steps.values())]) for name in steps["1"]}
    return {process: (costs[process], statistics.median(ms / usual[name] for name, ms in found.items()))
            for process, found in steps.items()}


def machines(ratios, table):
    """The reference's measured costs and the list of hosts."""
    measured = processes()
    reference = {name: round(statistics.median(costs[name] / pace for costs, pace in measured.values()), 1) for name in COSTS}
    listed = [("reference", "Intel Xeon (H200 machines)", 1, 21, "data/host/h200.csv")]
    listed += [(f"h200-process-{process}", "Intel Xeon, 16 cores", pace, 9, "data/host/processes")
               for process, (_, pace) in measured.items()]
    factors = {row["observer"]: (float(row["under_profiler"]), float(row["power"])) for row in table}
    groups = collections.defaultdict(list)
    for machine, observer, ratio in ratios:
        usual, power = factors[observer]
        groups[machine].append((ratio / usual) ** power)
    listed += [(machine, "not known", statistics.median(paces), len(paces), "recordings") for machine, paces in groups.items()]
    return reference, listed


def write_profiled(table, folder):
    with open(folder / "profiled.csv", "w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


def listed_machines():
    """The hosts of machines.yaml, with their times over the reference's."""
    lines = (HOST / "machines.yaml").read_text(encoding="utf-8").splitlines()
    return [{key: float(value) for key, value in re.findall(r"(operators|program|launches|samples): ([0-9.]+)", line)}
            for line in lines if line.lstrip().startswith("- {")]


def write_machines(reference, listed, folder):
    lines = ["# Written by tools/fit_hosts.py. reference: nanoseconds of `orrery measure host` that stand for the costs of h200.csv;",
             "# machines: times over the reference's of operators, Python and launches; samples: recordings, or models of a process.",
             "reference: {" + ", ".join(f"{name}: {cost}" for name, cost in reference.items()) + "}", "machines:"]
    for name, cpu, pace, samples, source in listed:
        pace = round(pace, 3)
        lines.append(f'  - {{name: {name}, cpu: "{cpu}", operators: {pace}, program: {pace}, launches: {pace}, samples: {samples}, '
                     f'source: "{source}"}}')
    (folder / "machines.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    options = validation.parser(__doc__.splitlines()[0]).parse_args()
    measured = list(ratios_of(options.program, measured_recordings()))
    table = profiled(measured)
    for row in table:
        print(*row.values())
    reference, listed = machines([*measured, *ratios_of(options.program, other_recordings())], table)
    for entry in listed:
        print(*entry)
    if options.write:
        write_profiled(table, options.write)
        write_machines(reference, listed, options.write)


if __name__ == "__main__":
    main()
