#!/usr/bin/env python3
"""Measures time and memory of `orrery analyze` for all metrics.

    bench/analyze.py --build build [--shared ../shared] [--ranks 64] [--bytes 200000000]
                     [--hta CHECKOUT] [--rounds 3] [--folder KEEP]

Four parts, each in separate processes, files in the page cache, medians of the rounds:
 1. all metrics of the real 8-rank Megatron run, from its JSON (needs ../shared);
 2. all metrics of a generated run, from .orr, at a quarter, a half and all of its ranks: time,
    memory, and whether the cost grows in proportion;
 3. with --hta, the path of a checkout of HolisticTraceAnalysis (and the packages it needs): its
    load, temporal breakdown, overlap and kernel breakdown against ours, on the same JSON files of
    the generated run (--hta-ranks of them).
 4. `predict` of one generated recording against `analyze` of it: both read the same JSON.
--folder keeps the generated run for the next time.
"""

import argparse
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

import hta
from timed_process import print_target, run_timed

GENERATOR = [sys.executable, pathlib.Path(__file__).with_name("generate_kineto.py")]


def median_run(command, rounds):
    runs = [run_timed(command) for _ in range(rounds)]
    return statistics.median(run.seconds for run in runs), max(run.peak_bytes for run in runs)


def measure_real_run(build, shared, rounds):
    folder = shared / "traces/astra-sim/megatron-tp8"
    if not folder.is_dir():
        print("the real run is not there: skipped")
        return
    seconds, _ = median_run([build / "orrery", "analyze", folder, "--json"], 5 * rounds)
    print_target("Megatron TP8, 8 ranks, all metrics, s", seconds, "<=", 0.3)


def generate(build, folder, ranks, size):
    """Generates rank*.orr, one rank at a time to limit the JSON on disk."""
    if (folder / f"rank{ranks - 1}.orr").exists():
        return
    subprocess.run([*GENERATOR, "--bytes", str(size), "--ranks", str(ranks),
                    folder / "run.json"], check=True, stdout=subprocess.DEVNULL)
    for rank in range(ranks):
        source = folder / f"run.rank{rank}.json"
        subprocess.run([build / "orrery", "convert", source, folder / f"rank{rank}.orr"],
                       check=True, stdout=subprocess.DEVNULL)
        source.unlink()


def measure_predict(build, folder, size, rounds):
    source = folder / "one.json"
    subprocess.run([*GENERATOR, "--bytes", str(size), source], check=True, stdout=subprocess.DEVNULL)
    analyze, _ = median_run([build / "orrery", "analyze", source, "--json"], rounds)
    predict, _ = median_run([build / "orrery", "predict", source, "--gpu", "H100", "--json"], rounds)
    source.unlink()
    print(f"one recording of {size / 1e6:.0f} MB: analyze {analyze:.2f} s, predict {predict:.2f} s")
    print_target("predict / analyze, times", predict / analyze, "<=", 3)


def measure_generated(build, folder, ranks, rounds):
    seconds_by_ranks = {}
    for part in (ranks // 4, ranks // 2, ranks):
        files = [folder / f"rank{rank}.orr" for rank in range(part)]
        seconds, peak = median_run([build / "orrery", "analyze", *files, "--json"], rounds)
        seconds_by_ranks[part] = seconds
        print(f"{part:4} ranks from .orr, all metrics: {seconds:6.2f} s, peak {peak / 1e9:5.2f} GB")
    print_target(f"{ranks} ranks, all metrics, s", seconds, "<=", 10)
    print_target(f"{ranks} ranks, peak memory, GB", peak / 1e9, "<=", 4)
    growth = seconds_by_ranks[ranks] / seconds_by_ranks[ranks // 2]
    print_target("time of all ranks / time of half of them", growth, "<=", 2.3)


def measure_hta(build, checkout, folder, ranks, size, rounds):
    traces = folder / "hta"
    shutil.rmtree(traces, ignore_errors=True)
    traces.mkdir()
    subprocess.run([*GENERATOR, "--bytes", str(size), "--ranks", str(ranks),
                    traces / "run.json.gz"], check=True, stdout=subprocess.DEVNULL)
    theirs = [hta.seconds(checkout, traces) for _ in range(rounds)]
    options = [part for name in hta.METRICS for part in ("--metric", name)]
    ours, _ = median_run([build / "orrery", "analyze", traces, "--json", *options], rounds)
    print(f"HTA {statistics.median(theirs):.2f} s, orrery {ours:.2f} s, {ranks} ranks of "
          f"{size / 1e6:.0f} MB")
    print_target("times faster than HTA", statistics.median(theirs) / ours, ">=", 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--shared", default=pathlib.Path("../shared"), type=pathlib.Path)
    parser.add_argument("--ranks", default=64, type=int)
    parser.add_argument("--bytes", default=200_000_000, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--folder", type=pathlib.Path, help="keep the generated run here")
    parser.add_argument("--hta", help="path of a checkout of HolisticTraceAnalysis")
    parser.add_argument("--hta-ranks", default=4, type=int)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        measure_real_run(options.build, options.shared, options.rounds)
        measure_predict(options.build, folder, options.bytes, options.rounds)
        generate(options.build, folder, options.ranks, options.bytes)
        measure_generated(options.build, folder, options.ranks, options.rounds)
        if options.hta:
            measure_hta(options.build, options.hta, folder, options.hta_ranks, options.bytes // 4,
                        options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
