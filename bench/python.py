#!/usr/bin/env python3
"""Measures the speed of the Python module.

    bench/python.py --build build [--plans 100] [--bytes 400000000] [--rows 10000000] [--hta CHECKOUT] [--write docs/validation/python-speed.md]

Reading and analysing a generated recording from Python, beside the command, as whole processes in turn; the time until a column of
a table of 10 million rows is there; the same plans simulated in a loop and by `orrery search`; with --hta, the path of a checkout of
HolisticTraceAnalysis (and the packages it needs), its three analyses beside ours on the same files. Prints a table and exits with 1
when a limit is missed. On a busy machine look at CPU times, and at the printed load average.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import hta
from limits import Report, load_text, write_measured
from timed_process import run_timed

HERE = pathlib.Path(__file__).resolve().parent
LLAMA = HERE.parent / "examples/llama3-70b-512-h100.yaml"
GPUS = 1024
MILLISECONDS = 1e3
EVENTS_AT_ONCE = 100_000
# As bench/search.py has them: nothing is pruned by time where more plans are kept than there are.
PLANS = {"plan.tp": [4, 8], "plan.pp": [2, 4, 8], "plan.schedule": ["1f1b", "interleaved"], "plan.chunks": [5],
         "plan.sharding": ["zero1", "zero3"], "plan.recompute": ["none", "full"]}
FEW = {"plan.tp": 4, "plan.pp": 4, "plan.sharding": "zero1", "plan.recompute": "none"}

ANALYZE = "import orrery, sys; orrery.read(sys.argv[1:]).analyze()"

# Prints seconds; the median of many looks, each from the run itself.
COLUMN = """
import json, statistics, sys, time
import numpy, orrery
run = orrery.read(sys.argv[1])
times = []
for _ in range(101):
    begin = time.perf_counter()
    column = run.ranks[0].activities["begin_ns"]
    times.append(time.perf_counter() - begin)
assert not column.flags.owndata
print(json.dumps({"rows": len(column), "first_s": times[0], "median_s": statistics.median(times)}))
"""

# Settings of plans on standard input; those that are no plans are left out.
SIMULATE = """
import json, sys, time
import orrery
plans = json.load(sys.stdin)
orrery.simulate(sys.argv[1], step_only=True, **plans[0])  # models are loaded
done, cpu, wall = 0, time.process_time(), time.perf_counter()
for plan in plans:
    try:
        orrery.simulate(sys.argv[1], step_only=True, **plan)
        done += 1
    except orrery.Error:
        pass
