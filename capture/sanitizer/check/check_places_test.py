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


MERGED = {"nodes": 3, "replays": 1, "node_bytes": 100}


def merged_stream(read=(300, 0, 0), coverage=(4, 4, 4), said=2):
    stream = _stream({1: "merged_node(float const*, float*)"})
    stream.add("String", {"id": 9, "text": b"counts merged into launch 1"})
    for launch in (1, 2, 3):
        stream.add("Launch", {"sequence": launch, "function": 1, "reason": 0 if launch == 1 else 9, "graph_node": 5})
        stream.add("LaunchEnd", {"launch": launch, "coverage": coverage[launch - 1]})
        stream.add("Touch", {"launch": launch, "read_bytes": read[launch - 1], "write_bytes": read[launch - 1]})
    stream.add("CoverageCount", {"kind": 8, "launch": 1, "count": said})
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
    def differences(self, stream):
        return list(check.wrong_sums(stream, MERGED))

    def test_what_adds_up_is_right(self):
        self.assertEqual(self.differences(merged_stream()), [])

    def test_bytes_that_are_missing_are_named(self):
        self.assertEqual(len(self.differences(merged_stream(read=(200, 0, 0)))), 3)  # two sums, and the receiver's

    def test_a_receiver_that_is_called_exact_is_named(self):
        self.assertEqual(self.differences(merged_stream(coverage=(1, 4, 4))),
                         ["launches [1]… are merged and not called partial"])

    def test_another_count_than_launches_say_is_named(self):
        self.assertEqual(self.differences(merged_stream(said=3)),
                         ["3 launches said to be merged, 2 say so themselves"])

    def test_a_recording_without_a_merge_checks_nothing(self):
        stream = merged_stream()
        for launch in stream.records("Launch"):
            launch["reason"] = 0
        self.assertIn("no launch was merged: the arena was large enough, nothing is checked", self.differences(stream))


if __name__ == "__main__":
    unittest.main()
