#!/usr/bin/env python3
"""Evaluates `orrery simulate --from` on traced jobs: replayed steps against measured ones, communication against formulas, and
whole jobs against the generator of `orrery simulate`.

    tools/validate_traced.py --program build/orrery [--shared ../shared] [--write docs/validation/traced.md]

The jobs of data/traced/h200 have the time that the host takes to issue a step: profiler overhead is solved from it, and
the steps are held out. The recordings of ../shared/traces/h200 have only step times; they are replayed with
the shared cost per event, and with the cost that reproduces the step, which evaluates nothing but shows how much
the costs of recordings differ.
"""

import json
import pathlib
import statistics
import tempfile

import traced_formulas
import validation
from validation import ROOT, distance, measured_steps, run_json

SHARED_MODELS = ["gpt2-small-b4", "resnet50-b64", "dlrm-b2048", "bert-large-b16", "gpt2-xl-b8", "llama-1b-s2048-b4"]

# Limits in percent. A step is host-bound where the GPU waits for the host for more than a tenth of the time.
GPU_BOUND_LIMIT = 3
HOST_BOUND_LIMIT = 6
HOST_BOUND_SHARE = 0.1

COMPARED = ["llama-1b-fsdp-64", "gpt2-ddp-64", "llama-1b-pp-4", "llama-1b-tp-8"]


def cost_of_event(answer):
    """The profiler cost per event, and how it was derived."""
    for rank in answer.get("replayed_ranks", []):
        return rank["profiler_cost_us"], rank["profiler_cost_from"]
    return None, "nothing measured"


def write_folder(folder, name, recording, step_ms):
    """Wraps a recording of another tool as a traced job of one rank."""
    rank = folder / "rank-0"
    rank.mkdir(parents=True)
    (rank / "kineto.json.gz").symlink_to(recording.resolve())
    (rank / "steps.json").write_text(json.dumps({"complete": True, "why": "",
                                                 "without_profiler": {"step_ms": step_ms}}))
    (rank / "collectives.json").write_text(json.dumps({"groups": [], "collectives": []}))
    (folder / "trace.json").write_text(json.dumps({
        "format": "orrery trace", "version": 1, "name": name, "device": {"name": "NVIDIA H200"}, "world": 1,
        "plan": {"kind": "single", "sharding": "none", "microbatches": 1, "mesh": []},
        "ranks": [{"rank": 0, "folder": "rank-0", "stands_for": "0"}], "remarks": []}))


def replay(program, folder, low, high):
    answer = run_json(program, "simulate", "--from", folder)
    step_ms = answer["step_time_s"] * 1e3
    cost_us, source = cost_of_event(answer)
    is_host_bound = answer["breakdown_s"].get("host", 0) > HOST_BOUND_SHARE * answer["step_time_s"]
    return {"step_ms": step_ms, "distance": distance(step_ms, low, high), "cost_us": cost_us, "source": source,
            "limit": HOST_BOUND_LIMIT if is_host_bound else GPU_BOUND_LIMIT}


def shared_rows(program, shared):
    steps = measured_steps(shared / "truth" / "h200_steps.csv")
    for name in SHARED_MODELS:
        low, high = min(steps[name]), max(steps[name])
        recording = shared / "traces" / "h200" / f"{name}.kineto.json.gz"
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write_folder(folder / "shared", name, recording, [])
            write_folder(folder / "own", name, recording, [low, high])
            yield (name, low, high, replay(program, folder / "shared", low, high),
                   replay(program, folder / "own", low, high))


def shared_table(rows):
    yield "| model | measured ms | shared cost | | limit | own cost | | µs/event | derived from |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---|"
    for name, low, high, shared, own in rows:
        yield (f"| {name} | {low:.2f}–{high:.2f} | {shared['step_ms']:.2f} | {shared['distance']:+.1f} % "
               f"| {shared['limit']} % | {own['step_ms']:.2f} | {own['distance']:+.1f} % | {own['cost_us']:.2f} | {own['source']} |")


def is_single(folder):
    """True if the whole model was traced on one GPU, so that the replay should take as long as its own step."""
    facts = facts_of(folder)
    model = facts.get("model", {})
    return facts.get("world") == 1 and model.get("layers") == model.get("traced_layers")


def traced_rows(program, folders):
    for folder in folders:
        steps = json.loads((folder / "rank-0" / "steps.json").read_text())
        runs = [steps["without_profiler"]] + steps.get("other_runs", [])
        medians = [statistics.median(run["step_ms"]) for run in runs]
        found = replay(program, folder, min(medians), max(medians))
        if found["source"] == "step time" and len(medians) > 1:  # its own process was used: only the others evaluate
            medians = medians[1:]
            found["distance"] = distance(found["step_ms"], min(medians), max(medians))
        yield folder.name, min(medians), max(medians), found


