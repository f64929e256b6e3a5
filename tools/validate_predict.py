#!/usr/bin/env python3
"""Judges `orrery predict` on the recordings of ../shared/traces/h200.

    tools/validate_predict.py --program build/orrery [--shared ../shared] [--write docs/validation/predict.md]

For each model the costs of the host are fitted without it: neither its recording nor its measured steps are used.
Then its step is predicted in three ways: from its recording, from its execution trace with the kernels of the
recording, and from its execution trace and models alone. The distance is that to the interval of the measured runs.
"""

import pathlib
import tempfile

import validation
from validation import ROOT, run, run_json

# Limits in percent: those bound by the GPU are predicted more closely than those bound by the host.
MODELS = {
    "gpt2-small-b4": 12,
    "resnet50-b64": 12,
    "dlrm-b2048": 12,
    "bert-large-b16": 12,
    "gpt2-xl-b8": 5,
    "llama-1b-s2048-b4": 5,
}
ACTIVE_LIMIT = 5

HEAD = """# Predicted against measured steps

Made by `tools/validate_predict.py --program build/orrery --write docs/validation/predict.md`.

Six models recorded on one H200 (`../shared/traces/h200`), steps measured without the profiler in two runs
(`../shared/truth/h200_steps.csv`). The host model of each row was fitted without that model: neither its recording nor
its measured steps took part. Distance: from the interval of the two runs, in percent of the nearer end; 0 is inside.

The numbers of the host model are fitted without the model that is judged; its form (which parts a cost has, paces of
threads, one profiler cost for all events) was chosen with all six models in view, so the table is a little kinder than
a seventh model would be.

* **not left out**: as *recording*, with the shared costs of the host (`data/host`), which know the model. Where this is
  worse than the model left out, errors of the latter cancel: costs of unseen operators against the profiler's share.
* **recording**: operators, launches and kernel times of the recording; only the host is predicted.
* **graph, kernels recorded**: operators of the execution trace, kernel times of the recording.
* **graph alone**: execution trace and models; the recording is not read.

"""


def predict(program, host, *arguments):
    return run_json(program, "predict", *arguments, "--host", host, "--gpu", "h200")


def judge(program, traces, kernels, steps_file, interval, model, folder):
    host = pathlib.Path(folder) / f"{model}.csv"
    recordings = [traces / f"{name}.kineto.json.gz" for name in MODELS]
    run(program, "fit", "host", *recordings, "--steps", steps_file, "--without", model,
        "--kernels", *kernels, "-o", host)
    graph, recording = traces / f"{model}.et.json.gz", traces / f"{model}.kineto.json.gz"
    return {
        "model": model,
        "interval": interval,
        "shared": run_json(program, "predict", recording, "--gpu", "h200"),
        "recording": predict(program, host, recording),
        "linked": predict(program, host, graph, "--kineto", recording),
        "graph": predict(program, host, graph),
    }


def step_table(rows):
    yield "| model | measured ms | not left out | | recording | | graph, kernels recorded | | graph alone | | limit |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        cells = []
        for way in ("shared", "recording", "linked", "graph"):
            step_ms = row[way]["step_time_s"] * 1e3
            cells += [f"{step_ms:.2f}", f"{validation.distance(step_ms, *row['interval']):+.1f} %"]
        low, high = row["interval"]
        yield f"| {row['model']} | {low:.2f}–{high:.2f} | {' | '.join(cells)} | {MODELS[row['model']]} % |"


def active_table(rows):
    yield "| model | active GPU time, recorded ms | graph alone | | limit | waits for the host, graph alone | host costs by name |"
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
    measured = ROOT / "data" / "measured" / "h200"
    kernels = [path for kind in ("kernels", "attention") for path in sorted(measured.glob(f"{kind}-*.csv.*"))]
    steps_file = options.shared / "truth" / "h200_steps.csv"
    steps = {name: (min(times), max(times)) for name, times in validation.measured_steps(steps_file).items()}
    with tempfile.TemporaryDirectory() as folder:
        rows = [judge(options.program, options.shared / "traces" / "h200", kernels, steps_file, steps[model], model,
                      folder) for model in MODELS]
    text = HEAD + "\n".join([*step_table(rows), "", *active_table(rows), ""])
    validation.write(text, options.write)


if __name__ == "__main__":
    main()
