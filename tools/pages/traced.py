"""`orrery simulate --from` on traced jobs: replayed steps against measured ones, communication against formulas, and whole jobs
against the generator of `orrery simulate`.

The jobs of data/traced/h200 have the time that the host takes to issue a step: profiler overhead is solved from it, and the steps are
held out. The recordings of ../shared/traces/h200 have only step times; they are replayed with the shared cost per event, and with the
cost that reproduces the step, which evaluates nothing but shows how much the costs of recordings differ.
"""

import functools
import json
import pathlib
import statistics
import tempfile

import traced_formulas
from validation import ROOT, SHARED, measured_steps, run_json, span, step_cells, table

JOBS = ROOT / "data" / "traced" / "h200"
FOLDERS = sorted(path.parent for path in JOBS.glob("*/trace.json"))
STEPS = SHARED / "truth" / "h200_steps.csv"
NEEDS = (STEPS,)
SHARED_MODELS = ("gpt2-small-b4", "resnet50-b64", "dlrm-b2048", "bert-large-b16", "gpt2-xl-b8", "llama-1b-s2048-b4")
COMPARED = ("llama-1b-fsdp-64", "gpt2-ddp-64", "llama-1b-pp-4", "llama-1b-tp-8")

# Limits in percent. A step is host-bound where the GPU waits for the host for more than a tenth of the time.
GPU_BOUND_LIMIT = 3
HOST_BOUND_LIMIT = 6
HOST_BOUND_SHARE = 0.1


def content_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def replay(program, folder):
    """(milliseconds of a step, limit, microseconds of the profiler per event, how they were derived)."""
    made = run_json(program, "simulate", "--from", folder)
    is_host_bound = made["breakdown_s"].get("host", 0) > HOST_BOUND_SHARE * made["step_time_s"]
    rank = next(iter(made.get("replayed_ranks", [])), None)
    cost = (f"{rank['profiler_cost_us']:.2f}", rank["profiler_cost_from"]) if rank else ("–", "nothing measured")
    return made["step_time_s"] * 1e3, f"{HOST_BOUND_LIMIT if is_host_bound else GPU_BOUND_LIMIT} %", *cost


def is_single(folder):
    """True if the whole model was traced on one GPU, so that the replay should take as long as its own step."""
    facts = content_of(folder / "trace.json")
    model = facts.get("model", {})
    return facts.get("world") == 1 and model.get("layers") == model.get("traced_layers")


def traced_row(program, folder):
    steps = content_of(folder / "rank-0" / "steps.json")
    medians = [statistics.median(run["step_ms"]) for run in [steps["without_profiler"], *steps.get("other_runs", [])]]
    step_ms, limit, cost, source = replay(program, folder)
    if source == "step time" and len(medians) > 1:  # its own process was used: only the others evaluate
        medians = medians[1:]
    return folder.name, span(medians), *step_cells(step_ms, medians), limit, cost, source


def traced_jobs(program):
    return table("model | measured ms | >replayed | > | >limit | >µs/event | derived from",
                 (traced_row(program, folder) for folder in FOLDERS if is_single(folder)))


def formulas(_):
    rows = []
    for folder in FOLDERS:
        facts = content_of(folder / "trace.json")
        for rank in (entry["rank"] for entry in facts["ranks"] if traced_formulas.has_formula(facts)):
            recorded, expected = traced_formulas.recorded(folder, rank), traced_formulas.expected(facts, rank)
            rows += [(folder.name, rank, kind, f"{size:,}", recorded.get((kind, size), 0), expected.get((kind, size), 0))
                     for kind, size in sorted({*recorded, *expected})]
    return table("job | >rank | collective | >bytes | >recorded | >formula", rows)


def kernels_of(program, trace):
    """Of a step of rank 0."""
    return run_json(program, "info", trace)["ranks"][0]["counts"]["kernels"]


@functools.cache
def compared(program, name, gpu):
    """The row of a job and a GPU with the generator's host, and that with the recorded one."""
    machine, rows = ("--cluster", f"DGX {gpu}", "--gpu", gpu, "--trace"), []
    issue_ms = statistics.median(content_of(JOBS / name / "rank-0" / "steps.json")["without_profiler"]["issue_ms"])
    with tempfile.TemporaryDirectory() as place:
        recorded, generated = f"{place}/recorded.orr", f"{place}/generated.orr"
        ours = run_json(program, "simulate", "--from", JOBS / name, *machine, recorded)["step_time_s"] * 1e3
        kernels = kernels_of(program, recorded)
        launch_us = 1e3 * issue_ms / kernels
        for settings in ((), ("--set", f"framework.launch_us={launch_us:.2f}")):
            theirs = run_json(program, "simulate", JOBS / name / "job.yaml", *settings, *machine, generated)["step_time_s"] * 1e3
            step = run_json(program, "diff", generated, recorded)["step"]
            parts = [(step["after"][key] - step["before"][key]) * 1e-6 for key in ("compute_ns", "exposed_communication_ns", "idle_ns")]
            host = (f"{launch_us:.1f}", f"{kernels:,}", f"{kernels_of(program, generated):,}") if settings else ()
            rows.append((name, gpu, *host, f"{ours:.1f}", f"{theirs:.1f}", f"{100 * (ours / theirs - 1):+.1f} %",
                         *(f"{part:+.1f}" for part in parts)))
    return rows


TIMES = ">recorded ms | >generated ms | >difference | >compute | >exposed communication | >idle"


def generator(program):
    return table(f"job | GPU | {TIMES}", (compared(program, name, gpu)[0] for name in COMPARED for gpu in ("H200", "H100")))


def generator_with_recorded_host(program):
    return table(f"job | GPU | >µs/kernel | >kernels recorded | >generated | {TIMES}",
                 (compared(program, name, gpu)[1] for name in COMPARED for gpu in ("H200", "H100")))


def wrapped(folder, name, step_ms):
    """A recording of another tool as a traced job of one rank."""
    rank = folder / "rank-0"
    rank.mkdir(parents=True)
    (rank / "kineto.json.gz").symlink_to((SHARED / "traces" / "h200" / f"{name}.kineto.json.gz").resolve())
    for path, content in (
            (rank / "steps.json", {"complete": True, "why": "", "without_profiler": {"step_ms": step_ms}}),
            (rank / "collectives.json", {"groups": [], "collectives": []}),
            (folder / "trace.json", {
                "format": "orrery trace", "version": 1, "name": name, "device": {"name": "NVIDIA H200"}, "world": 1,
                "plan": {"kind": "single", "sharding": "none", "microbatches": 1, "mesh": []},
                "ranks": [{"rank": 0, "folder": "rank-0", "stands_for": "0"}], "remarks": []})):
        path.write_text(json.dumps(content))
    return folder


def shared_recordings(program):
    rows = []
    for name in SHARED_MODELS:
        measured = measured_steps([STEPS])[name]
        with tempfile.TemporaryDirectory() as place:
            shared_ms, limit, *_ = replay(program, wrapped(pathlib.Path(place) / "shared", name, []))
            own_ms, _, *cost = replay(program, wrapped(pathlib.Path(place) / "own", name, [min(measured), max(measured)]))
        rows.append((name, span(measured), *step_cells(shared_ms, measured), limit, *step_cells(own_ms, measured), *cost))
    return table("model | measured ms | >shared cost | > | >limit | >own cost | > | >µs/event | derived from", rows)


TABLES = {"traced jobs": traced_jobs, "formulas": formulas, "generator": generator,
          "generator with the recorded host": generator_with_recorded_host, "shared recordings": shared_recordings}
