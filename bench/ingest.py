#!/usr/bin/env python3
"""Measures speed and memory of trace reading, compared with Python's json.load.

    bench/ingest.py --build build [--bytes 1000000000] [--rounds 3] [--json OUT]
    bench/ingest.py --build build --large

Generates a Kineto trace, plain and compressed, and an .orr of it; then reads each in a separate
process, in interleaved rounds, so that disturbances affect all equally. Results are medians;
files are in the page cache. --large reads a file of more than 4 GB and checks that nothing is lost.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from timed_process import print_target

LARGE_BYTES = 4_600_000_000

JSON_LOAD = """
import json, resource, sys, time
begin = time.perf_counter()
with open(sys.argv[1]) as file:
    json.load(file)
seconds = time.perf_counter() - begin
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peak_bytes": peak}))
"""


class Case:
    """One reading method and its measurements."""

    def __init__(self, name, command):
        self.name = name
        self.command = command
        self.runs = []

    def run(self):
        done = subprocess.run(self.command, check=True, capture_output=True, text=True)
        self.runs.append(json.loads(done.stdout))

    @property
    def seconds(self):
        return statistics.median(run["seconds"] for run in self.runs)

    @property
    def spread(self):
        times = [run["seconds"] for run in self.runs]
        return (max(times) - min(times)) / self.seconds

    @property
    def peak_bytes(self):
        return statistics.median(run["peak_bytes"] for run in self.runs)


def generate(size, path):
    generator = pathlib.Path(__file__).with_name("generate_kineto.py")
    done = subprocess.run([sys.executable, generator, "--bytes", str(size), path], check=True,
                          capture_output=True, text=True)
    return done.stdout


def make_cases(build, folder, size):
    plain, packed, container = folder / "a.json", folder / "a.json.gz", folder / "a.orr"
    print(generate(size, plain), end="")
    generate(size, packed)
    reader = build / "bench" / "ingest_bench"
    subprocess.run([reader, plain, "--write", container], check=True, stdout=subprocess.DEVNULL)
    return {
        "json.load": Case("Python json.load", [sys.executable, "-c", JSON_LOAD, plain]),
        "plain1": Case("JSON, 1 thread", [reader, plain, "--threads", "1"]),
        "plain2": Case("JSON, 2 threads", [reader, plain, "--threads", "2"]),
        "gzip": Case("JSON in gzip, 2 threads", [reader, packed, "--threads", "2"]),
        "orr": Case(".orr, 2 threads", [reader, container, "--threads", "2"]),
    }, plain.stat().st_size


def print_cases(cases, json_bytes):
    print(f"\n{'':24} {'seconds':>8} {'spread':>7} {'GB/s':>6} {'memory/JSON':>12} "
          f"{'x json.load':>12}")
    for case in cases.values():
        print(f"{case.name:24} {case.seconds:8.2f} {case.spread:6.0%} "
              f" {json_bytes / case.seconds / 1e9:6.2f} {case.peak_bytes / json_bytes:12.2f} "
              f"{cases['json.load'].seconds / case.seconds:12.1f}")


def targets(cases, json_bytes):
    """Yields (what, value, relation, limit)."""
    speed = {key: json_bytes / case.seconds / 1e9 for key, case in cases.items()}
    yield "plain JSON, GB/s", speed["plain2"], ">=", 0.5
    yield "gzip, GB/s", speed["gzip"], ">=", 0.35
    yield "peak memory of plain JSON / its size", cases["plain2"].peak_bytes / json_bytes, "<=", 0.35
    yield "times json.load", speed["plain2"] / speed["json.load"], ">=", 11
    yield ".orr against JSON, times", speed["orr"] / speed["plain2"], ">=", 10


def measure(build, folder, options):
    cases, json_bytes = make_cases(build, folder, options.bytes)
    for _ in range(options.rounds):
        for case in cases.values():
            case.run()
    print_cases(cases, json_bytes)
    print()
    for target in targets(cases, json_bytes):
        print_target(*target)
    if options.json:
        record = {"json_bytes": json_bytes, "cases": {k: c.runs for k, c in cases.items()}}
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return 0


def generated_rows(report):
    """Reads the generator's table: rows of each category."""
    rows = {}
    for line in report.splitlines():
        words = line.split()
        if line.startswith("  ") and len(words) == 4:
            rows[words[0]] = int(words[1])
    return rows


def check_large(build, folder):
    path = folder / "large.json"
    rows = generated_rows(generate(LARGE_BYTES, path))
    done = subprocess.run([build / "bench" / "ingest_bench", path], check=True,
                          capture_output=True, text=True)
    result = json.loads(done.stdout)
    size = path.stat().st_size
    expected = {"activities": rows["kernel"] + rows["gpu_memcpy"] + rows["gpu_memset"],
                "host_ops": rows["cpu_op"], "python_calls": rows["python_function"],
                "has_loss": False}
    print(f"{size} bytes in {result['seconds']:.1f} s, {size / result['seconds'] / 1e9:.2f} GB/s, "
          f"peak memory / size {result['peak_bytes'] / size:.2f}")
    wrong = {key: (value, result[key]) for key, value in expected.items() if result[key] != value}
    for key, (value, got) in wrong.items():
        print(f"{key}: {value} were written and {got} read")
    print("differs" if wrong else "everything that was written was read")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--bytes", default=1_000_000_000, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--json", type=pathlib.Path, help="write all measurements to this file")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()

    folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=build))
    try:
        return check_large(build, folder) if options.large else measure(build, folder, options)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
