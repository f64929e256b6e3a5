#!/usr/bin/env python3
"""Tests of tools/run_fuzzers.py: seeds and the reading of a fuzzer's log."""

import argparse
import gzip
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import run_fuzzers

MAX_LEN = 16384


class RunFuzzersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "repository"

    def write(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return target

    def test_small_file_is_a_seed_as_it_is(self):
        path = self.write("tests/data/a.json.gz", gzip.compress(b'{"traceEvents": []}'))
        self.assertEqual(run_fuzzers.small_form(path, MAX_LEN), b'{"traceEvents": []}')

    def test_large_json_is_thinned_to_a_whole_document(self):
        events = [{"name": "x" * 100, "ts": i} for i in range(10_000)]
        path = self.write("tests/data/a.json", json.dumps({"traceEvents": events}).encode())
        seed = json.loads(run_fuzzers.small_form(path, MAX_LEN))
        self.assertGreater(len(seed["traceEvents"]), 10)
        self.assertLess(len(seed["traceEvents"]), 30)

    def test_large_file_that_is_no_json_is_cut(self):
        path = self.write("tests/data/a.pb", b"\xff" * 300_000)
        self.assertEqual(len(run_fuzzers.small_form(path, MAX_LEN)), MAX_LEN)

    def test_own_seeds_come_first_and_equal_ones_count_once(self):
        self.write("tests/fuzz_seeds/kineto_fuzz/small.json", b"{}")
        self.write("tests/data/h200/a.kineto.json.gz", gzip.compress(b"[]"))
        self.write("tests/data/h200/b.kineto.json.gz", gzip.compress(b"{}"))
        names = [p.name for p in run_fuzzers.seed_files("kineto_fuzz", self.root)]
        self.assertEqual(names, ["small.json", "a.kineto.json.gz", "b.kineto.json.gz"])
        self.assertEqual(
            run_fuzzers.write_seeds("kineto_fuzz", self.root, self.root / "seeds"), 2)

    def test_unknown_fuzzer_still_gets_seeds(self):
        self.write("tests/data/h200/a.json", b"{}")
        self.assertEqual(
            run_fuzzers.write_seeds("surprise_fuzz", self.root, self.root / "seeds"), 1)

    def test_clean_log_gives_executions_and_coverage(self):
        log = "#2 INITED cov: 9 ft: 10\n#77 DONE   cov: 31 ft: 40\n" \
              "stat::number_of_executed_units: 77\n"
        outcome = run_fuzzers.outcome_of("kineto_fuzz", 0, log)
        self.assertEqual((outcome.executions, outcome.coverage, outcome.result),
                         ("77", "31", "ok"))

    def test_finding_is_named(self):
        log = "#5 NEW cov: 3\n==1==ERROR: AddressSanitizer: heap-buffer-overflow on address\n" \
              "SUMMARY: AddressSanitizer: heap-buffer-overflow reader.cc:12 in Read\n"
        outcome = run_fuzzers.outcome_of("kineto_fuzz", 1, log)
        self.assertIn("heap-buffer-overflow", outcome.result)

    def test_death_without_a_word_is_a_finding(self):
        self.assertEqual(run_fuzzers.outcome_of("kineto_fuzz", -9, "").result, "exit status -9")

    def test_shorter_runs_add_up_in_the_table(self):
        build = self.root / "build-asan"
        self.write("build-asan/corpus/orr_fuzz/a", b"x")
        self.write("build-asan/findings/orr_fuzz/crash-1", b"x")
        self.write("doc.md", b"Text.\n<!-- fuzzers, made by tools/run_fuzzers.py -->\n" + "\n".join(
            [*run_fuzzers.HEADER, "| orr | 60 | 1,000 | 7 | 31 | 0 |"]).encode() + b"\n<!-- end -->\n| no | row |\n")
        stats = run_fuzzers.stats_of(self.root / "doc.md")
        run_fuzzers.add_to_stats(stats, run_fuzzers.Outcome("orr_fuzz", "500", "29", "crash"), 30, build)
        run_fuzzers.add_to_stats(stats, run_fuzzers.Outcome("card_fuzz", "-", "-", "exit status 1"), 30, build)
        # 60 + 30 seconds, 1000 + 500 executions; corpus, coverage and findings of the last build folder.
        self.assertEqual(run_fuzzers.stats_table(stats)[2:],
                         ["| card | 30 | 0 | 0 | 0 | 0 |", "| orr | 90 | 1,500 | 1 | 29 | 1 |"])

    def test_resumed_runs_last_for_what_is_missing(self):
        asked = []
        self.write("doc.md", b"<!-- fuzzers, made by tools/run_fuzzers.py -->\n" + "\n".join(
            [*run_fuzzers.HEADER, "| orr | 40 | 9 | 7 | 31 | 0 |", "| csv | 60 | 9 | 7 | 31 | 0 |"]).encode() + b"\n<!-- end -->\n")
        options = argparse.Namespace(write=self.root / "doc.md", resume=True, seconds=60, jobs=1)

        def run(fuzzer, root, build, seconds):
            asked.append((fuzzer.name, seconds))
            return run_fuzzers.Outcome(fuzzer.name, "1", "1", "ok")

        with mock.patch.object(run_fuzzers, "run_fuzzer", run), mock.patch.object(sys, "argv", ["run_fuzzers.py"]):
            run_fuzzers.run_fuzzers([self.root / "orr_fuzz", self.root / "csv_fuzz"], self.root, self.root / "build", options)
        self.assertEqual(asked, [("orr_fuzz", 20)])
        self.assertEqual(run_fuzzers.stats_of(self.root / "doc.md")["orr_fuzz"]["seconds"], 60)


if __name__ == "__main__":
    unittest.main()
