#!/usr/bin/env python3
"""Checks block and warp numbers of single accesses, and launches that are counted together, on a machine with a GPU.

    check_places.py [--out FOLDER]

Builds and records placed_kernels twice: with a record of every access of its kernels on a grid of 3 × 2 × 2 blocks of 105
threads, and with so little memory for counters that nodes of its graph have to share them. Ends with 1 where something differs.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

_CAPTURE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CAPTURE))

import orrs_reader  # noqa: E402

_LANES, _WORD = 32, 4
_READ, _WRITE = 1, 2
_AFFINE, _GENERAL = 1, 2
_PARTIAL, _MERGED = 4, 8
MERGED_INTO = "counts merged into launch "


def lane_addresses(access):
    """{lane: address} of the active lanes."""
    lanes = [lane for lane in range(_LANES) if not access["inactive_lanes"] >> lane & 1]
    if access["form"] == _GENERAL:
        return {lane: access["address"] + (code >> 1 ^ -(code & 1)) for lane, code in zip(lanes, access["offsets"])}
    step = access["stride"] if access["form"] == _AFFINE else 0
    return {lane: access["address"] + lane * step for lane in lanes}


def accesses_of(stream, kernel):
    launches = {launch["sequence"] for launch, name in stream.kernels() if kernel in name}
    return [access for access in stream.records("WarpAccess") if access["launch"] in launches]


def wrong_places(stream, did):
    """Sentences: which accesses are not where their block and warp would make them."""
    warps = -(-did["threads"] // _LANES)
    all_places = sorted((block, warp) for block in range(did["blocks"]) for warp in range(warps))
    for kernel, kinds in (("placed_write", {_WRITE}), ("placed_gather", {_READ, _WRITE})):
        for kind in sorted(kinds):
            found = [access for access in accesses_of(stream, kernel) if access["flags"] == kind]
            places = sorted((access["block"], access["warp"]) for access in found)
            if places != all_places:
                yield f"{kernel}: places {places[:6]}… of {len(places)} accesses, not {len(all_places)} of one each"
            for access in found:
                yield from _wrong_lanes(kernel, access, kind, did)


def _wrong_lanes(kernel, access, kind, did):
    first = access["block"] * did["threads"] + access["warp"] * _LANES
    num_lanes = min(_LANES, did["threads"] - access["warp"] * _LANES)
    if kind == _READ:
        wanted = {lane: did["in"] + lane * lane * _WORD for lane in range(num_lanes)}
    else:
        wanted = {lane: did["out"] + (first + lane) * _WORD for lane in range(num_lanes)}
    if lane_addresses(access) != wanted:
        yield f"{kernel}: block {access['block']}, warp {access['warp']} is not at its words"


def wrong_sums(stream, did):
    """Sentences: where bytes of merged launches do not add up, or one of them is taken for a launch of its own."""
    texts = stream.texts()
    nodes = [launch for launch, name in stream.kernels() if "merged_node" in name and launch["graph_node"]]
    merged = {launch["sequence"]: int(texts[launch["reason"]].removeprefix(MERGED_INTO)) for launch in nodes
              if texts.get(launch["reason"], "").startswith(MERGED_INTO)}
    others = sorted({texts[launch["reason"]] for launch in nodes
                     if launch["reason"] and launch["sequence"] not in merged})
    totals = collections.defaultdict(collections.Counter)
    for touch in stream.records("Touch"):
        for side in ("read_bytes", "write_bytes"):
            totals[touch["launch"]][side] += touch[side]
    made = did["nodes"] * did["replays"]
    if len(nodes) != made:
        yield f"{len(nodes)} launches of nodes recorded, {made} made"
    if not merged:
        yield "no launch was merged: the arena was large enough, nothing is checked"
    if others:
        yield f"nodes were left out: {', '.join(others)}"
    for side in ("read_bytes", "write_bytes"):
        total = sum(totals[launch["sequence"]][side] for launch in nodes)
        if total != made * did["node_bytes"]:
            yield f"{side} of all nodes {total}, known to be {made * did['node_bytes']}"
    yield from _wrong_receivers(stream, merged, totals, did)


def _wrong_receivers(stream, merged, totals, did):
    shares = collections.Counter(merged.values())
    coverage = {end["launch"]: end["coverage"] for end in stream.records("LaunchEnd")}
    said = {count["launch"]: count["count"] for count in stream.records("CoverageCount") if count["kind"] == _MERGED}
    if said != dict(shares):
        yield f"{sum(said.values())} launches said to be merged, {len(merged)} say so themselves"
    for receiver, count in shares.items():
        if totals[receiver]["read_bytes"] != (1 + count) * did["node_bytes"]:
            yield f"launch {receiver} has {totals[receiver]['read_bytes']} bytes read by {1 + count} launches"
    wrong = [launch for launch in [*merged, *shares] if coverage.get(launch) != _PARTIAL]
    if wrong:
        yield f"launches {wrong[:4]}… are merged and not called partial"


def _record(out, options, variables):
    words = [sys.executable, str(_CAPTURE / "orrery-capture"), "capture", "--accesses", *options, "--out", str(out), "--",
             str(_CAPTURE / "build" / "placed_kernels")]
    ended = subprocess.run(words, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode not in (0, 3):
        sys.exit(f"check_places: recording ended with {ended.returncode}")
    return orrs_reader.read(out), json.loads(ended.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, help="keep the streams in this folder")
    options = parser.parse_args()
    subprocess.run(["make", "-s", "-C", str(_CAPTURE), "build/placed_kernels"], check=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        places = list(wrong_places(*_record(folder / "places.orrs", ["--access-records", "placed"], {})))
        stream, did = _record(folder / "merged.orrs", [], {"ORRERY_CAPTURE_ARENA_MB": "1"})
    sums = list(wrong_sums(stream, did))
    for line in places + sums:
        print(line)
    num_merged = sum(1 for launch in stream.records("Launch")
                     if stream.texts().get(launch["reason"], "").startswith(MERGED_INTO))
    print(f"places: {len(places)} differences; {did['nodes'] * did['replays']} nodes, {num_merged} merged: "
          f"{len(sums)} differences")
    return 1 if places or sums else 0


if __name__ == "__main__":
    sys.exit(main())
