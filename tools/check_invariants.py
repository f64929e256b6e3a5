#!/usr/bin/env python3
"""Checks that the program gives one number for one thing, over all examples and over our own and shared runs.

    tools/check_invariants.py --program build/orrery [--shared ../shared] [--write docs/validation/invariants.md]

Every invariant is a rule on the documents of one or two commands. A run that is not there is skipped by name. --write
puts the table of invariants, with how often each was checked, into a document.

Exit status: 0 all hold, 1 some do not.
"""

import argparse
import collections
import concurrent.futures
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST_GAIN = 0.01
TRACED_EXAMPLES = ["gpt-345m-dp", "gpt-345m-tp", "gpt-345m-pp", "mixtral-8x7b-64-h100",
                   "llama3-70b-512-h100"]  # small enough for their traces to be analysed
OWN_RUNS = ["tests/data/kineto/two_ranks"]
SHARED_RUNS = ["astra-sim/megatron-tp8", "param/dlrm-8gpu", "h200/gpt2-small-b4.kineto.json.gz",
               "h200/resnet50-b64.kineto.json.gz", "h200/fake-fsdp64.kineto.json.gz", "hta/triton_example"]
METRICS = ["straggler", "launch_bound_time", "idle_breakdown", "temporal_breakdown", "what_if", "critical_path",
           "communication_overhead", "exposed_comm_time", "iteration_wall_clock_time", "aggregate_gpu_utilization"]
INVARIANTS = {}  # by its key


def invariant(key, text):
    INVARIANTS[key] = text
    return key


SUM = invariant("simulate.sum", "`simulate`: the parts of `breakdown_s` add up to `step_time_s`")
HFU = invariant("simulate.hfu", "`simulate`: HFU ≥ MFU, `hardware_flops` ≥ `model_flops`")
BUBBLE = invariant("simulate.bubble", "`simulate`: a share in the sentence on the bottleneck is that of the table")
SLOWEST = invariant("simulate.slowest", "`simulate`: no stage is busier than the rank that is called the slowest")
EXPOSED = invariant("simulate.exposed", "`simulate`: exposed communication by dimension is that of the breakdown")
RATE = invariant("simulate.rate", "`simulate`: samples per second × step time = global batch")
MEMORY = invariant("simulate.memory", "one usable memory for a GPU, from every command; out of memory means more than it")
ADVICE = invariant("simulate.advice", "`simulate`: advice gains at least 1 %, fits into memory and is not on already")
PAGE = invariant("simulate.page", "`simulate`: step, slowest rank, bottleneck and advice are the same in JSON and HTML")
TRACE = invariant("trace.step", "`simulate --trace`, then `analyze`: the same step and the same exposed communication")
BUBBLES = invariant("trace.bubble", "`simulate --trace`, then `analyze`: the same bubble, of the mean and of the slowest rank")
DIMENSIONS = invariant("trace.dimensions", "`simulate --trace`, then `analyze`: the same calls and bytes, and exposed transfers by dimension")
WINDOW = invariant("analyze.sum", "`analyze`: compute, exposed communication, memory and idle time add up to the window")
IDLE = invariant("analyze.idle", "`analyze`: causes of idle time add up to it; idle + utilisation = 100 %")
LAUNCH = invariant("analyze.launch", "`analyze`: launch-bound time ≤ idle time")
OVERHEAD = invariant("analyze.overhead", "`analyze`: `communication_overhead` is the exposed part of `temporal_breakdown`")
PATH = invariant("analyze.path", "`analyze`: classes of the critical path add up to it")
STRAGGLER = invariant("analyze.straggler", "`analyze`: what fixing the worst straggler saves is the same in metric and page")
WHAT_IF = invariant("analyze.what_if", "`analyze`: a gain in the findings is that of the metric `what_if`")
SAME = invariant("diff.same", "`diff` of a run with itself: as fast, nothing worse, and the step of `analyze`")
PARTS = invariant("diff.sum", "`diff`: parts of the step add up to its time on the device")


