#!/usr/bin/env python3
"""Tests of check_known_kernels on streams made by hand."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import check_known_kernels as check  # noqa: E402
import orrs_reader  # noqa: E402


def stream_of(touches, kernel=b"known_add(float const*)", launches=(7,)):
    stream = orrs_reader.Stream()
    stream.add("String", {"id": 1, "text": kernel})
    stream.add("Function", {"id": 4, "name": 1})
    for launch in launches:
        stream.add("Launch", {"sequence": launch, "function": 4})
    for launch, read, write, coverage in touches:
        stream.add("Touch", {"launch": launch, "read_bytes": read, "write_bytes": write,
                             "atomic_bytes": 0, "coverage": coverage})
    return stream


EXPECTED = {"repeat": 1, "kernels": [{"name": "known_add", "read_bytes": 2000, "write_bytes": 1000,
                                      "atomic_bytes": 0, "checksum": "aa"}]}


class CheckKnownKernelsTest(unittest.TestCase):
    def differences(self, stream):
        return list(check.differences(stream, EXPECTED))

    def test_bytes_of_all_objects_add_up(self):
        self.assertEqual(self.differences(stream_of([(7, 1000, 0, 0), (7, 1000, 1000, 1)])), [])

    def test_what_is_known_by_argument_is_not_added(self):
        stream = stream_of([(7, 2000, 1000, 0), (7, 500, 0, 2)])
        self.assertEqual(self.differences(stream), [])

    def test_a_byte_in_a_thousand_is_allowed_and_no_more(self):
        self.assertEqual(self.differences(stream_of([(7, 2002, 1001, 0)])), [])
        self.assertEqual(self.differences(stream_of([(7, 2003, 1000, 0)])),
                         ["known_add, launch 7: read_bytes 2003, known to be 2000"])

    def test_a_launch_that_is_missing_or_has_no_touches_is_named(self):
        self.assertEqual(self.differences(stream_of([], launches=())),
                         ["known_add: 0 launches recorded, 1 made"])
        self.assertEqual(len(self.differences(stream_of([]))), 2)

    def test_other_results_than_without_a_recorder_are_named(self):
        plain = {"kernels": [dict(EXPECTED["kernels"][0], checksum="bb")]}
        self.assertEqual(list(check.changed_results(EXPECTED, EXPECTED)), [])
        self.assertEqual(len(list(check.changed_results(EXPECTED, plain))), 1)


if __name__ == "__main__":
    unittest.main()
