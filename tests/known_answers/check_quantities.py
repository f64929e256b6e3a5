#!/usr/bin/env python3
"""Computes each quantity of docs/quantities.md through text, JSON, HTML, view and Python, and compares.

    check_quantities.py --program build/orrery [--python build/python] [--shared ../shared]

Runs: a recording of several ranks, one with several steps, one without steps, a simulated job. Exits with 1 where two ways differ. Without --python,
or where the module was not built, Python is left out and said so.
"""

import argparse
import concurrent.futures
import html
import importlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ["tests/data/analyze/tp2_dp2", "tests/data/kineto/two_ranks", "tests/data/h200/fake-tp8.kineto.json.gz", "tests/data/xplane/gpu.xplane.pb"]
SHARED = ["traces/astra-sim/megatron-tp8", "traces/h200/gpt2-small-b4.kineto.json.gz", "traces/xprof/tpu_inference.xplane.pb.gz"]
SIMULATED = ["examples/gpt-345m-pp.yaml", "examples/gpt-345m-tp.yaml"]
EXPOSED = "communication runs, waiting for other ranks included, and no compute kernel does"
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
ROUNDED = 0.006  # three digits
MADE_UP = {"memory_coarse.orrs", "memory_small.orrs"}  # written by hand for their accesses: kernels of a stream overlap


class Checker:
    """Collects what differs."""

    def __init__(self):
        self.count = 0
        self.failures = []

    def equal(self, what, first, second, relative=1e-9):
        self.count += 1
        if first is None or second is None:
            agrees = first is second
        else:
            agrees = abs(first - second) <= relative * max(abs(first), abs(second), 1e-12)
        if not agrees:
            self.failures.append(f"{what}: {first} and {second}")

    def holds(self, what, condition):
        self.count += 1
        if not condition:
            self.failures.append(what)


def seconds(text):
    number, unit = text.replace(",", "").split()
    return float(number) * UNITS[unit]


