#!/usr/bin/env python3
"""Tests of the driver with a function in place of the process, and of the lines that are shown of a log; needs no PyTorch."""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tracer import driver, files, rank_log, step_file  # noqa: E402
from tracer.driver import outcome  # noqa: E402

_CRASH = """\
[rank0]:[W1115 execution_trace_observer.cpp:973] Enabling Execution Trace Observer
Traceback (most recent call last):
  File "tracer/script.py", line 115, in play
    said = script.run_script(request.script)
  File "tracer/script.py", line 97, in run
    runpy.run_path(script[0], run_name="__main__")
  File "<frozen runpy>", line 286, in run_path
  File "train.py", line 56, in <module>
    main()
  File "train.py", line 46, in main
    raise RuntimeError("damaged")
RuntimeError: damaged
orrery-capture: train.py ended in step 3 with RuntimeError: damaged; what was recorded until then is kept
UserWarning: destroy_process_group() was not called
"""


class Logs(unittest.TestCase):
    def test_of_an_error_the_frames_of_the_script_are_shown_and_nothing_behind_it(self):
        self.assertEqual(rank_log.error_end(_CRASH), [
            '  File "train.py", line 56, in <module>', "    main()", '  File "train.py", line 46, in main',
            '    raise RuntimeError("damaged")', "RuntimeError: damaged"])

    def test_a_long_error_is_cut_at_its_begin(self):
        frames = "".join(f"  frame {place}\n" for place in range(20))
        shown = rank_log.error_end(f"Traceback (most recent call last):\n{frames}ValueError: x\n  at y\n")
        self.assertEqual((len(shown), shown[0], shown[-1]), (8, "  frame 13", "ValueError: x"))

    def test_without_an_error_of_python_the_last_lines_are_shown(self):
        self.assertEqual(rank_log.error_end("a\n\nb\nc\norrery-capture: d\ne\n"), ["b", "c", "e"])

    def test_our_sentences_are_shown_once(self):
        self.assertEqual(rank_log.sentences("noise\norrery-capture: x\norrery-capture: x\n"), ["orrery-capture: x"])


class Process:
    """Stands in for the process of a rank: leaves the files of a rank that ended so, and returns the status."""

    def __init__(self, *statuses, log="", why="", is_under_way=False, has_facts=True):
        self.requests = []
        self._statuses = list(statuses)
        self._log, self._why = log, why
        self._is_under_way, self._has_facts = is_under_way, has_facts

    def __call__(self, request_path, log_path):
        request = files.Request.read(request_path)
        self.requests.append(request)
        status = self._statuses.pop(0)
        pathlib.Path(log_path).write_text(self._log)
        if status not in (files.REFUSED, files.OUT_OF_MEMORY) and self._has_facts:
            self._leave_files(request, status)
        return status

    def _leave_files(self, request, status):
        steps = step_file.StepFile(os.path.join(request.folder, "steps.json"))
        steps.without_profiler["step_ms"] = [30.0 + len(self.requests)]
        if self._is_under_way:
            steps.write()
        else:
            steps.write(status == files.COMPLETE, self._why)
        files.write_json(os.path.join(request.folder, "collectives.json"), {"groups": [], "collectives": []})
        files.write_json(os.path.join(request.folder, "facts.json"), {"rank": request.rank, "remarks": []})


