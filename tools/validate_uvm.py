#!/usr/bin/env python3
"""Checks whether the managed memory simulator reproduces the rankings of Figures 11 and 12 of the PASTA paper.

    tools/validate_uvm.py --program build/orrery [--write FILE] [--section NAME] [--costs published] [--managed FILE.jsonl] STREAM...

Simulates each stream with memory for all of it and for a third, prints the table and the rules, and fails where a rule does
not hold. --write puts both into docs/validation/uvm.md between its marks, those of a section where one is named. Without streams it simulates the two networks of
tests/data/orrs/make_net.py. With --managed also the simulated times of the microbenchmark to which its costs are fitted.
"""

import pathlib
import subprocess
import sys
import tempfile

import managed_table
import validation
from validation import ROOT, line

MAKE_NET = ROOT / "tests" / "data" / "orrs" / "make_net.py"
END = "<!-- end -->"

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
    return "\n".join(lines)


def write(path, section, text):
    mark = f"<!-- {section}, made by tools/validate_uvm.py -->"
    content = path.read_text()
    begin = content.index(mark) + len(mark)
    end = content.index(END, begin)
    path.write_text(content[:begin] + "\n" + text + "\n" + content[end:])


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
    text = table(recordings) + "\n\n" + "\n".join(f"- {one}" for one in coverage)
    print(text)
    if arguments.write:
        write(arguments.write, arguments.section, text)
    if arguments.managed:
        costs = managed_table.table(arguments.program, arguments.managed)
        print("\n" + costs)
        if arguments.write:
            write(arguments.write, COSTS, costs)
    if any(one.failures() for one in recordings):
        sys.exit("validate_uvm: a rule does not hold")


if __name__ == "__main__":
    main()
