#!/usr/bin/env python3
"""Tests of check_places on streams made by hand."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import check_places as check  # noqa: E402
import orrs_reader  # noqa: E402

# Two blocks of 40 threads: a full warp and one of eight lanes each.
PLACED = {"out": 4096, "in": 512, "blocks": 2, "threads": 40}
FULL, EIGHT = 0, 0xFFFFFF00


def _stream(kernels):
    """`kernels`: their names by function number."""
    stream = orrs_reader.Stream()
    for number, name in kernels.items():
        stream.add("String", {"id": number, "text": name.encode()})
        stream.add("Function", {"id": number, "name": number})
    return stream


def placed_stream(swap=False):
    stream = _stream({1: "placed_write(float*)", 2: "placed_gather(float const*, float*)"})
    for launch in (1, 2):
        stream.add("Launch", {"sequence": launch, "function": launch, "reason": 0})
        for block in (0, 1):
            for warp, inactive in ((0, FULL), (1, EIGHT)):
                access = {"launch": launch, "block": block, "warp": 1 - warp if swap else warp, "inactive_lanes": inactive,
                          "flags": 2, "form": 1, "stride": 4, "offsets": [], "address": 4096 + 160 * block + 128 * warp}
                stream.add("WarpAccess", access)
                if launch == 2:
                    lanes = 32 if inactive == FULL else 8
                    stream.add("WarpAccess", {**access, "flags": 1, "form": 2, "stride": 0, "address": 512,
                                              "offsets": [8 * lane * lane for lane in range(lanes)]})  # zig-zag
    return stream


# Two nodes of one kernel and one of another: launches 1 to 3 with a wait, 4 to 6 and 7 to 9 without; launch 10 outside graphs.
# So three nodes of 100 bytes count in launch 1, and six in launch 4.
NODES = {"nodes": 2, "replays": 1, "unwaited_replays": 2, "node_bytes": 100}
RECEIVERS = {2: 1, 3: 1, 5: 4, 6: 4, 7: 4, 8: 4, 9: 4}


def nodes_stream(receivers=None, read=None, coverage=None, said=None):
    """Right, but for what is given."""
    receivers = receivers or RECEIVERS
    read = {1: 300, 4: 600, 10: 100, **(read or {})}
    coverage = {10: 1, **(coverage or {})}
    stream = _stream({1: "merged_node(float const*, float*)", 2: "lone_node(float const*, float*)"})
    for receiver in set(receivers.values()):
        stream.add("String", {"id": 100 + receiver, "text": f"counts merged into launch {receiver}".encode()})
    for launch in range(1, 11):
        stream.add("Launch", {"sequence": launch, "function": 2 if launch in (3, 6, 9) else 1, "graph_node": launch % 10,
                              "reason": 100 + receivers[launch] if launch in receivers else 0})
        stream.add("LaunchEnd", {"launch": launch, "coverage": coverage.get(launch, 4)})
        stream.add("Touch", {"launch": launch, "read_bytes": read.get(launch, 0), "write_bytes": read.get(launch, 0)})
    for launch, count in {1: 2, 4: 5, **(said or {})}.items():
        stream.add("CoverageCount", {"kind": 8, "launch": launch, "count": count})
    return stream


class CheckPlacesTest(unittest.TestCase):
    def test_accesses_at_the_words_of_their_threads_are_right(self):
        self.assertEqual(list(check.wrong_places(placed_stream(), PLACED)), [])

    def test_warps_with_each_others_numbers_are_named(self):
        self.assertGreaterEqual(len(list(check.wrong_places(placed_stream(swap=True), PLACED))), 4)

    def test_blocks_that_are_all_called_the_same_are_named(self):
        stream = placed_stream()
        for access in stream.records("WarpAccess"):
            access["block"] = 0
        self.assertIn("placed_write: places", next(iter(check.wrong_places(stream, PLACED))))


class CheckSumsTest(unittest.TestCase):
    def differences(self, **changes):
        return list(check.wrong_sums(nodes_stream(**changes), NODES))

    def test_what_adds_up_is_right(self):
        self.assertEqual(self.differences(), [])

    def test_bytes_of_all_nodes_in_the_last_are_named(self):
        self.assertEqual(self.differences(read={1: 0, 3: 300})[0],
                         "read_bytes of 2 launches differ: launch 1 has 0, known to be 300; all together 1000, known to be 1000")

    def test_bytes_that_are_missing_are_named(self):
        self.assertIn("all together 900, known to be 1000", self.differences(read={10: 0})[0])

    def test_a_receiver_that_is_called_exact_is_named(self):
        self.assertEqual(self.differences(coverage={1: 1}),
                         ["launches [1]… of 1: those that count alone are exact, the others partial"])

    def test_another_count_than_launches_say_is_named(self):
        self.assertEqual(self.differences(said={4: 6}), ["8 launches said to be merged into 2, 7 should be"])

    def test_a_node_that_counts_alone_is_named(self):
        receivers = {launch: receiver for launch, receiver in RECEIVERS.items() if launch != 9}
        self.assertEqual(self.differences(receivers=receivers),
                         ["1 launches of 10 do not count with whom they should: launch 9 should with 4, and has the reason ''"])

    def test_nodes_that_are_not_recorded_are_named(self):
        stream = nodes_stream()
        self.assertIn("lone_node: 3 launches of nodes recorded, 4 made",
                      list(check.wrong_sums(stream, {**NODES, "unwaited_replays": 3})))


if __name__ == "__main__":
    unittest.main()
