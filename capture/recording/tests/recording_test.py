#!/usr/bin/env python3
"""Tests of `orrery-capture capture` without a GPU: its environment, its words, what it reports, the reader of streams."""

import argparse
import contextlib
import io
import json
import pathlib
import re
import sys
import tempfile
import unittest

_CAPTURE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CAPTURE))
sys.dont_write_bytecode = True

import orrs_reader  # noqa: E402
from recording import command_line, environment, result  # noqa: E402

_TABLE = (_CAPTURE.parent / "docs" / "formats" / "orrs.md")


def _options(*words, script=("program",)):
    parser = argparse.ArgumentParser()
    command_line.add_options(parser)
    options = parser.parse_args(words)
    options.script = list(script)
    return options


def _varint(number):
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(digits + bytes([number]))


def _chunk(kind, records, first_sequence=0):
    payload = b"".join(_varint(len(record)) + record for record in records)
    head = orrs_reader._HEADER.pack(b"ORCK", kind, 0, first_sequence, len(records), len(payload), len(payload), 0,
                                    orrs_reader.crc32c(payload), 0)[:36]
    return head + orrs_reader.crc32c(head).to_bytes(4, "little") + payload


_FILE = b"ORRS" + bytes([1, 0, 0, 0]) + bytes(8)
_END = _chunk(11, [bytes([1, 9, 0, 1])])


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Environment(Folder):
    def test_the_driver_is_told_of_the_library_and_python_of_the_startup_folder(self):
        found = environment.environment(_options("--out", "a b.orrs"), {"PYTHONPATH": "/mine", "HOME": "/h"})
        self.assertEqual(pathlib.Path(found["CUDA_INJECTION64_PATH"]).name, "liborrery-cupti.so")
        self.assertEqual(found["PYTHONPATH"].split(":")[1], "/mine")
        self.assertEqual(found["ORRERY_CAPTURE_OUT"], str(pathlib.Path("a b.orrs").absolute()))
        self.assertEqual(found["HOME"], "/h")
        self.assertNotIn("ORRERY_CAPTURE_OPERATORS", found)

    def test_options_become_variables_and_those_of_another_recording_do_not_stay(self):
        words = ("--accesses", "--analysis", "cpu", "--pages", "65536", "--kernel-name", "layer norm",
                 "--launch-skip", "0", "--launch-count", "3", "--block-period", "4", "--access-records", "add",
                 "--stacks")
        found = environment.environment(_options(*words), {"ORRERY_CAPTURE_API": "1", "ORRERY_CAPTURE_SHARDS": "8"})
        self.assertEqual(pathlib.Path(found["CUDA_INJECTION64_PATH"]).name, "liborrery-sanitizer.so")
        self.assertNotIn("ORRERY_CAPTURE_API", found)
        self.assertEqual({name[len("ORRERY_CAPTURE_"):]: text for name, text in found.items()
                          if name.startswith("ORRERY_CAPTURE_") and not name.endswith("OUT")},
                         {"ANALYSIS": "cpu", "PAGE_BYTES": "65536", "KERNEL_NAME": "layer norm", "LAUNCH_SKIP": "0",
                          "LAUNCH_COUNT": "3", "BLOCK_PERIOD": "4", "ACCESS_RECORDS": "add", "STACKS": "1", "SHARDS": "8"})


