#!/usr/bin/env python3
"""Runs every fuzzer for a limited time and fails if one finds an error.

    tools/run_fuzzers.py --build build-asan [--seconds 60] [--jobs 2] [--only NAME...] [--write docs/validation/robustness.md [--resume]]

A fuzzer starts from small files: those of its own directory under tests/fuzz_seeds, and pieces of the
traces under tests/data and, if it exists, ../shared. Its corpus is kept in
BUILD/corpus/NAME; its findings go to BUILD/findings/NAME. The table of --write adds up all runs.
"""

import argparse
import concurrent.futures
import dataclasses
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import validation

MAX_SEEDS = 60
ROWS_KEPT = 20


@dataclasses.dataclass
class Seeds:
    """Sources of a fuzzer's seeds, under tests/data and ../shared, and their maximum length."""

    globs: list
    max_len: int = 16384  # small inputs are quick, and reach the same code


# By prefix of the fuzzer's name; the first match is used.
SEEDS = [
    ("kineto", Seeds(["traces/**/*kineto*.json*", "traces/hta/**/*.json.gz", "traces/kineto/*",
                      "traces/tracelens/**/*.json.gz", "h200/*.kineto.json.gz"])),
    ("execution_trace", Seeds(["traces/**/*et*.json*", "h200/*.et.json.gz"])),
    ("et", Seeds(["traces/**/*et*.json*", "h200/*.et.json.gz"])),
    ("nsys", Seeds(["traces/**/*.sqlite*", "nsys/*"], max_len=262144)),
    ("chakra", Seeds(["traces/chakra/*", "chakra/*"])),
    ("xplane", Seeds(["traces/**/*.xplane.pb*", "xplane/*"])),
    ("rocprof", Seeds(["traces/tracelens/rocprof/*", "rocprofv3/*"])),
    ("torch_snapshot", Seeds(["torch_snapshot/*"])),
    ("torch_memory_timeline", Seeds(["traces/hta/memory_analysis/*", "torch_memory_timeline/*"])),
    ("nvbit_mem_trace", Seeds(["nvbit_mem_trace/*"])),
    ("param_comms", Seeds(["param_comms/*"])),
    ("nccl", Seeds(["comm/**/*.log", "nccl_tests/*"])),
    ("workload_card", Seeds(["workloads/card/*", "golden/*.yaml", "cards/*"])),
    ("card", Seeds(["workloads/card/*", "golden/*.yaml", "cards/*"])),
    ("csv", Seeds(["slowdown/*.csv", "truth/*.csv", "golden/*.csv", "csv/*"])),
    ("echo_model", Seeds(["slowdown/xgb_model.json"])),
    ("nsight_compute", Seeds(["overlap/ncu_*.csv"], max_len=32768)),
    ("serving_benchmark", Seeds(["serving_benchmark/*"])),
    ("latency_benchmark", Seeds(["latency_benchmark/*"])),
    ("gate_log", Seeds(["gate_log/*"])),
    ("operation_timeline", Seeds(["operation_timeline/*"])),
    ("timeline_operations", Seeds([], max_len=1536)),
    ("failure_rates", Seeds([], max_len=4096)),
    ("job_fuzz", Seeds([], max_len=64)),
    ("mcp", Seeds([])),
    ("parse_json", Seeds(["manifest/*"], max_len=4096)),
    ("manifest", Seeds(["manifest/*"], max_len=4096)),
    ("step_score", Seeds(["step_score/*", "workloads/card/*"], max_len=4096)),
    ("nvf1", Seeds(["nvf1/*"])),
    ("orrs", Seeds(["orrs/*"])),
    ("orr", Seeds(["orr/*", "**/*.orr"])),
    ("", Seeds(["**/*.json*"])),
]


@dataclasses.dataclass
class Outcome:
    name: str
    executions: str
    coverage: str
    result: str
    log: str = ""


def seeds_of(name):
    return next(seeds for start, seeds in SEEDS if name.startswith(start))