def traced_table(rows):
    yield "| model | measured ms | replayed | | limit | µs/event | derived from |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for name, low, high, found in rows:
        cost = "–" if found["cost_us"] is None else f"{found['cost_us']:.2f}"
        yield (f"| {name} | {low:.2f}–{high:.2f} | {found['step_ms']:.2f} | {found['distance']:+.1f} % | {found['limit']} % | {cost} "
               f"| {found['source']} |")


def facts_of(folder):
    return json.loads((folder / "trace.json").read_text())


def formula_table(folders):
    yield "| job | rank | collective | bytes | recorded | formula |"
    yield "|---|---:|---|---:|---:|---:|"
    for folder in folders:
        facts = facts_of(folder)
        for rank in (entry["rank"] for entry in facts["ranks"]):
            recorded, expected = traced_formulas.recorded(folder, rank), traced_formulas.expected(facts, rank)
            for kind, size in sorted(set(recorded) | set(expected)):
                yield (f"| {folder.name} | {rank} | {kind} | {size:,} | {recorded.get((kind, size), 0)} "
                       f"| {expected.get((kind, size), 0)} |")


def kernels_of(program, trace):
    """Of a step of rank 0."""
    return run_json(program, "info", trace)["ranks"][0]["counts"]["kernels"]


def issue_us(folder):
    """Time the host took to issue a step of rank 0."""
    steps = json.loads((folder / "rank-0" / "steps.json").read_text())
    return 1e3 * statistics.median(steps["without_profiler"]["issue_ms"])


def difference_of(program, before, after):
    """The diff of a step of two traces, in milliseconds."""
    parts = run_json(program, "diff", before, after)["step"]
    return [(parts["after"][key] - parts["before"][key]) * 1e-6 for key in
            ("compute_ns", "exposed_communication_ns", "idle_ns")]


def compared(program, folder, gpu):
    """Recorded and generated steps and the diff of their traces, with the generator's host and with the recorded one."""
    machine = ["--cluster", f"DGX {gpu}", "--gpu", gpu, "--trace"]
    with tempfile.TemporaryDirectory() as place:
        recorded, generated = f"{place}/recorded.orr", f"{place}/generated.orr"
        ours = run_json(program, "simulate", "--from", folder, *machine, recorded)["step_time_s"] * 1e3
        kernels = kernels_of(program, recorded)
        host_us = issue_us(folder) / kernels
        for settings in ([], ["--set", f"framework.launch_us={host_us:.2f}"]):
            theirs = run_json(program, "simulate", folder / "job.yaml", *settings, *machine, generated)
            yield {"job": folder.name, "gpu": gpu, "recorded_ms": ours, "generated_ms": theirs["step_time_s"] * 1e3,
                   "parts": difference_of(program, generated, recorded), "launch_us": host_us if settings else None,
                   "kernels": (kernels, kernels_of(program, generated))}


def generator_rows(program, root):
    for name in COMPARED:
        for gpu in ("H200", "H100"):
            yield from compared(program, root / name, gpu)


def generator_line(row):
    kernels = "{:,} | {:,}".format(*row["kernels"])
    host = "" if row["launch_us"] is None else f" {row['launch_us']:.1f} | {kernels} |"
    difference = 100 * (row["recorded_ms"] / row["generated_ms"] - 1)
    parts = " | ".join(f"{part:+.1f}" for part in row["parts"])
    return (f"| {row['job']} | {row['gpu']} |{host} {row['recorded_ms']:.1f} | {row['generated_ms']:.1f} "
            f"| {difference:+.1f} % | {parts} |")


def generator_table(rows):
    yield "| job | GPU | recorded ms | generated ms | difference | compute | exposed communication | idle |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    yield from (generator_line(row) for row in rows if row["launch_us"] is None)


def recorded_host_table(rows):
    yield ("| job | GPU | µs/kernel | kernels recorded | generated | recorded ms | generated ms | difference | compute "
           "| exposed communication | idle |")
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    yield from (generator_line(row) for row in rows if row["launch_us"] is not None)


def main():
    parser = validation.parser(__doc__.splitlines()[0], required=True)
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path("../shared"))
    options = parser.parse_args()
    folders = sorted(path.parent for path in (ROOT / "data" / "traced" / "h200").glob("*/trace.json"))
    single = [folder for folder in folders if is_single(folder)]
    several = [folder for folder in folders if traced_formulas.has_formula(facts_of(folder))]
    generated = list(generator_rows(options.program, folders[0].parent))
    validation.fill(options.write, {
        "traced jobs": traced_table(traced_rows(options.program, single)),
        "formulas": formula_table(several),
        "generator": generator_table(generated),
        "generator with the recorded host": recorded_host_table(generated),
        "shared recordings": shared_table(shared_rows(options.program, options.shared))})


if __name__ == "__main__":
    main()