def plain(page):
    """The text of a page, without its marks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def time_after(words, text):
    """The time that follows the words; None where there is none."""
    found = re.search(re.escape(words) + r"\s+([\d.,]+ (?:ns|µs|ms|s))\b", text)
    return seconds(found.group(1)) if found else None


class View:
    """A server, and what it answers."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, "view", *map(str, arguments), "--no-open"], cwd=ROOT, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.address = None
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            found = re.search(r"http://\S+", line)
            if found:
                self.address = found.group(0).split("#")[0].rstrip("/") + "/"
                break
        if self.address is None:
            self.process.wait()
            raise RuntimeError(f"orrery view {' '.join(map(str, arguments))}: {self.said.strip()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, question, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + question, data=data, headers={"Content-Type": "application/json"} if data else {})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)


class Ways:
    """The ways in which the program says things."""

    def __init__(self, program, orrery, folder):
        self.program = program
        self.orrery = orrery
        self.folder = folder
        try:
            with View(program, ROOT / RECORDED[0]):
                self.has_view = True
        except RuntimeError as error:
            if "nodejs" not in str(error):
                raise
            self.has_view = False
            print(f"without view: {error}")

    def text(self, *words):
        done = subprocess.run([self.program, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"orrery {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *words):
        return json.loads(self.text(*words, "--json"))

    def page(self, *words):
        path = self.folder / "page.html"
        self.text(*words, "--html", path)
        return plain(path.read_text(encoding="utf-8"))


def metrics_of_tab(tab):
    rows = {}
    for section in tab["sections"]:
        for table in section["tables"]:
            if [column["name"] for column in table["columns"]][:2] == ["metric", "value"]:
                rows.update({row[0]: keys[1] for row, keys in zip(table["rows"], table["keys"])})
    return rows


def facts_of_tab(tab):
    return {fact["label"].lower(): fact for section in tab["sections"] for fact in section["facts"]}


def check_recorded(check, ways, run):
    place = str(run)
    document = ways.json("analyze", run)
    text = ways.text("analyze", run)
    page = ways.page("analyze", run)
    value = {name: metric["value"] for name, metric in document["metrics"].items()}
    name, time = document["time"]["name"], document["time"]["seconds"]
    check.holds(f"{place}: the name of its time", name in ("step time", "recorded span"))
    check.equal(f"{place} {name}: JSON and metric", time,
                value["iteration_wall_clock_time" if name == "step time" else "total_trace_time"])
    check.equal(f"{place} {name}: JSON and text", time, time_after(name, text), ROUNDED)
    check.equal(f"{place} {name}: JSON and page", time, time_after(name.capitalize(), page), ROUNDED)
    check.holds(f"{place}: text and page define the {name}",
                document["time"]["definition"] in " ".join(text.split()) and document["time"]["definition"] in page)
    exposed = document["communication"]["exposed_ns"] * 1e-9 if document["communication"] else None
    if exposed is not None:
        check.equal(f"{place} exposed: JSON and metric", exposed, value["exposed_comm_time"])
        check.equal(f"{place} exposed: JSON and text", exposed, time_after("exposed communication", text), ROUNDED)
        check.equal(f"{place} exposed: JSON and page", exposed, time_after("Exposed communication", page), ROUNDED)
        check.holds(f"{place}: exposed communication is defined", EXPOSED in " ".join(text.split()) and EXPOSED in page)
    check_what_if(check, place, time, document["metrics"]["what_if"])
    check_diff(check, ways, run, name, time, exposed)
    if ways.has_view:
        check_view(check, ways, run, document, exposed)
    check_kernel_time(check, place, document)
    if ways.orrery:
        check_python(check, ways, run, document)


def check_what_if(check, place, time, metric):
    if metric["value"] is None:
        return
    detail = metric["detail"]
    check.equal(f"{place} what_if begins from the step time", detail["recorded_step_s"], time, 1e-6)
    for row in detail["questions"]:
        check.equal(f"{place} what_if {row['question']}", row["step_s"], time * (1 + row["change_percent"] / 100), 1e-6)


def check_diff(check, ways, run, name, time, exposed):
    diff = ways.json("diff", run, run)
    step = diff["step"]["before"]
    key = "step_time_ns" if name == "step time" else "recorded_span_ns"
    check.equal(f"{run} diff {key}", step[key] * 1e-9, time)
    if exposed is not None:
        check.equal(f"{run} diff exposed", step["exposed_communication_ns"] * 1e-9, exposed)
    said = re.search(r"as fast as A: ([\d.,]+ \S+) (per step|in all)", ways.text("diff", run, run))
    check.equal(f"{run} diff headline", said and seconds(said.group(1)), time, ROUNDED)


def check_view(check, ways, run, document, exposed):
    name, time = document["time"]["name"], document["time"]["seconds"]
    with View(ways.program, run) as view:
        session = view.ask("api/session")["runs"][0]
        check.equal(f"{run} view session", session["step_ns"] and session["step_ns"] * 1e-9, time if name == "step time" else None)
        check.holds(f"{run} view names it", session["step_definition"].startswith(name))
        facts = facts_of_tab(view.ask("api/tab?run=0&name=overview"))
        check.equal(f"{run} view overview", seconds(facts[name]["value"]), time, ROUNDED)
        if exposed is not None:
            check.equal(f"{run} view exposed", seconds(facts["exposed communication"]["value"]), exposed, ROUNDED)
        shown = metrics_of_tab(view.ask("api/tab?run=0&name=metrics"))
        for metric, row in document["metrics"].items():
            check.equal(f"{run} view {metric}", shown.get(metric), row["value"])
        if document["metrics"]["what_if"]["value"] is not None:
            answer = view.ask("api/what-if", {"run": 0, "changes": [{"subject": "host", "name": "", "speedup": 2}]})
            check.equal(f"{run} view what-if", answer["before_ns"] * 1e-9, time, 0.6e-9 / time)
            rows = document["metrics"]["what_if"]["detail"]["questions"]
            after = next(row["step_s"] for row in rows if row["question"] == "host twice as fast")
            check.equal(f"{run} view what-if host", answer["after_ns"] * 1e-9, after, 0.6e-9 / after)  # whole nanoseconds


def check_kernel_time(check, place, document):
    """No more kernel time than streams in the recording."""
    detail = document["metrics"]["total_kernel_time"]["detail"]
    span = document["metrics"]["total_trace_time"]["value"]
    for row in detail.get("per_rank", []):
        steps = detail["steps_used"] if isinstance(detail["steps_used"], int) else 1
        check.holds(f"{place} rank {row['rank']}: {row['value'] * steps} s of kernels on {row['streams']} streams in {span} s",
                    row["value"] * steps <= row["streams"] * span * (1 + 1e-9))


def check_all_recordings(check, ways, folders):
    """Of every file that can be analyzed: parts of the time add up, nothing is longer than the recording."""
    words = [word for name in ("total_kernel_time", "total_trace_time", "temporal_breakdown") for word in ("--metric", name)]
    files = [path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*")) if path.is_file()]

    def analyzed(path):
        done = subprocess.run([ways.program, "analyze", path, *words, "--json", "--threads", "1"], capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode in (0, 3) else None

    with concurrent.futures.ThreadPoolExecutor() as pool:
        documents = list(pool.map(analyzed, files))
    read = 0
    for path, document in zip(files, documents):
        if document is None or document["metrics"]["temporal_breakdown"]["value"] is None:
            continue
        read += 1
        if path.name not in MADE_UP:
            check_kernel_time(check, str(path), document)
        for row in document["metrics"]["temporal_breakdown"]["detail"]["per_rank"]:
            busy = row["compute_ns"] + row["exposed_communication_ns"] + row["exposed_memory_ns"]
            check.holds(f"{path} rank {row['rank']}: busy {busy} of {row['window_ns']} ns", 0 <= busy <= row["window_ns"])
    check.holds(f"only {read} recordings could be analyzed", read >= 12)


def check_python(check, ways, run, document):
    read = ways.orrery.read(str(ROOT / run))
    check.equal(f"{run} Python analyze", read.analyze()["time"]["seconds"], document["time"]["seconds"])
    for metric, row in document["metrics"].items():
        check.equal(f"{run} Python {metric}", read.metric_detail(metric)["value"], row["value"])


def said_of_network(said):
    """The cost of sharing the network, in words."""
    found = re.search(r"(no transfer slows another one down|transfers that share links [a-z]+(?: [\d.]+ [nµm]?s)?)", " ".join(said.split()))
    return found and found.group(1)


def check_bubble(check, job, answer, recorded, said_in):
    mean, slowest = (100 * answer["bubble"][key] / answer["step_time_s"] for key in ("mean_s", "slowest_rank_s"))
    check.equal(f"{job} bubble: JSON and its breakdown", answer["bubble"]["slowest_rank_s"], answer["breakdown_s"]["bubble"])
    check.holds(f"{job} bubble: JSON {mean} %, its trace {recorded['metrics']['bubble_size_pipeline']['value']} %",
                abs(mean - recorded["metrics"]["bubble_size_pipeline"]["value"]) <= 0.1)
    for way, said in said_in.items():
        found = re.search(r"(?i)pipeline bubble\s+([\d.]+) % \(?mean over ranks; ([\d.]+) %", " ".join(said.split()))
        check.equal(f"{job} bubble: JSON and {way}", mean, found and float(found.group(1)), 0.06 / max(mean, 1e-3))
        check.equal(f"{job} bubble of the slowest rank: JSON and {way}", slowest, found and float(found.group(2)), 0.06 / max(slowest, 1e-3))


def check_simulated(check, ways, job):
    answer = ways.json("simulate", job)
    text = ways.text("simulate", job)
    page = ways.page("simulate", job)
    trace = ways.folder / "simulated.orr"
    ways.text("simulate", job, "--trace", trace)
    step, share = answer["step_time_s"], 100 * answer["exposed_communication_s"] / answer["step_time_s"]
    recorded = ways.json("analyze", trace)
    # Traces count whole nanoseconds.
    check.equal(f"{job} step: JSON and its trace", step, recorded["time"]["seconds"], 1e-5)
    check.equal(f"{job} exposed: JSON and its trace", answer["exposed_communication_s"], recorded["metrics"]["exposed_comm_time"]["value"], 1e-3)
    said_in = {"text": text, "page": page}
    if ways.has_view:
        with View(ways.program, job) as view:
            session = view.ask("api/session")["runs"][0]
            said_in["view"] = " ".join(f"{label} {fact['value']} {fact['note']}" for label, fact in
                                       facts_of_tab(view.ask("api/tab?run=0&name=overview")).items())
        check.equal(f"{job} step: JSON and view", step, session["step_ns"] * 1e-9, 1e-6)
    if "bubble" in answer:
        check_bubble(check, job, answer, recorded, said_in)
    network = said_of_network(text)
    for way, said in said_in.items():
        check.holds(f"{job} network: text says '{network}', {way} '{said_of_network(said)}'", said_of_network(said) == network)
        found = re.search(r"(?i)exposed communication\s+([\d.]+) %", said)
        check.equal(f"{job} exposed: JSON and {way}", share, found and float(found.group(1)), 0.06 / max(share, 1e-3))
        check.holds(f"{job} exposed communication is defined in {way}", "waiting for other ranks included" in " ".join(said.split()))
        found = re.search(r"(?i)MFU ([\d.]+) ?%", said)
        check.equal(f"{job} MFU: JSON and {way}", 100 * answer["mfu"], found and float(found.group(1)), 0.06 / (100 * answer["mfu"]))
    if ways.orrery:
        from_python = ways.orrery.simulate(str(ROOT / job))
        for key in ("step_time_s", "exposed_communication_s", "mfu", "tokens_per_s", "memory_needed_bytes"):
            check.equal(f"{job} Python {key}", from_python[key], answer[key])


def check_document(check, ways):
    """The table names metrics that there are."""
    names = set(re.findall(r"^\s*(\w+)", ways.text("analyze", "--list"), re.MULTILINE))
    table = (ROOT / "docs/quantities.md").read_text(encoding="utf-8")
    for row in re.findall(r"metrics? ((?:`\w+`[, ]*)+)", table):
        for name in re.findall(r"`(\w+)`", row):
            check.holds(f"docs/quantities.md: there is no metric {name}", name in names)


def module_in(folder):
    if folder is None:
        return None
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module("orrery")
        module.read  # loads the compiled part
        return module
    except (ImportError, AttributeError) as error:
        print(f"without Python: {error}")
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--python", type=pathlib.Path, help="the folder of the module")
    parser.add_argument("--shared", type=pathlib.Path, default=ROOT.parent / "shared")
    arguments = parser.parse_args()
    check = Checker()
    with tempfile.TemporaryDirectory() as temporary:
        ways = Ways(arguments.program.resolve(), module_in(arguments.python and arguments.python.resolve()), pathlib.Path(temporary))
        check_document(check, ways)
        for run in RECORDED + [str(arguments.shared / run) for run in SHARED]:
            if (ROOT / run).exists():
                check_recorded(check, ways, run)
            else:
                print(f"{run} is not there")
        check_all_recordings(check, ways, [ROOT / "tests/data", arguments.shared / "traces"])
        for job in SIMULATED:
            check_simulated(check, ways, job)
    for failure in check.failures:
        print(failure)
    print(f"{check.count - len(check.failures)} of {check.count} agree")
    return 1 if check.failures else 0


if __name__ == "__main__":
    sys.exit(main())