class Checker:
    """Runs commands and collects what does not hold."""

    def __init__(self, program):
        self.program = program
        self.checks = collections.Counter()
        self.failures = []
        self.usable = {}  # bytes by GPU

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3, 4):
            raise RuntimeError(f"orrery {' '.join(map(str, arguments))}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def expect(self, key, place, holds, detail):
        self.checks[key] += 1
        if not holds:
            self.failures.append(f"{place}: {INVARIANTS[key]}: {detail}")

    def equal(self, key, place, first, second, relative=1e-9):
        close = abs(first - second) <= relative * max(abs(first), abs(second), 1e-12)
        self.expect(key, place, close, f"{first:.9g} and {second:.9g}")


def page_text(path):
    """The text of a page, without its marks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8"))).split())


def own_work(breakdown):
    return sum(time for part, time in breakdown.items()
               if part.startswith(("compute.", "optimizer", "exposed.")) and part != "exposed.pp")


def check_simulation(check, place, answer, page):
    step, breakdown = answer["step_time_s"], answer["breakdown_s"]
    check.equal(SUM, place, sum(breakdown.values()), step)
    if answer["mfu"] and answer["hfu"]:
        check.expect(HFU, place, answer["hfu"] >= answer["mfu"] * (1 - 1e-12), f"{answer['hfu']} < {answer['mfu']}")
    for pattern, part in ((r"bubble, (\d+) %", "bubble"), (r"exposed (\w+) communication, (\d+) %", "exposed.")):
        found = re.search(pattern, answer["bottleneck"])
        if found:
            key = part if part == "bubble" else part + found.group(1)
            share = 100 * breakdown.get(key, 0) / step
            check.expect(BUBBLE, place, abs(int(found.groups()[-1]) - share) <= 0.51, f"{found.group(0)}, table {share:.1f} %")
    busiest = max((stage.get("busy_s", 0) for stage in answer["stages"]), default=0)
    check.expect(SLOWEST, place, own_work(breakdown) >= busiest * (1 - 1e-9), f"{own_work(breakdown)} < {busiest}")
    for dimension in answer["communication"]:
        name = dimension["dimension"]
        check.equal(EXPOSED, place + " " + name, dimension["exposed_s"],
                    breakdown.get("exposed." + name, 0) + breakdown.get("wait." + name, 0))
    check_memory(check, place, answer)
    check_advice(check, place, answer)
    check.expect(PAGE, place, f"{step:.4g} s" in page, "the step is not on the page")
    check.expect(PAGE, place, f"rank {answer['breakdown_rank']}, the slowest" in page, "the slowest rank is not on the page")
    check.expect(PAGE, place, " ".join(answer["bottleneck"].split()) in page, "the bottleneck is not on the page")
    for advice in answer["advice"]:
        if advice["is_worthwhile"]:
            check.expect(PAGE, place, advice["setting"] in page, f"{advice['setting']} is not on the page")


def check_memory(check, place, answer):
    usable, needed = answer["memory_usable_bytes"], answer["memory_needed_bytes"]
    if usable is None or needed is None:
        return
    check.expect(MEMORY, place, answer["out_of_memory"] == (needed > usable), f"{needed} of {usable}")
    gpu = re.search(r"(?:on \d+ |simulated on |traced on )([A-Z0-9-]+(?:GB)?)", answer["job"]["title"])
    if gpu:
        first = check.usable.setdefault(gpu.group(1), usable)
        check.expect(MEMORY, place, first == usable, f"{gpu.group(1)} has {first} and {usable} bytes")


def check_advice(check, place, answer):
    settings = {f"{section}.{key}={value}" for section, facts in answer["job"].items() if isinstance(facts, dict)
                for key, value in facts.items()}
    for advice in answer["advice"]:
        is_good = advice["gain"] >= LEAST_GAIN and advice["fits_in_memory"]
        check.expect(ADVICE, place, advice["is_worthwhile"] == is_good, advice)
        check.expect(ADVICE, place, advice["setting"] not in settings, f"{advice['setting']} is on")


def check_example(check, path, folder):
    place = path.name
    page = folder / (path.stem + ".html")
    answer = json.loads(check.run("simulate", path, "--json", "--html", page))
    check_simulation(check, place, answer, page_text(page))
    training = answer["job"].get("training", {})
    if "global_batch" in training:
        check.equal(RATE, place, answer["samples_per_s"] * answer["step_time_s"], float(training["global_batch"].replace(",", "")))
    if path.stem in TRACED_EXAMPLES:
        check_trace(check, place, answer, folder / (path.stem + ".orr"), path)


def check_trace(check, place, answer, trace, path):
    check.run("simulate", path, "--trace", trace)
    metrics = json.loads(check.run("analyze", trace, "--metric", "iteration_wall_clock_time", "--metric",
                                   "exposed_comm_time", "--metric", "bubble_size_pipeline", "--json"))["metrics"]
    for name, key in (("iteration_wall_clock_time", "step_time_s"), ("exposed_comm_time", "exposed_communication_s")):
        if metrics[name]["value"] is not None:  # a trace counts nanoseconds, and each event is rounded
            check.equal(TRACE, f"{place} {name}", metrics[name]["value"], answer[key], relative=1e-3)
    if "bubble" in answer:
        check_bubble(check, place, answer, metrics["bubble_size_pipeline"])
    check_dimensions(check, place, answer, trace)


def check_bubble(check, place, answer, metric):
    slowest = next(row for row in metric["detail"]["per_stage"] if row["rank"] == answer["breakdown_rank"])
    for name, key, percent in (("mean", "mean_s", metric["value"]), ("slowest", "slowest_rank_s", slowest["bubble_percent"])):
        share = 100 * answer["bubble"][key] / answer["step_time_s"]
        check.expect(BUBBLES, f"{place} {name}", abs(percent - share) <= 0.5, f"{percent:.2f} % and {share:.2f} %")


def check_dimensions(check, place, answer, trace):
    """Of the slowest rank. Transfers of two dimensions at once are shared in a trace; the simulation names the first."""
    metrics = json.loads(check.run("analyze", trace, "--rank", answer["breakdown_rank"], "--metric", "exposed_comm_time",
                                   "--metric", "collective_vol_total_gb", "--json"))["metrics"]
    ours = {key.split(".")[1]: time for key, time in answer["breakdown_s"].items() if key.startswith("exposed.")}
    theirs = {row["dimension"]: 1e-6 * row["transfer_us"] for row in (metrics["exposed_comm_time"]["detail"] or {}).get("per_dimension", [])}
    for dimension in ours.keys() & {"tp", "dp", "pp", "cp", "ep"}:
        difference = abs(ours[dimension] - theirs.get(dimension, 0)) / answer["step_time_s"]
        check.expect(DIMENSIONS, f"{place} {dimension}", difference <= 2e-3, f"{ours[dimension]} s and {theirs.get(dimension, 0)} s")
    row = next(row for row in metrics["collective_vol_total_gb"]["detail"]["per_rank"] if row["rank"] == answer["breakdown_rank"])
    for key in ("calls", "bytes"):
        check.equal(DIMENSIONS, f"{place} {key}", row[key], sum(total[key] for total in answer["communication"]))


def check_run(check, path, folder):
    place = str(path)
    page = folder / (re.sub(r"\W", "_", place) + ".html")
    options = [option for metric in METRICS for option in ("--metric", metric)]
    metrics = json.loads(check.run("analyze", path, *options, "--json", "--html", page))["metrics"]
    value = {name: metric["value"] for name, metric in metrics.items()}
    detail = {name: metric["detail"] for name, metric in metrics.items()}
    if value["temporal_breakdown"] is not None:
        check_time(check, place, value, detail)
    if value["critical_path"] is not None:
        check.equal(PATH, place, sum(detail["critical_path"]["by_class"].values()), 1e9 * value["critical_path"], 1e-6)
    check_findings(check, place, value, detail, page_text(page))
    check_diff(check, path, value)


def check_time(check, place, value, detail):
    rows = detail["temporal_breakdown"]["per_rank"]
    shares = []
    for row in rows:
        parts = ("compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns")
        check.equal(WINDOW, f"{place} rank {row['rank']}", sum(row[part] for part in parts), row["window_ns"])
        shares.append(row["exposed_communication_ns"] / row["window_ns"] if row["window_ns"] else 0)
    if value["communication_overhead"] is not None:
        check.equal(OVERHEAD, place, value["communication_overhead"], sum(shares) / len(shares))
    if value["idle_breakdown"] is not None:
        for row in detail["idle_breakdown"]["per_rank"]:
            causes = sum(time for key, time in row.items() if key.endswith("_ns") and key != "idle_ns")
            check.equal(IDLE, f"{place} rank {row['rank']}", causes, row["idle_ns"])
        check.equal(IDLE, place, value["idle_breakdown"] + value["aggregate_gpu_utilization"], 100)
        check.expect(LAUNCH, place, value["launch_bound_time"] <= value["idle_breakdown"] + 1e-9,
                     f"{value['launch_bound_time']} % of {value['idle_breakdown']} %")


def in_us(number, unit):
    return float(number) * {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6}[unit]


def check_findings(check, place, value, detail, page):
    if value["straggler"] is not None:
        worst = detail["straggler"]["per_rank"][0]
        said = re.search(r"Rank (\d+) causes .*?; fixing it alone saves ([\d.]+) (ns|µs|ms|s) of the step", page)
        if said and "saved_us" in worst:
            check.expect(STRAGGLER, place, int(said.group(1)) == worst["rank"], f"rank {said.group(1)}, {worst['rank']}")
            check.equal(STRAGGLER, place, in_us(*said.groups()[1:]), worst["saved_us"], 0.006)
    if value["what_if"] is not None:
        gains = {row["question"]: -row["change_percent"] for row in detail["what_if"]["questions"]}
        for text, what in re.findall(r"With (?:a |the )?(network|compute|host) twice as fast the step would be ([\d.]+) %", page):
            check.equal(WHAT_IF, f"{place} {text}", float(what), gains[f"{text} twice as fast"], 0.051 / max(float(what), 1))


def check_diff(check, path, value):
    place = f"diff of {path}"
    diff = json.loads(check.run("diff", path, path, "--json"))
    for side in ("before", "after"):
        step = diff["step"][side]
        parts = ("compute_ns", "exposed_communication_ns", "exposed_memory_ns", "idle_ns")
        check.equal(PARTS, place, sum(step[part] for part in parts), step["window_ns"])
        if step["step_time_ns"] is not None and value["iteration_wall_clock_time"] is not None:
            check.equal(SAME, place, step["step_time_ns"] * 1e-9, value["iteration_wall_clock_time"])
    worse = [name for name, metric in diff["metrics"].items() if metric["verdict"] in ("worse", "better")]
    check.expect(SAME, place, not worse, worse)


def check_traced_memory(check, folder):
    """A recorded job compares with the same memory of the same GPU."""
    job = ROOT / "data/traced/h200/gpt2"
    if job.exists():
        check_memory(check, "--from gpt2", json.loads(check.run("simulate", "--from", job, "--json")))
        example = ROOT / "examples/gpt-345m-dp.yaml"
        answer = json.loads(check.run("simulate", example, "--gpu", "H200", "--json"))
        check_memory(check, "gpt-345m-dp on H200", answer)


def table_of(check, runs):
    lines = ["# Invariants: one number for one thing", "",
             "`python3 tools/check_invariants.py --program build/orrery --write docs/validation/invariants.md` checks these rules",
             "over all examples and over our own and shared runs, and writes this page; it is the test `invariants`.", "",
             "| what must hold | times checked |", "|---|---:|"]
    lines += [f"| {text} | {check.checks[key]} |" for key, text in INVARIANTS.items()]
    return "\n".join(lines + ["", f"Runs: {', '.join(f'`{run}`' for run in runs)}.", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    parser.add_argument("--write", type=pathlib.Path, help="the document for the table")
    arguments = parser.parse_args()
    check = Checker(arguments.program.resolve())
    examples = sorted((ROOT / "examples").glob("*.yaml"))
    runs = [ROOT / run for run in OWN_RUNS] + [arguments.shared / "traces" / run for run in SHARED_RUNS]
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        tasks = [pool.submit(check_example, check, path, folder) for path in examples]
        for run in runs:
            if run.exists():
                tasks.append(pool.submit(check_run, check, run, folder))
            else:
                print(f"skipped, not there: {run}")
        tasks.append(pool.submit(check_traced_memory, check, folder))
        for task in tasks:
            try:
                task.result()
            except (RuntimeError, KeyError, ValueError) as error:
                check.failures.append(f"{type(error).__name__}: {error}")
    for failure in check.failures:
        print(failure)
    print(f"{sum(check.checks.values())} checks of {len(INVARIANTS)} invariants: {len(check.failures)} failed")
    if arguments.write:
        named = [path.name for path in examples] + OWN_RUNS + [run for run in SHARED_RUNS]
        arguments.write.write_text(table_of(check, named), encoding="utf-8")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