class Driving(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.out = pathlib.Path(self._folder.name) / "job"
        self.shown = []

    def play(self, process, timing_runs=0):
        self.driver = driver.Driver(str(self.out), process, self.shown.append)
        return self.driver.play(files.Request(folder="", rank=17, world=64, steps=20), timing_runs)

    def names(self):
        return sorted(str(path.relative_to(self.out)) for path in self.out.rglob("*") if path.is_file())

    def steps(self):
        return json.loads((self.out / "rank-17" / "steps.json").read_text())

    def test_warnings_of_a_rank_that_went_well_are_seen_by_nobody(self):
        self.assertEqual(self.play(Process(0, log="UserWarning: noise\n")), files.COMPLETE)
        self.assertEqual(self.shown, [])
        self.assertEqual(self.names(), ["rank-17/collectives.json", "rank-17/steps.json"])
        self.assertEqual(self.driver.facts, {17: {"remarks": []}})

    def test_a_crash_shows_its_end_and_keeps_recording_and_log(self):
        self.assertEqual(self.play(Process(3, log=_CRASH, why="train.py ended")), files.INCOMPLETE)
        self.assertEqual(self.shown[-2], "RuntimeError: damaged")
        self.assertTrue(self.shown[-1].startswith("orrery-capture: train.py ended in step 3"))
        self.assertIn("rank-17/log.txt", self.names())
        self.assertEqual(self.steps()["why"], "train.py ended")

    def test_a_refusal_leaves_nothing_but_a_log_of_an_error(self):
        self.assertEqual(self.play(Process(2, log="orrery-capture: PyTorch is not installed\n")), files.REFUSED)
        self.assertEqual(self.shown, ["orrery-capture: PyTorch is not installed"])
        self.assertEqual(self.names(), [])
        self.driver.release()
        self.play(Process(2, log=_CRASH))
        self.assertEqual(self.names(), ["rank-17.log.txt"])
        self.driver.release()
        self.play(Process(0))
        self.assertNotIn("rank-17.log.txt", self.names())

    def test_a_process_that_was_killed_leaves_what_it_had(self):
        self.assertEqual(self.play(Process(-9, is_under_way=True)), files.INCOMPLETE)
        self.assertEqual((self.steps()["complete"], self.steps()["why"]), (False, "the process ended with status -9"))

    def test_a_script_that_leaves_with_0_before_the_end_is_not_complete(self):
        self.assertEqual(self.play(Process(0, is_under_way=True)), files.INCOMPLETE)

    def test_a_process_that_was_killed_before_its_first_step_is_told(self):
        self.assertEqual(self.play(Process(-11, has_facts=False)), files.REFUSED)
        self.assertEqual(self.shown, ["orrery-capture: rank 17 cannot be traced: its process ended with status -11"])

    def test_further_runs_only_time_the_rank(self):
        process = Process(0, 0, 0)
        self.play(process, timing_runs=2)
        self.assertEqual([one.is_timing_only for one in process.requests], [False, True, True])
        self.assertEqual(self.steps()["other_runs"], [{"step_ms": [32.0], "issue_ms": [], "alone_ms": []},
                                                      {"step_ms": [33.0], "issue_ms": [], "alone_ms": []}])
        self.assertEqual(self.names(), ["rank-17/collectives.json", "rank-17/steps.json"])
        self.assertEqual(driver.summary(str(self.out / "rank-17")),
                         "step 31.00 ms and 32.00 ms and 33.00 ms, 0.0 GB, 0 exchanges")

    def test_a_further_run_that_fails_is_left_out_and_told(self):
        self.assertEqual(self.play(Process(0, 75), timing_runs=1), files.COMPLETE)
        self.assertEqual(self.steps()["other_runs"], [])
        self.assertIn("ended with status 75 and is left out", self.shown[0])

    def test_a_folder_in_use_is_refused(self):
        first = driver.Driver(str(self.out))
        with self.assertRaisesRegex(files.FolderInUse, "another run of orrery trace writes into this folder"):
            driver.Driver(str(self.out))
        first.release()
        driver.Driver(str(self.out)).release()

    def test_a_file_in_the_place_of_the_folder_is_refused(self):
        self.out.write_text("")
        with self.assertRaisesRegex(files.FolderInUse, "job: File exists; say another --out"):
            driver.Driver(str(self.out))


class FewerLayers(unittest.TestCase):
    def play(self, ranks, layers, fewest, fits):
        self.played, said = [], []

        def one(rank, count):
            self.played.append((rank, count))
            return files.COMPLETE if fits(rank, count) else files.OUT_OF_MEMORY

        return *driver.play_all(ranks, layers, fewest, one, said.append), said

    def test_layers_are_halved_until_all_ranks_fit(self):
        # Rank 3 needs 9 layers or fewer: 16 do not fit, 8 do, and rank 0 is run again with 8.
        statuses, layers, said = self.play([0, 3], 16, 2, lambda rank, count: rank == 0 or count < 10)
        self.assertEqual((statuses, layers), ({0: 0, 3: 0}, 8))
        self.assertEqual(self.played, [(0, 16), (3, 16), (0, 8), (3, 8)])
        self.assertEqual(said, ["the GPU's memory does not suffice for 16 layers"])

    def test_a_model_that_never_fits_stops_at_the_fewest(self):
        statuses, layers, _ = self.play([0], 12, 4, lambda rank, count: False)
        self.assertEqual((statuses, layers), ({0: files.OUT_OF_MEMORY}, 6))  # 3 would be fewer than 4

    def test_a_model_without_layers_is_tried_once(self):
        self.play([0], 0, 2, lambda rank, count: False)
        self.assertEqual(self.played, [(0, 0)])

    def test_a_refusal_of_the_first_rank_is_one_of_all(self):
        played = []
        driver.play_all([0, 1], 4, 2, lambda rank, count: played.append(rank) or files.REFUSED, played.append)
        self.assertEqual(played, [0])

    def test_the_remark_names_both_numbers(self):
        self.assertEqual(driver.remark(12, 12), "")
        self.assertTrue(driver.remark(16, 4).startswith("4 of 16 layers were traced"))


class Outcomes(unittest.TestCase):
    # At the end, the options name the files that are written.
    def test_a_folder_that_is_not_named_is_called_after_the_model(self):
        options = argparse.Namespace(out=None)
        self.assertEqual(driver.PlayedJob(options, "gpt2", 8, []).out, "trace-gpt2")
        self.assertEqual(options.out, "trace-gpt2")

    def test_complete_and_partial_ranks_are_told_apart(self):
        self.assertEqual(outcome([0, 0], 2), "2 of 2 ranks complete")
        self.assertEqual(outcome([3, 3], 2), "0 of 2 ranks complete, 2 in part")
        self.assertEqual(outcome([0, 3, 2], 4), "1 of 4 ranks complete, 1 in part")


if __name__ == "__main__":
    unittest.main()
