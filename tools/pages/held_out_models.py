"""Steps of the held-out models (tests/held_out_models): small models that nothing here was fitted to.

Each step is predicted from the execution trace alone, and with recorded kernels, that is from the recording. The distance is that
to the interval of the processes that were measured. Host costs are fitted without the model. The second half and the third part were
predicted before they were measured (predicted-before.csv).
"""

import functools
import json
import pathlib
import subprocess
import tempfile

import fit_host
from validation import ROOT, SHARED, measured_steps, percent_outside, rows_of, span, step_cells, table

NEEDS = (SHARED,)
DATA = ROOT / "data" / "held_out_models" / "h200"
STEPS = measured_steps(sorted(DATA.glob("steps-*.csv")), "model")
GRAPH, RECORDING = "execution trace alone", "with recorded kernels"
FILES = {GRAPH: "et", RECORDING: "kineto"}
LIMITS = {GRAPH: "8 % mean, 15 % largest", RECORDING: "6 % each"}


def predict(program, path, host):
    """The prediction; a refusal or an error is its sentence."""
    command = [str(word) for word in (program, "predict", path, *host, "--gpu", "h200", "--json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode in (0, 3, 4) else done.stderr.strip()


def host_of(program, name, temporary):
    """Options for host costs fitted without the recording and the steps of the model; none where it is not part of the fit."""
    traced = [f"held-out-{name}"] if (fit_host.TRACED / f"held-out-{name}").exists() else []
    if not traced and name not in fit_host.CHECKPOINTED:
        return []
    path = pathlib.Path(temporary) / f"{name}.csv"
    fit_host.fit(program, SHARED, path, traced, [name])
    return ["--host", path]


@functools.cache
def evaluate(program, name):
    """{way: prediction or sentence}."""
    with tempfile.TemporaryDirectory() as temporary:
        host = host_of(program, name, temporary)
        return {way: predict(program, next(DATA.glob(f"{name}.{kind}.*")), host) for way, kind in FILES.items()}


def step_row(name, measured, made):
    row = [name, span(measured)]
    for of_way in made.values():
        row += ("–", of_way.split(": ")[-1][:60]) if isinstance(of_way, str) else step_cells(of_way["step_time_s"] * 1e3, measured)
    graph, recording = ({} if isinstance(made[way], str) else made[way] for way in (GRAPH, RECORDING))
    share = graph.get("unmodelled_share")
    row.append("–" if share is None else f"{100 * share:.1f} %")
    return row + [f"{of_way['active_time_s'] * 1e3:.2f}" if of_way else "–" for of_way in (recording, graph)]


def steps(program):
    return table(f"model | measured ms | >{GRAPH} | > | >{RECORDING} | > | >unmodelled | >GPU active, recorded ms | >alone",
                 (step_row(name, measured, evaluate(program, name)) for name, measured in STEPS.items()))


def summary(program):
    rows = []
    for way, limit in LIMITS.items():
        made = {name: evaluate(program, name)[way] for name in STEPS}
        off = [abs(percent_outside(of_model["step_time_s"] * 1e3, STEPS[name])) for name, of_model in made.items()
               if not isinstance(of_model, str)]
        rows.append((way, f"{sum(off) / max(1, len(off)):.1f} %", f"{max(off, default=0):.1f} %", limit, len(made) - len(off)))
    return table(" | >mean | >largest | limit | >refused", rows)


def predicted_before(_):
    return table(f"model | measured ms | >{GRAPH} | > | >{RECORDING} | > | >unmodelled", (
        (row["model"], span(STEPS[row["model"]]),
         *(cell for key in ("execution_trace_ms", "recording_ms") for cell in step_cells(float(row[key]), STEPS[row["model"]])),
         f"{100 * float(row['unmodelled_share']):.1f} %") for row in rows_of(DATA / "predicted-before.csv")))


TABLES = {"steps": steps, "summary": summary, "predicted before": predicted_before}
