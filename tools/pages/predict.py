"""`orrery predict` on the recordings of ../shared/traces/h200.

For each model the host costs are fitted without it: neither a recording of it nor its measured steps are used, also not those of
data/traced under another name. Then its step is predicted from its recording, and from its execution trace and models alone. The
distance is that to the interval of the measured runs.
"""

import functools
import pathlib
import tempfile

import fit_host
from validation import SHARED, measured_steps, run_json, span, step_cells, table

TRACES = SHARED / "traces" / "h200"
STEPS = SHARED / "truth" / "h200_steps.csv"
NEEDS = (TRACES, STEPS)
# By model: its names in data/traced, and the limit in percent: GPU-bound steps are predicted more accurately than host-bound ones.
MODELS = {
    "gpt2-small-b4": (["gpt2"], 12),
    "resnet50-b64": (["resnet50"], 12),
    "dlrm-b2048": (["dlrm"], 12),
    "bert-large-b16": (["bert-large"], 12),
    "gpt2-xl-b8": ([], 5),
    "llama-1b-s2048-b4": (["llama-1b"], 5),
}
ACTIVE_LIMIT = 5


def predict(program, *arguments):
    return run_json(program, "predict", *arguments, "--gpu", "h200")


@functools.cache
def evaluate(program, model):
    """Predictions in sample, from the recording, and from the execution trace alone."""
    graph, recording = TRACES / f"{model}.et.json.gz", TRACES / f"{model}.kineto.json.gz"
    with tempfile.TemporaryDirectory() as folder:
        host = pathlib.Path(folder) / "host.csv"
        fit_host.fit(program, SHARED, host, [model, *MODELS[model][0]])
        return (predict(program, recording), predict(program, recording, "--host", host), predict(program, graph, "--host", host))


def steps(program):
    rows = []
    for model, (_, limit) in MODELS.items():
        measured = measured_steps([STEPS])[model]
        times_ms = [made["step_time_s"] * 1e3 for made in evaluate(program, model)]
        rows.append((model, span(measured),
                     *(cell for ms in times_ms for cell in step_cells(ms, measured)), f"{limit} %"))
    return table("model | measured ms | >in sample | > | >recording | > | >graph alone | > | >limit", rows)


def active_time(program):
    rows = []
    for model in MODELS:
        _, recording, graph = evaluate(program, model)
        recorded, predicted = recording["active_time_s"] * 1e3, graph["active_time_s"] * 1e3
        known = graph["host"]["costs_by_name"] / sum(cost for key, cost in graph["host"].items() if key.startswith("costs_"))
        rows.append((model, f"{recorded:.2f}", f"{predicted:.2f}", f"{100 * (predicted / recorded - 1):+.1f} %", f"{ACTIVE_LIMIT} %",
                     f"{100 * graph['host_bound']:.0f} %", f"{100 * known:.0f} %"))
    return table("model | >active GPU time, recorded ms | >graph alone | > | >limit | >waiting for the host, graph alone "
                 "| >host costs by name", rows)


TABLES = {"steps": steps, "active time": active_time}
