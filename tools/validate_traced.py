#!/usr/bin/env python3
"""Judges `orrery simulate --from` on traced jobs of one rank: the replayed step against the measured one.

    tools/validate_traced.py --program build/orrery [--shared ../shared] [--write docs/validation/traced.md]

Folders of data/traced/h200 have the time that the host takes to issue a step: the profiler's cost is found from it, and
the steps, which took no part, judge. The recordings of ../shared/traces/h200 have steps alone; they are replayed with
the shared cost of an event, and with the cost that makes the step right, which judges nothing but says how far apart
the costs of recordings are.
"""

import argparse
import csv
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SHARED_MODELS = ["gpt2-small-b4", "resnet50-b64", "dlrm-b2048", "bert-large-b16", "gpt2-xl-b8", "llama-1b-s2048-b4"]

# Limits in percent. A step is bound by the host where the GPU waits for it for more than a tenth of the time.
GPU_BOUND_LIMIT = 3
HOST_BOUND_LIMIT = 6
HOST_BOUND_SHARE = 0.1

HEAD = """# Replayed against measured steps

Made by `tools/validate_traced.py --program build/orrery --write docs/validation/traced.md`.

A recorded step is played again: its kernels as recorded, the host's times as recorded at each place less what the
profiler took for each event. Distance: from the interval of the measured runs, in percent of the nearer end; 0 is inside.
Limits: 3 % where the GPU binds the step, 6 % where it waits for the host for more than a tenth of it.
"""

TRACED_HEAD = """
## Traced jobs

`data/traced/h200`. The cost of an event is found from the time that the host takes to issue a step alone; the steps are
not fitted. Measured: the mean of one run.

"""

SHARED_HEAD = """
## Recordings without issue times

`../shared/traces/h200`, steps of two runs in `../shared/truth/h200_steps.csv`. *Shared cost*: that of `data/host`, which
was fitted to the steps of all six models together. *Own cost*: the one that makes the step that of the middle of both
runs, so its distance is no judgement; where the GPU binds the step there is none, and the shared one is taken.

"""


def simulate(program, folder):
    done = subprocess.run([program, "simulate", "--from", str(folder), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{folder}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def distance(value, low, high):
    if value < low:
        return 100 * (value / low - 1)
    return max(0.0, 100 * (value / high - 1))


def cost_of_event(answer):
    """The remark that says what the profiler took for each event, and how that was found."""
    for remark in answer.get("remarks", []):
        found = re.search(r"([\d.]+) us of the host's time for each recorded event .*\(from (.*)\)", remark)
        if found:
            return float(found[1]), found[2]
    return None, "nothing measured"


def measured_steps(path):
    steps = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            steps.setdefault(row["name"], []).append(float(row["step_ms"]))
    return steps


def write_folder(folder, name, recording, step_ms):
    """A traced job of one rank around a recording of another tool."""
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
    answer = simulate(program, folder)
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
    yield "| model | measured ms | shared cost | | limit | own cost | | µs an event | found from |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---|"
    for name, low, high, shared, own in rows:
        yield (f"| {name} | {low:.2f}–{high:.2f} | {shared['step_ms']:.2f} | {shared['distance']:+.1f} % "
               f"| {shared['limit']} % | {own['step_ms']:.2f} | {own['distance']:+.1f} % | {own['cost_us']:.2f} | {own['source']} |")


def is_single(folder):
    return json.loads((folder / "trace.json").read_text()).get("world") == 1


def traced_rows(program, folders):
    for folder in folders:
        steps = json.loads((folder / "rank-0" / "steps.json").read_text())["without_profiler"]["step_ms"]
        mean = statistics.fmean(steps)
        yield folder.name, mean, replay(program, folder, mean, mean)


def traced_table(rows):
    yield "| model | measured ms | replayed | | limit | µs an event | found from |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for name, mean, found in rows:
        cost = "–" if found["cost_us"] is None else f"{found['cost_us']:.2f}"
        yield (f"| {name} | {mean:.2f} | {found['step_ms']:.2f} | {found['distance']:+.1f} % | {found['limit']} % | {cost} "
               f"| {found['source']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path("../shared"))
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    folders = sorted(path.parent for path in (root / "data" / "traced" / "h200").glob("*/trace.json"))
    text = HEAD
    single = [folder for folder in folders if is_single(folder)]
    if single:
        text += TRACED_HEAD + "\n".join(traced_table(traced_rows(options.program, single))) + "\n"
    text += SHARED_HEAD + "\n".join(shared_table(shared_rows(options.program, options.shared))) + "\n"
    if options.write:
        options.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
