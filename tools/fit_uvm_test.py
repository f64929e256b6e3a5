#!/usr/bin/env python3
"""Tests of fit_uvm.py and managed_patterns.py, without a program and without measurements."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "capture"))

import fit_uvm
import managed_patterns as patterns
import orrs_reader


def row(**fields):
    whole = {"experiment": "pages", "backing": "written", "order": "scattered", "resident": False, "blocks": 0,
             "pages_per_block": 0, "bytes": 0, "calls": 0, "median_ns": 1}
    return whole | fields


class Patterns(unittest.TestCase):
    # The numbers of capture/managed/plan_test.cc: page j of block b is 197 j + 61 b.
    def test_pages_come_in_the_order_of_the_measurement(self):
        self.assertEqual(patterns.page_order(row(blocks=2, pages_per_block=2)), [0, 512 + 61, 197, 512 + 258])
        self.assertEqual(patterns.page_order(row(order="sequential", blocks=2, pages_per_block=3)),
                         [0, 1, 2, 512, 513, 514])

    def test_neighbours_are_one_run(self):
        self.assertEqual(patterns.runs_of([3, 4, 5, 9, 2]), [[3, 3], [9, 1], [2, 1]])

    def test_a_stream_has_the_pages_in_order_and_data_only_where_the_host_wrote(self):
        for backing, objects in (("written", 1), ("nobody", 0)):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "pattern.orrs"
                patterns.write_faults(row(backing=backing, blocks=2, pages_per_block=2), path, 2000)
                stream = orrs_reader.read(path)
            pages = [touch["first_page"] - patterns.ADDRESS // patterns.PAGE for touch in stream.records("PageTouch")]
            self.assertEqual(pages, [0, 573, 197, 770])
            self.assertEqual(len(stream.records("Object")), objects)
            self.assertEqual(len(stream.records("Allocation")), 1 - objects)


class Fit(unittest.TestCase):
    # 2 a + b = 5, a + 3 b = 5.
    def test_equations_are_solved(self):
        self.assertEqual(fit_uvm.solve([[2, 1], [1, 3]], [5, 5]), [2, 1])

    def test_exact_costs_are_found_again(self):
        equations = [[1, 0], [1, 1], [1, 4]]
        found = fit_uvm.least_squares(equations, [10, 13, 22])
        self.assertAlmostEqual(found[0], 10)
        self.assertAlmostEqual(found[1], 3)

    # The times decrease with the second count, which would be a negative cost: it is zero.
    def test_no_cost_is_below_zero(self):
        self.assertEqual(fit_uvm.least_squares([[1, 0], [1, 1]], [10, 8])[1], 0)

    # Of seven of a kind, places 1 and 4 are held out.
    def test_every_third_pattern_is_held_out(self):
        rows = [row(experiment="lanes", blocks=2 ** i) for i in range(7)]
        self.assertEqual([held_out for _, held_out in fit_uvm.fault_rows(rows)],
                         [False, True, False, False, True, False, False])

    # 2 calls of 3 MiB: two blocks each; resident pages do not move.
    def test_prefetches_are_counted_in_calls_blocks_and_bytes(self):
        cold = row(experiment="prefetch", access="to_gpu", calls=2, bytes=6 << 20)
        self.assertEqual(fit_uvm.prefetch_counts(cold), [1, 2, 2, 4, (6 << 20) / 1e9, 0])
        self.assertEqual(fit_uvm.prefetch_counts(cold | {"resident": True}), [1, 2, 0, 4, 0, 0])

    def test_costs_replace_their_lines_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "uvm.yaml"
            path.write_text("costs:\n    wake_ns: 1\n    fault_share: 0.5\n# wake_ns: why\n")
            fit_uvm.write(path, {"wake_ns": 200.0, "fault_share": 0.25})
            self.assertEqual(path.read_text(), "costs:\n    wake_ns: 200\n    fault_share: 0.25\n# wake_ns: why\n")


class Measurements(unittest.TestCase):
    def test_the_first_line_is_the_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.jsonl"
            path.write_text("\n".join(map(json.dumps, [{"gpu": "G"}, row(), row()])))
            machine, rows = patterns.rows(path)
        self.assertEqual((machine["gpu"], len(rows)), ("G", 2))


if __name__ == "__main__":
    unittest.main()