def thinned(value, depth=0):
    """Returns a JSON value with the long lists near its top truncated to some of their rows."""
    if depth > 2:
        return value
    if isinstance(value, dict):
        return {key: thinned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list) and len(value) > ROWS_KEPT:
        return value[:: len(value) // ROWS_KEPT + 1]
    return value


def small_form(path, max_len):
    """Returns at most `max_len` bytes of the decompressed file, valid as a whole where possible."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    if len(content) <= max_len:
        return content
    try:
        content = json.dumps(thinned(json.loads(content)), separators=(",", ":")).encode()
    except ValueError:
        pass
    return content[:max_len]


def seed_files(name, root):
    """Yields the files a fuzzer starts from, its own small ones first."""
    own = root / "tests" / "fuzz_seeds" / name
    yield from sorted(p for p in own.glob("*") if p.is_file())
    for folder in (root / "tests" / "data", root.parent / "shared"):
        for pattern in seeds_of(name).globs:
            yield from sorted(p for p in folder.glob(pattern) if p.is_file())


def write_seeds(name, root, folder):
    """Writes the seeds into `folder`, each once, named by content; returns how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = set()
    for path in seed_files(name, root):
        if len(written) == MAX_SEEDS:
            break
        content = small_form(path, seeds_of(name).max_len)
        digest = hashlib.sha1(content).hexdigest()
        (folder / digest).write_bytes(content)
        written.add(digest)
    return len(written)


def outcome_of(name, returncode, log):
    executed = re.findall(r"stat::number_of_executed_units:\s*(\d+)", log)
    if not executed:
        executed = re.findall(r"^#(\d+)\s", log, re.MULTILINE)
    coverage = re.findall(r"\bcov: (\d+)", log)
    finding = re.search(r"SUMMARY: (.*)", log) or re.search(r"ERROR: (.*)", log)
    result = "ok"
    if returncode:
        result = finding.group(1) if finding else f"exit status {returncode}"
    return Outcome(name, executed[-1] if executed else "-", coverage[-1] if coverage else "-",
                   result, log)


def run_fuzzer(fuzzer, root, build, seconds):
    name = fuzzer.name
    corpus, seeds = build / "corpus" / name, build / "seeds" / name
    findings = build / "findings" / name
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    write_seeds(name, root, seeds)
    command = [str(fuzzer), f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=25",
               f"-max_len={seeds_of(name).max_len}", "-print_final_stats=1",
               f"-artifact_prefix={findings}/", str(corpus), str(seeds)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return outcome_of(name, done.returncode, done.stderr)


def print_table(outcomes):
    width = max((len(outcome.name) for outcome in outcomes), default=6)
    print(f"{'fuzzer':{width}}  {'executions':>12}  {'coverage':>9}  result")
    for outcome in outcomes:
        print(f"{outcome.name:{width}}  {outcome.executions:>12}  {outcome.coverage:>9}  "
              f"{outcome.result}")


COLUMNS = ("seconds", "executions", "corpus files", "coverage", "findings")
HEADER = [validation.line("fuzzer", *COLUMNS), validation.line("---", *["---:"] * len(COLUMNS))]


def stats_of(document):
    """The rows of the table in the document, by fuzzer."""
    if not document:
        return {}
    table = document.read_text(encoding="utf-8").split("<!-- fuzzers, made by tools/run_fuzzers.py -->\n", 1)[1]
    cells = [line.strip("| ").split(" | ") for line in table[:table.index("<!-- end -->")].splitlines()[len(HEADER):]]
    return {name + "_fuzz": dict(zip(COLUMNS, (int(value.replace(",", "")) for value in values))) for name, *values in cells}


def add_to_stats(stats, outcome, seconds, build):
    """Adds a run to the sums of its fuzzer; corpus, coverage and findings are those of now."""
    row = stats.setdefault(outcome.name, dict.fromkeys(COLUMNS, 0))
    row["seconds"] += seconds
    row["executions"] += int(outcome.executions) if outcome.executions.isdigit() else 0
    row["coverage"] = int(outcome.coverage) if outcome.coverage.isdigit() else 0
    row["corpus files"] = num_files(build / "corpus" / outcome.name)
    row["findings"] = num_files(build / "findings" / outcome.name)


def num_files(folder):
    return sum(1 for path in folder.glob("*") if path.is_file())


def stats_table(stats):
    return HEADER + [validation.line(name.removesuffix("_fuzz"), *(f"{row[column]:,}" for column in COLUMNS))
                     for name, row in sorted(stats.items())]


def run_fuzzers(fuzzers, root, build, options):
    """Runs them, several at a time, and adds each to the document as it ends."""
    stats = stats_of(options.write)

    def seconds_of(fuzzer):
        done = stats.get(fuzzer.name, {}).get("seconds", 0) if options.resume else 0
        return options.seconds - done

    missing = [(fuzzer, seconds_of(fuzzer)) for fuzzer in fuzzers if seconds_of(fuzzer) > 0]
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(run_fuzzer, fuzzer, root, build, seconds): seconds for fuzzer, seconds in missing}
        for run in concurrent.futures.as_completed(runs):
            outcomes.append(run.result())
            add_to_stats(stats, run.result(), runs[run], build)
            if options.write:
                validation.fill(options.write, {"fuzzers": stats_table(stats)})
    return sorted(outcomes, key=lambda outcome: outcome.name)


def is_program(path):
    return path.is_file() and os.access(path, os.X_OK)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", default=60, type=int)
    parser.add_argument("--jobs", default=2, type=int)
    parser.add_argument("--only", nargs="*", default=[""], help="run only fuzzers whose names start with one of these")
    parser.add_argument("--write", type=pathlib.Path, help="add these runs to the table of this document")
    parser.add_argument("--resume", action="store_true", help="run only for what the table of --write lacks of --seconds")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    build = options.build.resolve()

    fuzzers = [p for p in sorted((build / "fuzzers").glob("*")) if is_program(p)]
    fuzzers = [p for p in fuzzers if p.name.startswith(tuple(options.only))]
    if not fuzzers:
        print(f"run_fuzzers: no fuzzers in {options.build}/fuzzers; build the preset 'asan' first.",
              file=sys.stderr)
        return 1
    outcomes = run_fuzzers(fuzzers, root, build, options)
    failed = [outcome for outcome in outcomes if outcome.result != "ok"]
    for outcome in failed:
        print(f"==== {outcome.name}\n{outcome.log[-6000:]}")
    print_table(outcomes)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
