#!/usr/bin/env python3
"""Compares a recording of known_kernels with the bytes that it printed.

    capture/orrery-capture capture --accesses --out known.orrs -- capture/build/known_kernels > known.json
    capture/sanitizer/tests/gpu/check_known_kernels.py known.orrs known.json [--plain plain.json]

Each launch must have touched the bytes that arithmetic says, within 0.1 %; plain.json is what the program prints
without a recorder: its results must be the same. Ends with 1 where something differs.
"""

import argparse
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import orrs_reader  # noqa: E402

TOLERANCE = 0.001
SIDES = ("read_bytes", "write_bytes", "atomic_bytes")
AS_ITS_LAUNCH, EXACT = 0, 1


def touched_bytes(stream):
    """Returns {launch: {side: bytes}}, of what was seen exactly; accesses outside known objects count too."""
    totals = collections.defaultdict(collections.Counter)
    for touch in stream.records("Touch"):
        if touch["coverage"] in (AS_ITS_LAUNCH, EXACT):
            for side in SIDES:
                totals[touch["launch"]][side] += touch[side]
    return totals


def launches_by_kernel(stream):
    found = collections.defaultdict(list)
    for launch, name in stream.kernels():
        found[name.partition("(")[0]].append(launch["sequence"])
    return found


def differences(stream, expected):
    totals = touched_bytes(stream)
    launches = launches_by_kernel(stream)
    for row in expected["kernels"]:
        name, seen = row["name"], launches[row["name"]]
        if len(seen) != expected["repeat"]:
            yield f"{name}: {len(seen)} launches recorded, {expected['repeat']} made"
        for launch in seen:
            for side in SIDES:
                found = totals[launch][side]
                if abs(found - row[side]) > TOLERANCE * row[side]:
                    yield f"{name}, launch {launch}: {side} {found}, known to be {row[side]}"


def changed_results(expected, plain):
    wanted = {row["name"]: row["checksum"] for row in plain["kernels"]}
    for row in expected["kernels"]:
        if wanted.get(row["name"]) != row["checksum"]:
            yield f"{row['name']}: its result differs from that without a recorder"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stream", type=pathlib.Path)
    parser.add_argument("expected", type=pathlib.Path)
    parser.add_argument("--plain", type=pathlib.Path)
    options = parser.parse_args()

    expected = json.loads(options.expected.read_text())
    found = list(differences(orrs_reader.read(options.stream), expected))
    if options.plain is not None:
        found += changed_results(expected, json.loads(options.plain.read_text()))
    for line in found:
        print(line)
    print(f"{len(expected['kernels'])} kernels, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
