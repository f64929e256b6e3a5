#!/usr/bin/env python3
"""Tests of what a script sees and of what is said about it; needs no PyTorch."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

_FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_FOLDER), str(_FOLDER.parent)]

from parallel import plan as plans  # noqa: E402
from tracer import command_line, facts, rank_log, step_file  # noqa: E402
from tracer import files as written  # noqa: E402

_RUNS = """
import sys
sys.path[0] = sys.argv[1]
from models import catalogue
from parallel import plan
from tracer import script_run
said = script_run.run(sys.argv[2:])
print("said", said, "held", plan.Plan.from_options(world=4).kind)
"""


class Scripts(unittest.TestCase):
    def run_script(self, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("models", "parallel", "tracer", "mine"):
                (pathlib.Path(folder) / f"{name}.py").write_text("WHOSE = 'the script'\n")
            (pathlib.Path(folder) / "train.py").write_text(text)
            done = subprocess.run([sys.executable, "-c", _RUNS, str(_FOLDER), f"{folder}/train.py", *words],
                                  capture_output=True, text=True, check=False)
        return done.stdout.splitlines()

    def test_modules_of_the_script_win_over_ours_of_the_same_name(self):
        text = "import models, parallel, tracer, mine\nprint(models.WHOSE, parallel.WHOSE, tracer.WHOSE, mine.WHOSE)\n"
        self.assertEqual(self.run_script(text), ["the script " * 3 + "the script", "said  held ddp"])

    def test_it_is_the_main_program_with_its_own_words(self):
        text = "import os, sys\nprint(__name__, os.path.basename(sys.argv[0]), sys.argv[1:])\n"
        self.assertEqual(self.run_script(text, "--lr", "1"), ["__main__ train.py ['--lr', '1']", "said  held ddp"])

    def test_a_status_other_than_0_is_said(self):
        self.assertEqual(self.run_script("raise SystemExit(4)\n"), ["said ended with status 4 held ddp"])
        self.assertEqual(self.run_script("raise SystemExit(0)\n"), ["said  held ddp"])


class Torchrun(unittest.TestCase):
    def test_what_is_typed_to_train_names_the_script_and_the_size_of_the_job(self):
        for line, expected in (
                ("train.py --lr 1", (["train.py", "--lr", "1"], None)),
                ("python3 train.py --lr 1", (["train.py", "--lr", "1"], None)),
                ("torchrun --nproc-per-node 8 train.py --nnodes 3", (["train.py", "--nnodes", "3"], 8)),
                ("torchrun --standalone --nnodes=1:4 --nproc_per_node=2 --master-port 29500 train.py", (["train.py"], 8)),
                ("python -m torch.distributed.run --nproc-per-node 2 train.py", (["train.py"], 2)),
                ("torchrun --nproc-per-node gpu train.py", (["train.py"], None)), ("torchrun", ([], 1))):
            self.assertEqual(command_line.from_torchrun(line.split()), expected, line)


class Ranks(unittest.TestCase):
    def test_the_first_played_rank_of_a_script_stands_for_all_that_are_not(self):
        self.assertEqual(step_file.stands_for([17, 0], 64, plans.ranks_to_text), [(0, "0-16,18-63"), (17, "17")])

    def test_only_ranks_with_a_recording_are_listed(self):
        listed = step_file.ranks([(0, "0"), (1, "1"), (2, "2")], {0: 0, 1: 2, 2: 3}, (0, 3))
        self.assertEqual([one["rank"] for one in listed], [0, 2])


class Sentences(unittest.TestCase):
    def test_a_version_that_is_too_old_is_named_with_those_that_work(self):
        self.assertEqual(facts.version_refusal("2.2.1+cu118"),
                         "PyTorch 2.2 is too old: the tracer needs 2.3 to 2.11 (tested: 2.11)")
        self.assertEqual(facts.version_refusal("2.3.0"), "")
        self.assertEqual(facts.version_refusal("2.11.0a0+git1"), "")

    def test_a_version_that_is_newer_than_tested_is_remarked(self):
        self.assertEqual(facts.version_remark("2.11.0+cu130"), "")
        self.assertIn("PyTorch 2.12 is newer", facts.version_remark("2.12.0"))

    def test_errors_are_one_line(self):
        self.assertEqual(rank_log.reason(ValueError("first\nsecond")), "ValueError: first")
        self.assertEqual(rank_log.reason(KeyboardInterrupt()), "KeyboardInterrupt")

    def test_a_group_that_cannot_be_served_is_said_to_be_one(self):
        error = RuntimeError("No backend type associated with device type xpu")
        self.assertTrue(rank_log.reason(error).startswith("a process group that the stand-in cannot serve: "))

    def test_uneven_shards_are_counted(self):
        # 50257 = 64 * 785 + 17; scalars are not cut.
        self.assertTrue(plans.uneven_shards_remark([(50257, 768), (768,), ()], 64).startswith("1 parameter has"))
        self.assertTrue(plans.uneven_shards_remark([(30, 2), (31,)], 64).startswith("2 parameters have"))
        self.assertEqual(plans.uneven_shards_remark([(128, 7), (64,)], 64), "")


class Memory(unittest.TestCase):
    def test_times_begin_with_the_first_event_and_other_actions_are_left_out(self):
        events = [{"action": "alloc", "size": 512, "addr": 1, "stream": 0, "time_us": 1000},
                  {"action": "segment_alloc", "size": 4096, "addr": 1, "stream": 0, "time_us": 1001},
                  {"action": "free_requested", "size": 512, "addr": 1, "stream": 0, "time_us": 1250},
                  {"action": "free_completed", "size": 512, "addr": 1, "stream": 0, "time_us": 1251}]
        self.assertEqual(list(step_file.memory_rows(100, events)), [
            step_file.MEMORY_HEADER, "0,held,100,0,0\n", "0,alloc,512,1,0\n", "250,free,512,1,0\n"])


class Reports(unittest.TestCase):
    def make(self, orrery, *statuses):
        """(whether it went well, command lines that were run, what was said)."""
        lines, said, left = [], [], list(statuses)

        def run(line):
            lines.append([word.replace(folder, "JOB") for word in line])
            return left.pop(0)

        with tempfile.TemporaryDirectory() as folder:
            for rank in (0, 17):
                (pathlib.Path(folder) / f"rank-{rank}").mkdir()
            (pathlib.Path(folder) / "rank-0" / "kineto.json.gz").write_text("")
            written.write_json(f"{folder}/trace.json", {"ranks": [{"folder": "rank-0"}, {"folder": "rank-17"}]})
            is_good = command_line.make_report(orrery, folder, said.append, run)
            return is_good, lines, [one.replace(folder, "JOB") for one in said]

    def test_each_recording_is_analysed_and_the_job_predicted(self):
        is_good, lines, _ = self.make("/bin/orrery", 3, 0)
        self.assertTrue(is_good)
        self.assertEqual(lines, [["/bin/orrery", "analyze", "JOB/rank-0/kineto.json.gz"],
                                 ["/bin/orrery", "simulate", "--from", "JOB"]])

    def test_a_command_that_fails_is_the_last(self):
        is_good, lines, said = self.make("/bin/orrery", 2)
        self.assertEqual((is_good, len(lines)), (False, 1))
        self.assertIn("ended with status 2; the recording is kept in JOB", said[-1])

    def test_without_the_program_the_commands_are_said(self):
        is_good, lines, said = self.make(None)
        self.assertEqual((is_good, lines), (True, []))
        self.assertTrue(said[0].endswith("orrery analyze JOB/rank-0/kineto.json.gz && orrery simulate --from JOB"))


if __name__ == "__main__":
    unittest.main()
