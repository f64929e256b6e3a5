#!/usr/bin/env python3
"""Predicts the steps of the held-out models (tests/held_out_models): small models that nothing here was fitted to.

    tools/validate_held_out_models.py --program build/orrery [--write docs/validation/held-out-models.md]

Each step is predicted from the execution trace alone, and with recorded kernels, that is from the recording. The distance is that
to the interval of the processes that were measured. Host costs are fitted without the model. The second half and the third part were
predicted before they were measured (predicted-before.csv).
"""

import json
import pathlib
import subprocess
import tempfile

import fit_host
import validation
from validation import ROOT

WAYS = {
    "graph": ("execution trace alone", "{graph}"),
    "recording": ("with recorded kernels", "{recording}"),
}
MEAN_LIMIT, LARGEST_LIMIT, RECORDED_LIMIT = 8, 15, 6


def predict(program, words):
    """The prediction; a refusal or an error is its sentence."""
    command = [str(word) for word in (program, "predict", *words, "--gpu", "h200", "--json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode in (0, 3, 4) else done.stderr.strip()


def files_of(folder, name):
    return {"graph": next(folder.glob(f"{name}.et.*")), "recording": next(folder.glob(f"{name}.kineto.*"))}


def host_of(program, name, temporary):
    """Options for host costs fitted without the recording and the steps of the model; none where it is not part of the fit."""
    traced = [f"held-out-{name}"] if (fit_host.TRACED / f"held-out-{name}").exists() else []
    if not traced and name not in fit_host.CHECKPOINTED:
        return []
    path = pathlib.Path(temporary) / f"{name}.csv"
    fit_host.fit(program, validation.SHARED, path, traced, [name])
    return ["--host", path]


def evaluate(program, folder, name, steps, host):
    files = files_of(folder, name)
    low, high = min(steps), max(steps)
    row = {"model": name, "interval": (low, high)}
    for way, (_, *words) in WAYS.items():
        made = predict(program, [*(word.format(**files) for word in words), *host])
        row[way] = made if isinstance(made, str) else {
            "step_ms": made["step_time_s"] * 1e3, "active_ms": made["active_time_s"] * 1e3,
            "off": validation.distance(made["step_time_s"] * 1e3, low, high),
            "unmodelled": made.get("unmodelled_share")}
    return row


def cells(row, way):
    made = row[way]
    if isinstance(made, str):
        return ["–", made.split(": ")[-1][:60]]
    return [f"{made['step_ms']:.2f}", f"{made['off']:+.1f} %"]


def step_table(rows):
    yield validation.line("model", "measured ms", *(cell for name, *_ in WAYS.values() for cell in (name, "")),
                          "unmodelled", "GPU active, recorded ms", "alone")
    yield "|---|---|" + "---:|" * (2 * len(WAYS) + 3)
    for row in rows:
        low, high = row["interval"]
        graph, recording = row["graph"], row["recording"]
        share = graph["unmodelled"] if isinstance(graph, dict) else None
        active = [f"{made['active_ms']:.2f}" if isinstance(made, dict) else "–" for made in (recording, graph)]
        yield validation.line(row["model"], f"{low:.2f}–{high:.2f}", *(cell for way in WAYS for cell in cells(row, way)),
                              "–" if share is None else f"{100 * share:.1f} %", *active)


def summary_table(rows):
    yield validation.line("", "mean", "largest", "limit", "refused")
    yield "|---|---:|---:|---|---:|"
    for way, (name, *_) in WAYS.items():
        off = [abs(row[way]["off"]) for row in rows if isinstance(row[way], dict)]
        limit = f"{MEAN_LIMIT} % mean, {LARGEST_LIMIT} % largest" if way == "graph" else f"{RECORDED_LIMIT} % each"
        yield validation.line(name, f"{sum(off) / max(1, len(off)):.1f} %", f"{max(off, default=0):.1f} %", limit,
                              len(rows) - len(off))


def blind_table(path, steps):
    yield validation.line("model", "measured ms", "execution trace alone", "", "with recorded kernels", "", "unmodelled")
    yield "|---|---|---:|---:|---:|---:|---:|"
    for row in validation.rows_of(path):
        low, high = min(steps[row["model"]]), max(steps[row["model"]])
        made = [float(row[key]) for key in ("execution_trace_ms", "recording_ms")]
        yield validation.line(row["model"], f"{low:.2f}–{high:.2f}",
                              *(cell for ms in made for cell in (f"{ms:.2f}", f"{validation.distance(ms, low, high):+.1f} %")),
                              f"{100 * float(row['unmodelled_share']):.1f} %")


def main():
    parser = validation.parser(__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "data" / "held_out_models" / "h200")
    options = parser.parse_args()
    steps = {}
    for path in sorted(options.data.glob("steps-*.csv")):
        for row in validation.rows_of(path):
            steps.setdefault(row["model"], []).append(float(row["step_ms"]))
    with tempfile.TemporaryDirectory() as temporary:
        rows = [evaluate(options.program, options.data, name, steps[name], host_of(options.program, name, temporary))
                for name in steps]
    validation.fill(options.write, {"steps": list(step_table(rows)), "summary": list(summary_table(rows)),
                                    "predicted before": list(blind_table(options.data / "predicted-before.csv", steps))})


if __name__ == "__main__":
    main()