print(json.dumps({"plans": done, "cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}))
"""

OURS = """
import json, sys, time
import orrery
begin = time.perf_counter()
run = orrery.read(sys.argv[1])
run.analyze(metric=sys.argv[2:])
print(json.dumps({"seconds": time.perf_counter() - begin}))
"""


def answer(script, *words, given=None):
    """The last line that a script prints, as JSON."""
    done = subprocess.run([sys.executable, "-c", script, *map(str, words)], input=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def generate(folder, name, size, ranks=1):
    subprocess.run([sys.executable, HERE / "generate_kineto.py", "--bytes", str(size), "--ranks", str(ranks), folder / name], check=True,
                   stdout=subprocess.DEVNULL)


def add_analysis(report, program, folder, size, rounds):
    generate(folder, "one.json", size)
    runs = {"command": [], "Python": []}
    for _ in range(rounds):
        runs["command"].append(run_timed([program, "analyze", folder / "one.json", "--json"]))
        runs["Python"].append(run_timed([sys.executable, "-c", ANALYZE, folder / "one.json"]))
    (folder / "one.json").unlink()
    wall = {name: statistics.median(run.seconds for run in own) for name, own in runs.items()}
    cpu = {name: statistics.median(run.cpu_seconds for run in own) for name, own in runs.items()}
    for name in runs:
        report.add(f"a recording of {size / 1e6:.0f} MB read and analysed by the {name}: wall time", wall[name], "s")
    report.add("Python over the command, wall time", wall["Python"] / wall["command"], "times", most=1.05)
    report.add("Python over the command, CPU time", cpu["Python"] / cpu["command"], "times")


def write_kernels(path, rows):
    """A recording of so many kernels and nothing else."""
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        for begin in range(0, rows, EVENTS_AT_ONCE):
            events = (f'{{"ph":"X","cat":"kernel","name":"k{row % 100}","pid":0,"tid":7,"ts":{2 * row},"dur":1,"args":{{"stream":7,"correlation":{row}}}}}'
                      for row in range(begin, min(begin + EVENTS_AT_ONCE, rows)))
            file.write((",\n" if begin else "") + ",\n".join(events))
        file.write("\n]}\n")


def add_column(report, folder, rows):
    write_kernels(folder / "rows.json", rows)
    found = answer(COLUMN, folder / "rows.json")
    (folder / "rows.json").unlink()
    report.add("a column: rows", found["rows"], "rows")
    report.add("a column: until it is there, the first", MILLISECONDS * found["first_s"], "ms", most=1)
    report.add("a column: until it is there, median", MILLISECONDS * found["median_s"], "ms")


def search(program, job, *words):
    run = run_timed([program, "search", job, "--json", "--no-reasons", "--gpus", GPUS, "--keep", "10000", "--threads", "1", *words])
    run.answer = json.loads(run.output)
    return run


def played_plan_s(program, folder):
    """CPU time of a simulated plan: the difference between two searches that simulate more and fewer (docs/validation/search-speed.md)."""
    job = folder / "played.yaml"
    values = ", ".join(f"{key}: [{', '.join(map(str, own))}]" for key, own in PLANS.items())
    job.write_text(f"{LLAMA.read_text()}search: {{{values}}}\n")
    many = search(program, job)
    few = search(program, job, *(word for key, value in FEW.items() for word in ("--set", f"{key}={value}")))
    return (many.cpu_seconds - few.cpu_seconds) / (many.answer["played"] - few.answer["played"])


def add_plans(report, program, folder, num_plans):
    every = [{"gpus": GPUS, **dict(zip(PLANS, values))} for values in itertools.product(*PLANS.values())]
    for plan in every:
        if plan["plan.schedule"] == "1f1b":
            plan["plan.chunks"] = 1  # as the search takes it
    plans = list(itertools.islice(itertools.cycle(every), num_plans))
    found = answer(SIMULATE, LLAMA, given=json.dumps(plans))
    played = played_plan_s(program, folder)
    own = found["cpu_s"] / found["plans"]
    report.add(f"Llama 3 70B on {GPUS:,} H100s, micro-batches of 1: plans simulated in a loop", found["plans"], "plans")
    report.add("a simulated plan, wall time", MILLISECONDS * found["wall_s"] / found["plans"], "ms")
    report.add("a simulated plan, CPU time", MILLISECONDS * own, "ms")
    report.add("a plan simulated by `orrery search`, CPU time", MILLISECONDS * played, "ms")
    report.add("a plan simulated from Python over one of `orrery search`, CPU time", own / played, "times", most=1.3)


def add_hta(report, folder, checkout, size, rounds):
    traces = folder / "hta"
    traces.mkdir()
    generate(traces, "run.json.gz", size, ranks=4)
    theirs = statistics.median(hta.seconds(checkout, traces) for _ in range(rounds))
    own = statistics.median(answer(OURS, traces, *hta.METRICS)["seconds"] for _ in range(rounds))
    report.add(f"HTA, three analyses of 4 ranks of {size / 1e6:.0f} MB", theirs, "s")
    report.add("the same three of ours, in Python", own, "s")
    report.add("HTA's time over ours", theirs / own, "times", least=20)


def write(path, report, load):
    write_measured(path, "make bench-python", "# Speed of the Python module\n\nGenerated by `make bench-python` (`HTA=checkout` to compare with). Reading and analysing are whole "
                    "processes with their start. Load average\nbefore the run: "
                    f"{load}.\n\n{report.markdown()}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--plans", default=100, type=int)
    parser.add_argument("--bytes", default=400_000_000, type=int)
    parser.add_argument("--rows", default=10_000_000, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--hta", help="path of a checkout of HolisticTraceAnalysis")
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(options.build.resolve() / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
    report = Report()
    load = load_text()
    print(f"Load average: {load}.")
    program = options.build / "orrery"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        add_plans(report, program, folder, options.plans)
        add_column(report, folder, options.rows)
        add_analysis(report, program, folder, options.bytes, options.rounds)
        if options.hta:
            add_hta(report, folder, options.hta, options.bytes // 8, options.rounds)
    print(report.text())
    if options.write:
        write(options.write, report, load)
    sys.exit(0 if report.is_met else 1)


if __name__ == "__main__":
    main()
