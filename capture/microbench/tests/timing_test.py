#!/usr/bin/env python3
"""Tests of cutting recordings into calls, and of the CSV; PyTorch is not needed."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from microbench import rows, separators  # noqa: E402


def recording(*words):
    """Makes activities one after the other: `|` is a separator, `name:us` anything else."""
    out = []
    for number, word in enumerate(words):
        name, _, duration_us = word.partition(":")
        out.append(separators.Activity(name, number * 10**6, int(float(duration_us or 1) * 1000)))
    return out


class SeparatorsTest(unittest.TestCase):
    def test_segments_are_what_lies_before_each_separator_in_order_of_start(self):
        activities = recording("|", "a:5", "b:7", "|", "|")
        cut = separators.cut(reversed(activities), "|", 3)
        self.assertEqual([[x.name for x in segment] for segment in cut], [[], ["a", "b"], []])

    def test_a_missing_separator_is_an_error_and_not_guessed(self):
        with self.assertRaises(separators.SeparatorMismatch):
            separators.cut(recording("|", "a:5", "|"), "|", 3)

    def test_a_plan_tells_flushes_cold_calls_and_warm_calls_apart(self):
        # Two cold calls of 10 + 2 and 14 + 2 µs, each after a flush; one warm call of 6 + 1.
        activities = recording("flush:50", "|", "k:10", "j:2", "|", "flush:50", "|", "k:14", "j:2",
                               "|", "k:6", "j:1", "|")
        segments = separators.cut(activities, "|", 5)
        found, = separators.by_call(segments, [(2, 1)])
        self.assertEqual((found.kernel_us, found.warm_us), (14.0, 7.0))
        self.assertEqual((found.repeats, found.kernels, found.main_kernel), (2, 2, "k"))

    def test_calls_of_a_batch_do_not_mix(self):
        activities = recording("f", "|", "a:3", "|", "a:2", "|", "f", "|", "b:9", "|", "b:8", "|")
        first, second = separators.by_call(separators.cut(activities, "|", 6), [(1, 1), (1, 1)])
        self.assertEqual((first.kernel_us, first.warm_us), (3.0, 2.0))
        self.assertEqual((second.kernel_us, second.warm_us), (9.0, 8.0))

    def test_a_call_without_activity_has_no_time(self):
        activities = recording("f", "|", "|", "a:2", "|")
        self.assertEqual(separators.by_call(separators.cut(activities, "|", 3), [(1, 1)]), [None])

    def test_kernels_beside_each_other_count_once(self):
        # 10 µs from 0, 6 µs from 8, 1 µs from 9: busy from 0 to 14.
        segment = [separators.Activity("a", 0, 10000), separators.Activity("b", 8000, 6000),
                   separators.Activity("c", 9000, 1000)]
        self.assertEqual(separators.summarise([segment], []).kernel_us, 14.0)

    def test_spread_is_the_interquartile_range_over_the_median(self):
        # 8 9 10 11 12: quartiles 9 and 11, median 10.
        cold = [recording(f"k:{us}") for us in (12, 8, 10, 11, 9)]
        found = separators.summarise(cold, [recording("k:7")])
        self.assertEqual((found.kernel_us, found.spread_pct), (10.0, 20.0))


class RepeatsTest(unittest.TestCase):
    def test_fast_calls_are_repeated_most_and_slow_ones_at_least_twice(self):
        self.assertEqual([separators.event_repeats(us) for us in (0.0, 100.0, 3500.0, 1e6)],
                         [3, 3, 3, 2])
        self.assertEqual([separators.cold_repeats(us) for us in (5.0, 1e6)], [5, 2])
        self.assertEqual([separators.warm_repeats(us) for us in (5.0, 1e6)], [3, 1])


class RowsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "kernels.csv")

    def append(self, *texts):
        machine = rows.Machine("a, b", "580", "13.0", "2.11")
        times = separators.KernelTimes(1.25, 1.0, 3.0, 5, 2, "k" * 100)
        writer = rows.Writer(self.path)
        writer.write([rows.row(text, 4.0, times, 1980, 3201, machine) for text in texts])
        writer.close()

    def test_a_run_is_continued_after_the_rows_it_holds(self):
        self.append("fill n=1 bf16", "fill n=2 bf16")
        self.assertEqual(rows.operators_in(self.path), {"fill n=1 bf16", "fill n=2 bf16"})
        self.append("fill n=3 bf16")
        lines = pathlib.Path(self.path).read_text().splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines[1], "fill n=1 bf16,1.250,1.000,4.000,3.00,5,2," + "k" * 80
                         + ',"a, b",1980,3201,580,13.0,2.11')

    def test_a_line_that_was_cut_off_is_measured_again(self):
        self.append("fill n=1 bf16")
        with open(self.path, "a") as file:
            file.write("fill n=2 bf16,1.2")
        self.assertEqual(rows.operators_in(self.path), {"fill n=1 bf16"})
        self.append("fill n=2 bf16")
        self.assertEqual(len(pathlib.Path(self.path).read_text().splitlines()), 3)

    def test_another_table_is_not_continued(self):
        pathlib.Path(self.path).write_text("a,b\n1,2\n")
        with self.assertRaises(rows.NotOurTable):
            rows.operators_in(self.path)


if __name__ == "__main__":
    unittest.main()
