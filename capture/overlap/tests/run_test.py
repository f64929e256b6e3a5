#!/usr/bin/env python3
"""Tests of a run: what it goes on with, what ends it, what it says and what it records."""

import contextlib
import io
import json
import os
import pathlib
import signal
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from microbench.machine import StopFlag  # noqa: E402
from overlap import loop, pairs, queueing, tree  # noqa: E402
from overlap.loop import duration_text, Progress  # noqa: E402
from overlap.tree import FOLDERS, NCCL, Tree  # noqa: E402

_CLOCKS = types.SimpleNamespace(sm_mhz=1980, mem_mhz=3201, power_w=300.0)


class FakeBench:
    """Measures by number: fails as told, and notes what it was asked for."""

    clocks = _CLOCKS

    def __init__(self, failures=None, after=lambda: None):
        self._failures = failures or {}
        self._after = after
        self.asked = []
        self.recovered = self.tidied = 0

    def measure(self, planned):
        self.asked.append(planned.number)
        self._after()
        if planned.number in self._failures:
            raise self._failures[planned.number]
        return {"number": planned.number, "operator": planned.text, "rows": [{}] * 18, "runs": []}

    def recover(self):
        self.recovered += 1

    def tidy(self):
        self.tidied += 1


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(str(pathlib.Path(folder.name) / "tree"))

    def run_loop(self, bench, most_kernels, stop=None):
        self.progress = Progress(1e18, most_kernels)
        stop = stop or types.SimpleNamespace(is_set=False)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            ended_by = loop.measure(bench, self.tree, 1, self.progress,
                                    loop.Limits(stop, 1e18, most_kernels, lambda: 0.0))
        self.said = said.getvalue()
        return ended_by


class TreeTest(InFolder):
    def test_the_folders_are_those_that_users_of_echo_know(self):
        self.assertEqual(sorted(os.listdir(self.tree.folder)), sorted(FOLDERS))

    def test_documents_are_read_in_order_of_numbers_and_by_kind(self):
        for number in (11, 2):
            self.tree.write(number, {"number": number})
        self.tree.write(0, {"setting": 1}, NCCL)
        self.assertEqual([one["number"] for one in self.tree.documents()], [2, 11])
        self.assertEqual(list(self.tree.documents(NCCL)), [{"setting": 1}])
        self.assertEqual((self.tree.has(2), self.tree.has(0), self.tree.has(0, NCCL)),
                         (True, False, True))

    def test_a_document_that_was_cut_off_is_measured_again(self):
        pathlib.Path(self.tree.path("raw", "kernel-00003.json.gz.part")).write_text("torn")
        self.assertFalse(self.tree.has(3))
        self.assertEqual(list(self.tree.documents()), [])


class LoopTest(InFolder):
    def test_a_run_goes_on_where_the_last_one_stopped(self):
        self.assertEqual(self.run_loop(FakeBench(), 3), "kernels")
        second = FakeBench()
        self.run_loop(second, 5)
        self.assertEqual(second.asked, [3, 4])
        self.assertEqual((self.progress.kernels, self.progress.measured, self.progress.pairs),
                         (5, 2, 36))

    def test_a_kernel_that_is_not_fit_is_not_tried_again(self):
        failures = {1: loop.Skipped("several kernels")}
        self.run_loop(FakeBench(failures), 2)
        self.assertEqual(dict(self.progress.left_out), {"several kernels": 1})
        again = FakeBench(failures)
        self.run_loop(again, 3)
        self.assertEqual(again.asked, [3])

    def test_a_failure_is_named_and_tried_again_by_the_next_run(self):
        bench = FakeBench({0: RuntimeError("out of memory\nmore"), 1: queueing.Incomplete("half")})
        self.run_loop(bench, 1)
        self.assertEqual(dict(self.progress.left_out), {"failed": 1, "incomplete recordings": 1})
        self.assertIn("out of memory\n", self.said)
        self.assertEqual((bench.recovered, bench.tidied, bench.asked), (1, 3, [0, 1, 2]))
        again = FakeBench()
        self.run_loop(again, 2)
        self.assertEqual(again.asked, [0, 1])

    def test_a_signal_ends_the_run_after_the_kernel_at_hand(self):
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        self.addCleanup(lambda: [signal.signal(*pair) for pair in before.items()])
        for number in (signal.SIGTERM, signal.SIGINT):
            bench = FakeBench(after=lambda number=number: os.kill(os.getpid(), number))
            self.assertEqual(self.run_loop(bench, 100, StopFlag()), "signal")
            self.assertEqual(len(bench.asked), 1)
        self.assertEqual([one["number"] for one in self.tree.documents()], [0, 1])

    def test_what_ends_a_run(self):
        running, stopped = (types.SimpleNamespace(is_set=value) for value in (False, True))
        self.assertEqual(loop.Limits(running, 5.0, None, lambda: 4.0).reached(9), "")
        self.assertEqual(loop.Limits(running, 5.0, None, lambda: 6.0).reached(9), "time")
        self.assertEqual(loop.Limits(running, 5.0, 9, lambda: 4.0).reached(9), "kernels")
        self.assertEqual(loop.Limits(stopped, 5.0, None, lambda: 4.0).reached(9), "signal")


