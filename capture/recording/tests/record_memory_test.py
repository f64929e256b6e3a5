#!/usr/bin/env python3
"""Tests of capture/record_memory: a copy of it beside an orrery-capture and a program that only say how they were called."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

_CAPTURE = pathlib.Path(__file__).resolve().parents[2]

# Writes its words and leaves a stream; STATUS_OF has the exit status for words that a call contains.
_ORRERY_CAPTURE = """
import json, os, pathlib, subprocess, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(["capture", *words]) + "\\n")
pathlib.Path(words[words.index("--out") + 1]).write_text("stream")
for part, status in json.loads(os.environ.get("STATUS_OF", "{}")).items():
    if part in words:
        sys.exit(status)
sys.exit(subprocess.run(words[words.index("--") + 1:], env={**os.environ, "CALLS": os.devnull}).returncode)
"""

_ONE_PASS = """
import json, os, pathlib, sys
words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(["plain", *words]) + "\\n")
if "--times" in words:
    pathlib.Path(words[words.index("--times") + 1]).write_text(json.dumps({"milliseconds": [2.0, 1.0], "losses": [0.5]}))
"""


class RecordMemory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(_CAPTURE / "record_memory", self.folder)
        (self.folder / "orrery-capture").write_text(_ORRERY_CAPTURE)
        (self.folder / "pytorch").mkdir()
        (self.folder / "pytorch" / "one_pass.py").write_text(_ONE_PASS)
        self.out = self.folder / "memory"
        self.calls = self.folder / "calls"

    def run_script(self, *words, **variables):
        self.calls.write_text("")
        return subprocess.run([sys.executable, str(self.folder / "record_memory"), "--out", str(self.out), *words],
                              env={**os.environ, "CALLS": str(self.calls), "PYTHONDONTWRITEBYTECODE": "1", **variables},
                              capture_output=True, text=True, check=False)

    def made_calls(self):
        return [json.loads(line) for line in self.calls.read_text().splitlines()]

    def times(self):
        return [json.loads(line) for line in (self.out / "times.jsonl").read_text().splitlines()]

    def test_streams_come_first_then_the_ways_of_recording_one_after_the_other(self):
        ended = self.run_script("--only", "gpt2-training,bert-inference")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        short = [(call[0], [word for word in call if word in ("--accesses", "--pages", "--analysis")],
                  call[-2:] if "--times" not in call else call[call.index("--passes") - 1:call.index("--passes") + 2])
                 for call in self.made_calls()]
        bert, gpt2 = ["bert"], ["gpt2", "--training"]
        program = str(self.folder.resolve() / "pytorch" / "one_pass.py")
        self.assertEqual(short[:2], [("capture", ["--accesses", "--pages"], [program, *bert]),
                                     ("capture", ["--accesses", "--pages"], gpt2)])
        self.assertEqual([(call[0], call[1], call[2][1:]) for call in short[2:]],
                         [("plain", [], ["--passes", "12"]), ("plain", [], ["--passes", "12"]),
                          ("capture", [], ["--passes", "12"]), ("capture", [], ["--passes", "12"]),
                          ("capture", ["--accesses"], ["--passes", "3"]), ("capture", ["--accesses"], ["--passes", "3"]),
                          ("capture", ["--accesses", "--analysis"], ["--passes", "2"]),
                          ("capture", ["--accesses", "--analysis"], ["--passes", "2"])])
        self.assertEqual([(line["recording"], line["mode"]) for line in self.times()],
                         [(name, mode) for mode in ("plain", "coarse", "gpu", "cpu")
                          for name in ("bert-inference", "gpt2-training")])
        self.assertEqual(self.times()[0]["milliseconds"], [2.0, 1.0])
        self.assertEqual(sorted(path.name for path in self.out.glob("*.orrs")), ["bert-inference.orrs", "gpt2-training.orrs"])

    def test_coarse_streams_hold_times_of_as_many_passes_as_are_asked_for(self):
        ended = self.run_script("--only", "bert-inference", "--coarse", "--passes", "3", "--modes", "")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        (call,) = self.made_calls()
        self.assertNotIn("--accesses", call)
        self.assertEqual(call[-3:], ["bert", "--passes", "3"])
        self.assertTrue((self.out / "bert-inference.orrs").exists())

    def test_the_same_command_goes_on_where_it_stopped(self):
        self.run_script("--only", "bert-inference", "--modes", "plain")
        self.run_script("--only", "bert-inference", "--modes", "plain,coarse")
        self.assertEqual([(call[0], "--pages" in call) for call in self.made_calls()], [("capture", False)])
        self.assertEqual([line["mode"] for line in self.times()], ["plain", "coarse"])

    def test_only_some_are_timed_where_they_are_named(self):
        self.run_script("--only", "bert-inference,resnet18-training", "--timed", "resnet18-training", "--modes", "plain")
        self.assertEqual([line["recording"] for line in self.times()], ["resnet18-training"])

    def test_a_recording_with_losses_counts_and_one_that_failed_is_named_and_tried_again(self):
        ended = self.run_script("--only", "bert-inference,gpt2-training", "--modes", "", STATUS_OF='{"bert": 3, "gpt2": 2}')
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(ended.stderr, "record_memory: not recorded: gpt2-training\n")
        self.assertEqual([path.name for path in self.out.glob("*-????????*.orrs") if "unfinished" not in path.name],
                         ["bert-inference.orrs"])
        self.run_script("--only", "bert-inference,gpt2-training", "--modes", "")
        self.assertEqual(len(self.made_calls()), 1)
        self.assertTrue((self.out / "gpt2-training.orrs").exists())

    def test_without_a_gpu_a_time_is_a_line_with_the_status_and_no_figures(self):
        (self.folder / "pytorch" / "one_pass.py").write_text("raise SystemExit(2)\n")
        self.run_script("--only", "bert-inference", "--modes", "plain")
        self.assertEqual([(line["status"], "milliseconds" in line) for line in self.times()], [(2, False)])

    def test_nothing_begins_that_cannot_end_in_time(self):
        ended = self.run_script("--only", "bert-inference", "--minutes", "0.2")
        self.assertEqual((ended.returncode, self.made_calls()), (1, []))

    def test_names_that_are_not_there_are_refused_before_anything_runs(self):
        for words, reason in ((("--only", "bert"), "no such recording: bert (there are bert-inference, bert-training,"),
                              (("--timed", "gpt9"), "no such recording: gpt9"),
                              (("--modes", "plain,gpus"), "no such way of recording: gpus (there are plain, coarse, gpu, cpu)")):
            ended = self.run_script(*words)
            self.assertEqual((ended.returncode, self.made_calls(), self.out.exists()), (2, [], False))
            self.assertIn(f"record_memory: {reason}", ended.stderr)


if __name__ == "__main__":
    unittest.main()
