#!/usr/bin/env python3
"""Checks block and warp numbers of single accesses, and launches that are counted together, on a machine with a GPU.

    check_places.py [--out FOLDER]

Builds and records placed_kernels three times: with a record of every access of its kernels on a grid of 3 × 2 × 2 blocks of 105
threads; and twice for the nodes of its graph, with the usual memory for counters and with very little. Ends with 1 where something
differs.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

_CAPTURE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(_CAPTURE))

import orrs_reader  # noqa: E402

_LANES, _WORD = 32, 4
_READ, _WRITE = 1, 2
_AFFINE, _GENERAL = 1, 2
_EXACT, _PARTIAL, _MERGED = 1, 4, 8
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
    """Sentences: where launches do not count with whom they should, or bytes do not add up.

    Nodes, of whatever kernel, count with the first of their launch of the graph; without a wait between launches, with the first
    of all. Launches outside graphs count alone."""
    totals = collections.defaultdict(collections.Counter)
    for touch in stream.records("Touch"):
        for side in ("read_bytes", "write_bytes"):
            totals[touch["launch"]][side] += touch[side]
    wanted, all_nodes = {}, []
    for kernel, per_replay in (("merged_node", did["nodes"]), ("lone_node", 1)):
        launches = [(launch["sequence"], launch["graph_node"] != 0) for launch, name in stream.kernels() if kernel in name]
        nodes = [launch for launch, is_node in launches if is_node]
        made = per_replay * (did["replays"] + did["unwaited_replays"])
        if len(nodes) != made:
            yield f"{kernel}: {len(nodes)} launches of nodes recorded, {made} made"
        wanted |= {launch: launch for launch, is_node in launches if not is_node}
        all_nodes += nodes
    wanted |= _wanted_receivers(sorted(all_nodes), did["nodes"] + 1, did["replays"])
    yield from _wrong_receivers(stream, wanted)
    yield from _wrong_counts(stream, wanted, totals, did)


def _wanted_receivers(nodes, per_replay, num_waited):
    """{launch: the one that it counts with}"""
    waited = num_waited * per_replay
    return {launch: nodes[min(place - place % per_replay, waited)] for place, launch in enumerate(nodes)}


def _wrong_receivers(stream, wanted):
    texts = stream.texts()
    reasons = {launch["sequence"]: texts.get(launch["reason"], "") for launch in stream.records("Launch")}
    wrong = [(launch, reasons[launch]) for launch, receiver in wanted.items()
             if reasons[launch] != ("" if receiver == launch else f"{MERGED_INTO}{receiver}")]
    if wrong:
        launch, reason = wrong[0]
        yield (f"{len(wrong)} launches of {len(wanted)} do not count with whom they should: launch {launch} should with "
               f"{wanted[launch]}, and has the reason '{reason}'")


def _wrong_counts(stream, wanted, totals, did):
    shares = collections.Counter(wanted.values())
    coverage = {end["launch"]: end["coverage"] for end in stream.records("LaunchEnd")}
    said = {count["launch"]: count["count"] for count in stream.records("CoverageCount") if count["kind"] == _MERGED}
    if said != {receiver: count - 1 for receiver, count in shares.items() if count > 1}:
        yield f"{sum(said.values())} launches said to be merged into {len(said)}, {len(wanted) - len(shares)} should be"
    for side in ("read_bytes", "write_bytes"):
        wrong = [launch for launch in wanted if totals[launch][side] != shares[launch] * did["node_bytes"]]
        if wrong:
            yield (f"{side} of {len(wrong)} launches differ: launch {wrong[0]} has {totals[wrong[0]][side]}, known to be "
                   f"{shares[wrong[0]] * did['node_bytes']}; all together {sum(totals[launch][side] for launch in wanted)}, "
                   f"known to be {len(wanted) * did['node_bytes']}")
    wrong = [launch for launch, receiver in wanted.items()
             if coverage.get(launch) != (_EXACT if shares[receiver] == 1 else _PARTIAL)]
    if wrong:
        yield f"launches {wrong[:4]}… of {len(wrong)}: those that count alone are exact, the others partial"


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
        sums = list(_check_sums(folder / "nodes.orrs", {}))
        sums += _check_sums(folder / "nodes-small-arena.orrs", {"ORRERY_CAPTURE_ARENA_MB": "1"})
    for line in places + sums:
        print(line)
    print(f"places: {len(places)} differences; nodes of graphs: {len(sums)} differences")
    return 1 if places or sums else 0


def _check_sums(path, variables):
    stream, did = _record(path, [], variables)
    num_merged = sum(1 for launch in stream.records("Launch")
                     if stream.texts().get(launch["reason"], "").startswith(MERGED_INTO))
    print(f"{path.name}: {did['nodes']} nodes of a kernel and one of another, {did['replays']} launches of the graph with a "
          f"wait and {did['unwaited_replays']} without, {num_merged} merged")
    return [f"{path.name}: {sentence}" for sentence in wrong_sums(stream, did)]


if __name__ == "__main__":
    sys.exit(main())
