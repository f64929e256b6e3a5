#!/usr/bin/env python3
"""Checks whether the managed memory simulator reproduces the rankings of Figures 11 and 12 of the PASTA paper.

    tools/validate_uvm.py --program build/orrery [--write FILE] [--section NAME] [--costs published] [--managed FILE.jsonl] STREAM...

Simulates each stream with memory for all of it and for a third, prints the table and the rules, and fails where a rule does
not hold. --write puts both into docs/validation/uvm.md between its comments, those of a section where one is named. Without streams it simulates the two networks of
tests/data/orrs/make_net.py. With --managed also the simulated times of the microbenchmark to which its costs are fitted.
"""

import pathlib
import subprocess
import sys
import tempfile

import fit_uvm
import managed_patterns as patterns
import validation
from validation import ROOT, line

MAKE_NET = ROOT / "tests" / "data" / "orrs" / "make_net.py"

COSTS, RECORDINGS = "costs", "recordings"  # sections of the document
ENOUGH, A_THIRD = "footprint / 1", "footprint / 3"
IN_FULL = 0.8  # with segments used to this degree, object level may gain at a third
ALIKE = 0.05  # relative time within which one level counts as no worse than the other


class Recording:
    """The relative times of one stream, by memory and policy."""

    def __init__(self, basis):
        self.name = basis["recording"]
        self.segment_use = basis["segment_use"]
        self.share_of_third = 3 * basis["operator_segment_bytes"] / basis["footprint_bytes"]
        self.best = {}
        self.times = {}

    def add(self, row):
        policy = row["policy"]
        if policy.startswith("tensor+"):
            self.best[row["memory"]] = policy.removeprefix("tensor+")
            policy = "best"
        self.times.setdefault((row["memory"], policy), row["relative_time"])

    def time(self, memory, policy):
        return self.times.get((memory, policy), self.times[(memory, "tensor")])

    def failures(self):
        enough = {policy: self.time(ENOUGH, policy) for policy in ("object", "tensor")}
        third = {policy: self.time(A_THIRD, policy) for policy in ("object", "tensor")}
        rules = [
            ("sufficient memory: object level helps", enough["object"] < 1),
            ("sufficient memory: tensor level helps", enough["tensor"] < 1),
            ("sufficient memory: object level is no worse", enough["object"] <= enough["tensor"] + ALIKE),
            ("a third: tensor level is no worse than object level", third["tensor"] <= third["object"] + ALIKE),
            ("a third: object level is worse than none", third["object"] > 1 or self.segment_use >= IN_FULL),
        ]
        return [rule for rule, holds in rules if not holds]


def play(program, streams, costs):
    answer = validation.run_json(program, "memory", *streams, "--tool", "uvm", "--costs", costs)
    return recordings_of(answer["tables"]), answer["coverage"]


def recordings_of(tables):
    recordings = {row["recording"]: Recording(row) for row in tables["basis"]}
    for row in tables["policies"]:
        recordings[row["recording"]].add(row)
    return list(recordings.values())


def table(recordings):
    lines = [
        line("recording", "segments used", "of a third", *["object", "tensor", "ahead (k)", "driver"] * 2, "rules"),
        "|---|---:|---:|" + "---:|" * 8 + "---|",
    ]
    for one in recordings:
        cells = [one.name.removesuffix(".orrs"), f"{100 * one.segment_use:.0f} %", f"{one.share_of_third:.2f}"]
        for memory in (ENOUGH, A_THIRD):
            best = f"{one.time(memory, 'best'):.2f} ({one.best.get(memory, 0)})"
            cells += [f"{one.time(memory, 'object'):.2f}", f"{one.time(memory, 'tensor'):.2f}", best]
            cells.append(f"{one.time(memory, 'driver'):.2f}")
        lines.append(line(*cells, "; ".join(one.failures()) or "hold"))
    return lines


def _pattern_name(row):
    if row["experiment"] == "lanes":
        return f"{row['blocks']} pages, each in a separate block"
    if row["experiment"] == "pages":
        return f"{row['pages_per_block']} pages in each of {row['blocks']} blocks, {row['order']}"
    if row["experiment"] == "stream":
        return f"{row['access']} of {row['bytes'] >> 20} MiB"
    each = row["bytes"] // row["calls"] >> 10
    return f"prefetch, {row['calls']} calls of {each} KiB" if row["calls"] > 1 else f"prefetch, one call of {each} KiB"


def _backing(row):
    return "host" if row["backing"] == "written" else "none"


def _compared(program, row, write, policy):
    """(simulated, measured) without the kernel time itself, which is minimal."""
    outcome = patterns.played(program, row, write, fit_uvm.NO_TIME_NS)[policy]
    return outcome["total_ns"], row["median_ns"]


def compare(program, rows):
    """[(row, held out, simulated, measured)] of all patterns that the simulator supports."""
    compared = [(row, held_out, *_compared(program, row, patterns.write_faults, "driver"))
                for row, held_out in fit_uvm.fault_rows(rows) if row["experiment"] != "chase"]
    for place, row in enumerate(fit_uvm.prefetch_rows(rows)):
        if not row["resident"]:
            compared.append((row, fit_uvm.is_held_out(place),
                             *_compared(program, row, patterns.write_prefetch, "object")))
    return compared


def _summary(compared):
    lines = ["| experiment | fitted | mean error | held out | mean error |", "|---|---:|---:|---:|---:|"]
    for kind in dict.fromkeys(row["experiment"] for row, *_ in compared):
        cells = [kind]
        for wanted in (False, True):
            pairs = [pair for row, held_out, *pair in compared if row["experiment"] == kind and held_out == wanted]
            cells += [str(len(pairs)), f"{100 * fit_uvm.mean_error(pairs):.0f} %" if pairs else "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def managed_table(program, path):
    compared = compare(program, patterns.rows(path)[1])
    lines = [*_summary(compared), "", "| held-out pattern | written by | measured, µs | simulated, µs | ratio |",
             "|---|---|---:|---:|---:|"]
    for row, held_out, simulated, measured in compared:
        if held_out:
            lines.append(f"| {_pattern_name(row)} | {_backing(row)} | {measured / 1e3:,.0f} | {simulated / 1e3:,.0f} | "
                         f"{simulated / measured:.2f} |")
    return lines


def main():
    parser = validation.parser(None, required=True)
    parser.add_argument("--section", default=RECORDINGS, help="of the document (recordings)")
    parser.add_argument("--costs", default="measured", choices=("measured", "published"))
    parser.add_argument("--managed", type=pathlib.Path, help="rows of capture/measure_managed")
    parser.add_argument("streams", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        streams = arguments.streams
        if not streams:
            streams = [pathlib.Path(folder) / f"{kind}.orrs" for kind in ("pooled", "full")]
            for stream in streams:
                subprocess.run([sys.executable, MAKE_NET, stream.stem, stream], check=True)
        recordings, coverage = play(arguments.program, streams, arguments.costs)
    tables = {arguments.section: [*table(recordings), "", *(f"- {one}" for one in coverage)]}
    if arguments.managed:
        tables[COSTS] = managed_table(arguments.program, arguments.managed)
    validation.fill(arguments.write, tables)
    if any(one.failures() for one in recordings):
        sys.exit("validate_uvm: a rule does not hold")


if __name__ == "__main__":
    main()
