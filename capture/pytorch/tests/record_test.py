#!/usr/bin/env python3
"""Tests of capture/record_traced_jobs with a tracer that is a function; needs no PyTorch."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import sys
import tarfile
import tempfile
import unittest

_CAPTURE = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
_LOADER = importlib.machinery.SourceFileLoader("record_traced_jobs", str(_CAPTURE / "record_traced_jobs"))
record_traced_jobs = importlib.util.module_from_spec(importlib.util.spec_from_loader(_LOADER.name, _LOADER))
_LOADER.exec_module(record_traced_jobs)


def _leave(folder, is_complete=True):
    (folder / "rank-0").mkdir(parents=True)
    (folder / "rank-0" / "steps.json").write_text(json.dumps({"complete": is_complete}))
    (folder / "trace.json").write_text(json.dumps({"ranks": [{"folder": "rank-0"}]}))


class Recording(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "traced"
        self.traced = []
        self.seconds = 0

    def trace(self, words, folder):
        self.traced.append(folder.name)
        self.seconds += 50
        _leave(folder)
        return 0

    def record(self, minutes, trace=None):
        wanted = record_traced_jobs.chosen("gpt2,dlrm,gpt2-ddp-64")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            missing = record_traced_jobs.record(wanted, self.out, minutes, trace or self.trace, lambda: self.seconds)
        return missing, printed.getvalue()

    def test_no_job_begins_when_the_time_is_over_and_the_same_command_goes_on(self):
        # 50 s a job: the third would begin after 100 s.
        self.assertEqual(self.record(1.5)[0], ["gpt2-ddp-64"])
        self.assertEqual(self.record(1.5)[0], [])
        self.assertEqual(self.traced, ["gpt2", "dlrm", "gpt2-ddp-64"])

    def test_a_job_that_is_not_complete_is_recorded_again(self):
        _leave(self.out / "gpt2", is_complete=False)
        _leave(self.out / "dlrm")
        self.record(9, lambda words, folder: self.traced.append(folder.name) or 2)
        self.assertEqual(self.traced, ["gpt2", "gpt2-ddp-64"])

    def test_a_job_that_failed_is_missing(self):
        self.assertEqual(self.record(9, lambda words, folder: 3)[0], ["gpt2", "dlrm", "gpt2-ddp-64"])

    def test_an_unknown_name_is_refused_with_those_that_are_known(self):
        with self.assertRaisesRegex(ValueError, "no job gpt5: gpt2, "):
            record_traced_jobs.chosen("gpt5")

    def test_models_are_timed_twice_and_plans_once(self):
        jobs = record_traced_jobs.jobs()
        self.assertEqual(jobs["resnet50"], ["resnet50", "--timing-runs", "1"])
        self.assertEqual(jobs["gpt2-ddp-64"], ["gpt2", "--world", "64", "--ddp"])

    def test_the_archive_holds_what_was_recorded(self):
        _leave(self.out / "gpt2")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            record_traced_jobs.pack(self.out, ["gpt2", "dlrm"])
        with tarfile.open(f"{self.out}.tar") as tar:
            self.assertIn("gpt2/rank-0/steps.json", tar.getnames())
        self.assertIn("gpt2 (largest:", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
