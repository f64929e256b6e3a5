#!/usr/bin/env python3
"""Tests of tools/attack: mutations reach the parser behind checksums, runs repeat, and faults are seen."""

import gzip
import json
import pathlib
import pickle
import random
import sqlite3
import struct
import sys
import tempfile
import unittest
import zlib

from attack import faults, kinds, mutations, oracle, physics, xxhash64
from attack.case import ROOT, Case, snapshot

sys.path.insert(0, str(ROOT / "capture"))
import orrs_reader  # noqa: E402

DATA = ROOT / "tests" / "data"
SEEDS = range(40)


def mutations_of(mutator, data):
    return [mutator(random.Random(seed), data) for seed in SEEDS]


class MutationsTest(unittest.TestCase):
    def test_same_seed_gives_the_same_mutation_and_others_differ(self):
        for path, _ in kinds.samples()[::7]:
            data = kinds.sample_content(path)
            one, again = (mutations.mutated(random.Random("7"), path.name, data) for _ in range(2))
            self.assertEqual(one, again, path)
        self.assertGreater(len(set(mutations_of(mutations.mutated_bytes, bytes(range(200))))), 30)

    def test_values_keep_their_places(self):
        self.assertEqual({len(data) for data in mutations_of(mutations.same_length, bytes(100))}, {100})

    def test_xxh64_is_that_of_the_library(self):
        # Values of xxhsum 0.8.1; the third covers stripes of 32 bytes, eight, four and single ones.
        self.assertEqual(xxhash64.digest(b""), 0xEF46DB3751D8E999)
        self.assertEqual(xxhash64.digest(b"abc"), 0x44BC2CF5AD770999)
        self.assertEqual(xxhash64.digest(b"Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1)

    def test_checksums_of_containers_fit(self):
        data = (DATA / "orr/two_ranks.orr").read_bytes()
        self.assertTrue(mutations.sealed_orr(*self.parts_of(data)) == data)
        mutated = mutations_of(mutations.mutated_orr, data)
        self.assertTrue(all(mutations.sealed_orr(*self.parts_of(one)) == one for one in mutated))
        self.assertGreater(len(set(mutated)), len(SEEDS) // 2)

    @staticmethod
    def parts_of(data):
        offset, length = struct.unpack_from("<QQ", data, len(data) - 32)
        return data[:offset], data[offset:offset + length]

    def test_checksums_of_streams_fit(self):
        data = (DATA / "orrs/whole.orrs").read_bytes()
        num_whole = 0
        for mutated in mutations_of(mutations.mutated_orrs, data):
            try:
                num_whole += orrs_reader.parse(mutated).damaged == 0
            except (orrs_reader.NotAStream, IndexError, ValueError):
                num_whole += 1  # the records are hostile: the mutation passed the checksums
        self.assertGreater(num_whole, len(SEEDS) // 2)

    def test_checksum_of_a_model_fits(self):
        for mutated in mutations_of(mutations.mutated_model, (DATA / "kernels/small.orrmodel").read_bytes())[:5]:
            self.assertEqual(struct.unpack_from("<Q", mutated, 16)[0], xxhash64.digest(mutated[24:]))
            self.assertEqual(len(mutations.unpacked_zstd(mutated[40:])), struct.unpack_from("<Q", mutated, 24)[0])

    def test_packed_file_is_packed_again(self):
        data = gzip.compress(b'{"traceEvents": [{"name": "a", "ts": 1}]}')
        packed = [mutated for mutated in (mutations.mutated(random.Random(seed), "a.json.gz", data) for seed in SEEDS)
                  if mutated[:2] == b"\x1f\x8b"]
        self.assertGreater(len(packed), len(SEEDS) // 2)
        self.assertGreater(len({self.unpacked(mutated) for mutated in packed}), 20)

    @staticmethod
    def unpacked(data):
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return None

    def test_most_json_stays_json_of_another_value(self):
        data = json.dumps({"traceEvents": [{"name": "a", "ts": 1, "args": {"x": [1, 2]}}] * 5}).encode()
        num_valid = 0
        for mutated in mutations_of(mutations.mutated_json, data):
            try:
                num_valid += json.loads(mutated) != json.loads(data)
            except (ValueError, RecursionError):
                pass
        self.assertGreater(num_valid, len(SEEDS) // 2)

    def test_pickles_load_and_code_in_them_never_runs(self):
        for mutated in mutations_of(mutations.mutated_pickle, (DATA / "torch_snapshot/whole.protocol4.pickle").read_bytes()):
            pickle.loads(mutated)
        mutations_of(mutations.mutated_pickle, (DATA / "torch_snapshot/hostile.pickle").read_bytes())

    def test_lengths_of_protobuf_fit(self):
        data = (DATA / "xplane/two_tpus.xplane.pb").read_bytes()
        self.assertEqual(mutations.message_of(mutations.fields_of(data)), data)
        fitting = [mutated for mutated in mutations_of(mutations.mutated_protobuf, data) if mutations.fields_of(mutated)]
        self.assertEqual(len(fitting), len(SEEDS))

    def test_most_databases_open(self):
        data = kinds.sample_content(DATA / "analyze/nsys_metrics.sql")
        with tempfile.NamedTemporaryFile() as file:
            num_open = 0
            for mutated in mutations_of(mutations.mutated_sqlite, data):
                pathlib.Path(file.name).write_bytes(mutated)
                try:
                    num_open += bool(sqlite3.connect(file.name).execute("SELECT name FROM sqlite_master").fetchall())
                except sqlite3.Error:
                    pass
        self.assertGreater(num_open, len(SEEDS) // 2)


class OracleTest(unittest.TestCase):
    def reasons(self, words=(), *, status=0, stdout=b"", stderr=b"", memory_kb=0, injected=oracle.Faults()):
        return list(oracle.judge(list(words), oracle.Result(status, stdout, stderr, memory_kb, False), injected, oracle.Limits()))

    def test_good_runs_are_good(self):
        self.assertEqual(self.reasons(stdout="step 3 ms, inference of nanoseconds – no NaN here\n".encode()), [])
        self.assertEqual(self.reasons(["info", "x", "--json"], stdout=b'{"a": 1}'), [])
        self.assertEqual(self.reasons(status=2, stderr=b"orrery: x: no such file\n"), [])
        self.assertEqual(self.reasons(status=-15, injected=oracle.Faults(signal_after=(15, 0.1))), [])

    def test_bad_runs_are_found(self):
        for bad in ({"status": -11}, {"status": 70}, {"status": 134}, {"status": 2}, {"stdout": b"mfu nan\n"}, {"stdout": b"+inf% \n"},
                    {"stdout": b"\x1b[2J"}, {"stdout": b"\xff"}, {"stderr": "\u202e".encode()}, {"stderr": b"x" * 3000},
                    {"memory_kb": 10**8}, {"status": 1, "stderr": b"a.cc:1:2: runtime error: signed integer overflow"},
                    {"words": ["info", "--json"], "stdout": b"{"}, {"words": ["info", "--json"], "stdout": b'{"a": NaN}'},
                    {"words": ["memory", "--json"], "stdout": b'{"curve": [{"allocated_bytes": -5}, {"allocated_bytes": -6}]}'}):
            self.assertEqual(len(self.reasons(**bad)), 1, bad)


class CaseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def case(self, script, kind="files"):
        program = self.work / "program"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        return Case(program, self.work, 1, kind, 0, oracle.Limits(seconds=5))

    def findings(self, script):
        case = self.case(script)
        case.add("in/a", b"input")
        case.run(["info", "in/a"])
        case.check_folder()
        return case.findings

    def test_what_a_run_leaves_behind_is_seen(self):
        self.assertEqual(self.findings("echo fine; echo page > out/a.txt"), [])

    def test_changed_input_is_seen(self):
        self.assertEqual(self.findings("echo x >> in/a"), ["an input was changed"])

    def test_stray_and_torn_files_are_seen(self):
        self.assertEqual(self.findings("touch stray; touch out/.orrery-part-1-a; echo '{' > out/a.json")[1:],
                         ["an output is no JSON: Expecting property name enclosed in double quotes: line 2 column 1 (char 2)",
                          "written outside the output folder: stray"])

    def test_death_is_seen(self):
        self.assertEqual(self.findings("kill -11 $$"), ["info: exit status -11: "])

    def test_a_case_repeats(self):
        for name, attack in (("files", kinds.attack_files), ("folders", kinds.attack_folders), ("targets", faults.attack_targets)):
            made = []
            for _ in range(2):
                with tempfile.TemporaryDirectory() as folder:
                    self.work = pathlib.Path(folder)
                    case = self.case("exit 0", name)
                    attack(case)
                    made.append(([command.split("/program")[1] for command in case.commands], snapshot(case.folder / "in")))
            self.assertEqual(*made)

    def test_options_are_read_from_the_help(self):
        text = "Options:\n  -h,--help     Print\n  --json Excludes: --csv   one\n  --html FILE  x\n  -o,--output FILE REQUIRED  y\n  --top INT:POSITIVE=1\n"
        self.assertEqual(kinds.options_in(text), [("--json", False), ("--html", True), ("--output", True), ("--top", True)])

    def test_keys_of_jobs_are_read_from_their_table(self):
        self.assertLessEqual({"plan.tp", "plan.expert_tp", "model.hidden", "training.global_batch", "gpus"}, set(kinds.job_keys()))


class PhysicsTest(unittest.TestCase):
    def test_figures_that_cannot_be_are_seen(self):
        faults_of = lambda document: sorted(set(physics.figure_faults(document)))  # noqa: E731
        self.assertEqual(faults_of({"step_time_s": 1.5, "mfu": 0.4, "advice": [{"gain": -0.1}], "fits": True}), [])
        self.assertEqual(faults_of({"communication": [{"wait_s": -1e-12}], "mfu": 1.01, "hfu": float("nan")}),
                         ["hfu is not finite", "mfu is above 1", "wait_s is negative"])

    def test_jobs_repeat_and_are_plausible(self):
        jobs = [physics.some_job(random.Random(seed)) for seed in SEEDS]
        self.assertEqual(jobs, [physics.some_job(random.Random(seed)) for seed in SEEDS])
        for job in jobs:
            plan = job["plan"]
            self.assertEqual(job["gpus"] % (plan["tp"] * plan["pp"] * plan["cp"]), 0)


if __name__ == "__main__":
    unittest.main()
