"""Steps of the held-out models (tests/held_out_models): small models that nothing here was fitted to.

Each step is predicted from the execution trace alone, and with recorded kernels, that is from the recording. The distance is that
to the interval of the processes that were measured. Host costs are fitted without the model. The second half and later parts were
predicted before they were measured, or before their errors were looked at (predicted-before.csv). Models of development have their own table: their
errors were known when the rules that they need were written.
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
DEVELOPMENT = (SHARED / "traces" / "h200-models", ROOT / "data" / "operator_models" / "h200")
GRAPH, RECORDING = "execution trace alone", "with recorded kernels"
FILES = {GRAPH: "et", RECORDING: "kineto"}
LIMITS = {GRAPH: "8 % mean, 15 % largest", RECORDING: "6 % each"}


def steps_of(folder):
    """{model: milliseconds of a step in each process, or the least and the largest}."""
    found = measured_steps(sorted(folder.glob("steps-*.csv")), "model")
    if (folder / "steps.csv").exists():
        found.update((row["model"], [float(row["low_ms"]), float(row["high_ms"])]) for row in rows_of(folder / "steps.csv"))
    return found


STEPS = steps_of(DATA)


def predict(program, path, host):
    """The prediction; a refusal or an error is its sentence."""
    command = [str(word) for word in (program, "predict", path, *host, "--gpu", "h200", "--json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        return done.stderr.strip()
    made = json.loads(done.stdout)
    return made if "step_time_s" in made else "not a step: the trace waits for a data loader"


def host_of(program, name, temporary):
    """Options for host costs fitted without the recording and the steps of the model; none where it is not part of the fit."""
    traced = [f"held-out-{name}"] if (fit_host.TRACED / f"held-out-{name}").exists() else []
    if not traced and name not in fit_host.CHECKPOINTED:
        return []
    path = pathlib.Path(temporary) / f"{name}.csv"
    fit_host.fit(program, SHARED, path, traced, [name])
    return ["--host", path]


@functools.cache
def evaluate(program, name, folder=DATA):
    """{way: prediction or sentence}."""
    with tempfile.TemporaryDirectory() as temporary:
        host = host_of(program, name, temporary) if folder == DATA else []
        return {way: predict(program, next(folder.glob(f"{name}.{kind}.*")), host) for way, kind in FILES.items()}


def step_row(name, measured, made):
    row = [name, span(measured)]
    for of_way in made.values():
        row += ("–", of_way.split(": ")[-1][:60]) if isinstance(of_way, str) else step_cells(of_way["step_time_s"] * 1e3, measured)
    graph, recording = ({} if isinstance(made[way], str) else made[way] for way in (GRAPH, RECORDING))
    share = graph.get("unmodelled_share")
    row.append("–" if share is None else f"{100 * share:.1f} %")
    return row + [f"{of_way['active_time_s'] * 1e3:.2f}" if of_way else "–" for of_way in (recording, graph)]


HEADS = f"model | measured ms | >{GRAPH} | > | >{RECORDING} | > | >unmodelled | >GPU active, recorded ms | >alone"


def steps(program):
    return table(HEADS, (step_row(name, measured, evaluate(program, name)) for name, measured in STEPS.items()))


def is_inside(measured, made):
    """Returns true if the 80 % interval holds the middle of the processes."""
    return made["low_s"] * 1e3 <= (min(measured) + max(measured)) / 2 <= made["high_s"] * 1e3


def summary_row(way, models):
    """The errors of models: pairs of measured steps and a prediction, which is a sentence where it was refused."""
    made = [(measured, of_model) for measured, of_model in models if not isinstance(of_model, str)]
    off = [abs(percent_outside(of_model["step_time_s"] * 1e3, measured)) for measured, of_model in made]
    inside = sum(is_inside(measured, of_model) for measured, of_model in made)
    return (way, f"{sum(off) / max(1, len(off)):.1f} %", f"{max(off, default=0):.1f} %", LIMITS[way], f"{inside} of {len(made)}",
            len(models) - len(made))


SUMMARY = " | >mean | >largest | limit | >in the 80 % interval | >refused"


def summary(program):
    return table(SUMMARY, (summary_row(way, [(measured, evaluate(program, name)[way]) for name, measured in STEPS.items()])
                           for way in LIMITS))


def development(program):
    models = [(name, folder, measured) for folder in DEVELOPMENT for name, measured in steps_of(folder).items()]
    yield from table(HEADS, (step_row(name, measured, evaluate(program, name, folder)) for name, folder, measured in models))
    yield ""
    yield from table(SUMMARY, (summary_row(way, [(measured, evaluate(program, name, folder)[way]) for name, folder, measured in models])
                               for way in LIMITS))


def predicted_before(_):
    return table(f"model | measured ms | >{GRAPH} | > | >{RECORDING} | > | >unmodelled", (
        (row["model"], span(STEPS[row["model"]]),
         *(cell for key in ("execution_trace_ms", "recording_ms")
           for cell in (step_cells(float(row[key]), STEPS[row["model"]]) if row[key] else ("–", "refused"))),
         f"{100 * float(row['unmodelled_share'] or 0):.1f} %") for row in rows_of(DATA / "predicted-before.csv")))


TABLES = {"steps": steps, "summary": summary, "development": development, "predicted before": predicted_before}