class Words(Folder):
    # PASTA defect 27: arguments with spaces are split by the launcher.
    def test_the_program_gets_its_words_as_they_are(self):
        seen = self.folder / "seen"
        script = [sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(repr(sys.argv[2:]))", str(seen),
                  "two words", "a \"quote\"", "--out", "", "$HOME"]
        status = command_line.record(_options("--out", str(self.folder / "r.orrs"), script=script))
        self.assertEqual(status, 0)
        self.assertEqual(seen.read_text(), repr(["two words", "a \"quote\"", "--out", "", "$HOME"]))

    def test_the_programs_own_status_comes_back(self):
        self.assertEqual(command_line.record(_options(script=[sys.executable, "-c", "raise SystemExit(5)"])), 5)
        self.assertEqual(command_line.record(_options(script=["sh", "-c", "kill -9 $$"])), 137)

    def test_a_program_that_is_not_there_is_named(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(command_line.record(_options(script=["no-such-program"])), 127)
        self.assertEqual(said.getvalue(), "orrery-capture: no-such-program: no such program\n")

    def test_what_makes_no_sense_is_refused(self):
        self.assertEqual(command_line.refusal(_options()), "")
        for words, reason in ((("--pages", "64"), "--accesses"), (("--stacks",), "--accesses"),
                              (("--accesses", "--pages", "3"), "power of two"), (("--limit-mb", "-1"), "negative"),
                              (("--out", "/no/such/run.orrs"), "no such folder")):
            self.assertIn(reason, command_line.refusal(_options(*words)))
        self.assertIn("say what to record", command_line.refusal(_options(script=())))


class Building(unittest.TestCase):
    def test_what_cannot_be_built_is_said_with_the_reason(self):
        with self.assertRaisesRegex(environment.BuildError, "cupti.h: No such file.*CUPTI of version 13"):
            environment.build_library(_options(), lambda words: "fatal error: cupti.h: No such file")
        self.assertIn("no tensors and operators", environment.build_hooks(["python3"], lambda words: "no torch"))

    def test_hooks_are_built_for_the_programs_own_interpreter(self):
        asked = []
        environment.build_hooks([sys.executable, "train.py"], lambda words: asked.append(words) or "")
        environment.build_hooks(["torchrun", "train.py"], lambda words: asked.append(words) or "")
        self.assertEqual(asked, [["pytorch-hooks", f"PYTHON={sys.executable}"]] * 2)


class Result(Folder):
    def test_losses_are_said_and_change_the_status(self):
        (self.folder / "run.orrs").write_bytes(_FILE + _chunk(11, [bytes([1, 3, 0, 7])]) + _END)
        lines, status = result.report(self.folder / "run.orrs")
        self.assertIn("7 records dropped", lines[0])
        self.assertEqual(status, 3)

    def test_a_recording_without_an_end_is_cut_off(self):
        (self.folder / "run.orrs").write_bytes(_FILE)
        lines, status = result.report(self.folder / "run.orrs")
        self.assertIn("cut off", lines[0])
        self.assertEqual(status, 3)

    def test_all_ranks_are_reported(self):
        for name in ("run.rank-0.orrs", "run.rank-1.orrs", "runner.orrs", "run.kept.orrs"):
            (self.folder / name).write_bytes(_FILE + _END)
        lines, status = result.report(self.folder / "run.orrs")
        self.assertEqual(len(lines), 2)
        self.assertEqual(status, 0)

    def test_nothing_recorded_is_said(self):
        self.assertEqual(result.report(self.folder / "run.orrs")[1], 2)


def _process(process, rank, world_size):
    """A record of who writes: producer, host, process, rank and size of the job (one more than they are), clock."""
    return bytes([1, 1]) + b"p" + bytes([1]) + b"h" + _varint(process) + bytes([rank + 1, world_size + 1, 1])


class Manifest(Folder):
    def _write(self, *names):
        paths = [self.folder / name for name in names]
        result.write_manifest(self.folder / "run.orrs", paths)
        found = result.manifest_path(self.folder / "run.orrs")
        return json.loads(found.read_text()) if found.exists() else None

    def test_it_joins_the_ranks_in_order_and_says_who_wrote_them(self):
        for rank in (0, 1):
            name = f"run.rank-{rank}.orrs"
            (self.folder / name).write_bytes(_FILE + _chunk(1, [_process(40 + rank, rank, 3)]) + _END)
        found = self._write("run.rank-1.orrs", "run.rank-0.orrs")
        self.assertEqual(next(iter(found)), "orrery_manifest")
        self.assertEqual(found["world_size"], 3)
        self.assertEqual([(one["file"], one["rank"], one["process"], one["host"]) for one in found["files"]],
                         [("run.rank-0.orrs", 0, 40, "h"), ("run.rank-1.orrs", 1, 41, "h")])

    def test_one_stream_needs_none(self):
        (self.folder / "run.orrs").write_bytes(_FILE + _chunk(1, [_process(40, -1, -1)]) + _END)
        self.assertIsNone(self._write("run.orrs"))

    def test_a_stream_that_says_nothing_is_named_all_the_same(self):
        (self.folder / "run.orrs").write_bytes(_FILE + _END)
        (self.folder / "run.7.orrs").write_bytes(b"")
        self.assertEqual([one["file"] for one in self._write("run.orrs", "run.7.orrs")["files"]],
                         ["run.7.orrs", "run.orrs"])


class Reader(unittest.TestCase):
    def test_the_schema_is_that_of_the_document(self):
        rows = [line for line in _TABLE.read_text().splitlines() if re.match(r"\| \d+ [A-Z]{3} \| \d+ \|", line)]
        ours = [orrs_reader.schema_row(*key) for key in sorted(orrs_reader.SCHEMA)]
        self.assertEqual(ours, rows)

    def test_the_checksum_is_crc32c(self):
        self.assertEqual(orrs_reader.crc32c(b"123456789"), 0xE3069283)

    # Two steps: numbers 5 and 7 (differences 0 and 2, as zig-zag 0 and 4), times 100 and 90 (+100, -10: 200 and 19).
    def test_differences_are_added_up(self):
        steps = [bytes([15, 0]) + _varint(200) + bytes([3, 1]), bytes([15, 4, 19, 3, 2])]
        stream = orrs_reader.parse(_FILE + _chunk(6, steps, first_sequence=5))
        self.assertEqual([(step["sequence"], step["time_ns"], step["thread"], step["number"])
                          for step in stream.records("Step")], [(5, 100, 3, 1), (7, 90, 3, 2)])

    def test_fields_that_are_left_out_are_zero_and_unknown_kinds_are_stepped_over(self):
        stream = orrs_reader.parse(_FILE + _chunk(2, [bytes([99, 1]), bytes([1, 4])]))
        self.assertEqual(stream.records("String"), [{"id": 4, "text": b""}])

    def test_a_torn_tail_and_a_flipped_byte_are_damage_and_the_rest_is_kept(self):
        whole = _FILE + _chunk(2, [bytes([1, 4])]) + _END
        self.assertEqual(orrs_reader.parse(whole).damaged, 0)
        torn = orrs_reader.parse(whole[:-1])
        self.assertEqual((torn.damaged, len(torn.records("String"))), (1, 1))
        flipped = bytearray(whole)
        flipped[16 + 40] ^= 1
        damaged = orrs_reader.parse(bytes(flipped))
        self.assertEqual((damaged.damaged, damaged.records("String"), len(damaged.records("CoverageCount"))), (1, [], 1))

    def test_other_files_are_refused(self):
        with self.assertRaises(orrs_reader.NotAStream):
            orrs_reader.parse(b"{}")


if __name__ == "__main__":
    unittest.main()
