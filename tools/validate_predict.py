#!/usr/bin/env python3
"""Evaluates `orrery predict` on the recordings of ../shared/traces/h200.

    tools/validate_predict.py --program build/orrery [--shared ../shared] [--write docs/validation/predict.md]

For each model the host costs are fitted without it: neither a recording of it nor its measured steps are used, also not those of
data/traced under another name. Then its step is predicted from its recording, and from its execution trace and models alone. The
distance is that to the interval of the measured runs.
"""

import pathlib
import tempfile

import fit_host
import validation
from validation import run_json

# The same model in data/traced.
TRACED_NAMES = {
    "gpt2-small-b4": ["gpt2"],
    "resnet50-b64": ["resnet50"],
    "dlrm-b2048": ["dlrm"],
    "bert-large-b16": ["bert-large"],
    "llama-1b-s2048-b4": ["llama-1b"],
}

# Limits in percent: GPU-bound steps are predicted more accurately than host-bound ones.
MODELS = {
    "gpt2-small-b4": 12,
    "resnet50-b64": 12,
    "dlrm-b2048": 12,
    "bert-large-b16": 12,
    "gpt2-xl-b8": 5,
    "llama-1b-s2048-b4": 5,
}
ACTIVE_LIMIT = 5


def predict(program, host, *arguments):
    return run_json(program, "predict", *arguments, "--host", host, "--gpu", "h200")


def evaluate(program, shared, interval, model, folder):
    host = pathlib.Path(folder) / f"{model}.csv"
    fit_host.fit(program, shared, host, [model, *TRACED_NAMES.get(model, [])])
    traces = shared / "traces" / "h200"
    graph, recording = traces / f"{model}.et.json.gz", traces / f"{model}.kineto.json.gz"
    return {
        "model": model,
        "interval": interval,
        "shared": run_json(program, "predict", recording, "--gpu", "h200"),
        "recording": predict(program, host, recording),
        "graph": predict(program, host, graph),
    }


def step_table(rows):
    yield "| model | measured ms | in sample | | recording | | graph alone | | limit |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        cells = []
        for way in ("shared", "recording", "graph"):
            step_ms = row[way]["step_time_s"] * 1e3
            cells += [f"{step_ms:.2f}", f"{validation.distance(step_ms, *row['interval']):+.1f} %"]
        low, high = row["interval"]
        yield f"| {row['model']} | {low:.2f}–{high:.2f} | {' | '.join(cells)} | {MODELS[row['model']]} % |"


def active_table(rows):
    yield "| model | active GPU time, recorded ms | graph alone | | limit | waiting for the host, graph alone | host costs by name |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        recorded = row["recording"]["active_time_s"] * 1e3
        predicted = row["graph"]["active_time_s"] * 1e3
        host = row["graph"]["host"]
        known = host["costs_by_name"] / sum(host[key] for key in host if key.startswith("costs_"))
        yield (f"| {row['model']} | {recorded:.2f} | {predicted:.2f} | {100 * (predicted / recorded - 1):+.1f} % "
               f"| {ACTIVE_LIMIT} % | {100 * row['graph']['host_bound']:.0f} % | {100 * known:.0f} % |")


def main():
    parser = validation.parser(__doc__.splitlines()[0], required=True)
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path("../shared"))
    options = parser.parse_args()
    steps = {name: (min(times), max(times))
             for name, times in validation.measured_steps(options.shared / "truth" / "h200_steps.csv").items()}
    with tempfile.TemporaryDirectory() as folder:
        rows = [evaluate(options.program, options.shared, steps[model], model, folder) for model in MODELS]
    validation.fill(options.write, {"steps": step_table(rows), "active time": active_table(rows)})


if __name__ == "__main__":
    main()