class ProgressTest(unittest.TestCase):
    def progress(self, most_kernels=None):
        self.now = 0.0
        return Progress(600.0, most_kernels, lambda: self.now)

    def test_the_line_says_what_is_left(self):
        progress = self.progress()
        progress.kernels, progress.pairs, progress.left_out["several kernels"] = 7, 126, 2
        self.now = 400.0
        self.assertEqual(progress.line(_CLOCKS),
                         "overlap: 7 kernels, 126 pairs now; left out: 2 several kernels; "
                         "SM 1980 MHz, 300 W; 3 min 20 s left")

    # 4 kernels in 40 s leave 6 kernels at 10 s each.
    def test_a_number_of_kernels_may_be_reached_before_the_time_is_up(self):
        progress = self.progress(most_kernels=10)
        progress.kernels = progress.measured = 4
        self.now = 40.0
        self.assertEqual(progress.seconds_left(), 60.0)
        self.now = 599.0
        self.assertEqual(progress.seconds_left(), 1.0)

    def test_durations_are_words(self):
        self.assertEqual([duration_text(s) for s in (-3, 12.4, 200, 7500)],
                         ["0 s", "12 s", "3 min 20 s", "2 h 5 min"])


class RunRecordTest(InFolder):
    def test_a_record_keeps_versions_runs_and_the_source_of_counters(self):
        record = tree.RunRecord(self.tree, 3)
        record.note_machine({"gpu": "H200", "driver": "580"}, {"ncu": None})
        record.note_run(0.0, 61.0, ended_by="time", kernels=2)
        record.write()
        again = tree.RunRecord(self.tree, 3)
        again.note_run(120.0, 121.0, ended_by="signal", kernels=1)
        again.write()
        with open(self.tree.path("processed", "run.json"), encoding="utf-8") as file:
            content = json.load(file)
        self.assertEqual((content["seed"], content["gpu"], content["ncu"]), (3, "H200", ""))
        self.assertEqual(content["counters"]["source"], "cupti launch data only")
        self.assertEqual([(run["began"], run["ended_by"]) for run in content["runs"]],
                         [("1970-01-01T00:00:00+00:00", "time"),
                          ("1970-01-01T00:02:00+00:00", "signal")])

    def test_counters_of_an_earlier_run_outlast_a_try_that_fails(self):
        record = tree.RunRecord(self.tree, 3)
        record.note_counters({"source": "ncu 2025.3.1", "kernels": 7})
        record.note_counters({"source": tree.LAUNCH_DATA, "reason": "no permission"})
        self.assertEqual(record.content["counters"], {"source": "ncu 2025.3.1", "kernels": 7,
                                                      "last_try": "no permission"})

    def test_a_tree_of_another_seed_is_not_mixed(self):
        tree.RunRecord(self.tree, 3).write()
        with self.assertRaisesRegex(tree.OtherRun, "go on with --seed 3, or give another"):
            tree.RunRecord(self.tree, 4)

    def test_a_broken_record_is_said(self):
        pathlib.Path(self.tree.path("processed", "run.json")).write_text("{")
        with self.assertRaisesRegex(tree.OtherRun, "is not JSON"):
            tree.RunRecord(self.tree, 4)

    def test_a_table_is_written_whole_even_where_nothing_was_measured(self):
        self.assertEqual(pairs.write_table(self.tree, [32, 96], [["x"]]), 1)
        with open(self.tree.path("processed", "pairs.csv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines, [",".join(pairs.HEADER), "x"])
        self.assertEqual(os.listdir(self.tree.path("processed")), ["pairs.csv"])


class SmokeTest(InFolder):
    def outcomes(self, failures):
        return loop.measure_smoke(FakeBench(failures), self.tree, 1)

    @staticmethod
    def first(kind):
        return next(loop.candidates(1, kind)).number

    def test_three_kinds_are_measured_and_the_table_says_so(self):
        outcomes = self.outcomes({})
        self.assertEqual([(one.name, one.works) for one in outcomes],
                         [("gemm", True), ("elementwise", True), ("stamped", True)])
        self.assertEqual(loop.status(outcomes), 0)
        self.assertIn("18 pairs of gemm", loop.table(outcomes).splitlines()[1])

    def test_the_next_kernel_of_a_kind_is_taken_where_one_is_not_fit(self):
        outcomes = self.outcomes({self.first("gemm"): loop.Skipped("too short or too long")})
        self.assertTrue(outcomes[0].works)

    def test_what_fails_is_said_and_the_status_is_partial(self):
        outcomes = self.outcomes({self.first("stamped"): RuntimeError("no image\nmore")})
        self.assertEqual((outcomes[2].works, outcomes[2].text), (False, "no image"))
        self.assertEqual(loop.status(outcomes), 3)
        self.assertEqual(loop.status([one for one in outcomes if not one.works]), 2)

    def test_counters_and_nccl_are_rows_of_the_table(self):
        lacking = loop.counters_outcome({"source": "cupti launch data only", "reason": "no ncu"})
        self.assertEqual((lacking.works, lacking.text), (False, "no ncu"))
        self.assertTrue(loop.counters_outcome({"source": "ncu 2025.3.1", "kernels": 3}).works)
        self.assertEqual(loop.nccl_outcome(1).text, "skipped: it needs a second GPU")
        self.assertEqual(loop.status([*self.outcomes({}), loop.nccl_outcome(1)]), 0)


if __name__ == "__main__":
    unittest.main()
