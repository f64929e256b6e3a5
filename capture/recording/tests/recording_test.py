#!/usr/bin/env python3
"""Tests of `orrery-capture capture` without a GPU: its environment, its words, what it reports, the reader of streams."""

import argparse
import contextlib
import errno
import importlib.machinery
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

_CAPTURE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CAPTURE))
sys.dont_write_bytecode = True

import orrs_reader  # noqa: E402
import building  # noqa: E402
from microbench import ceilings  # noqa: E402
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


def _chunk(kind, records, first_sequence=0, codec=0, pack=lambda payload: payload):
    payload = b"".join(_varint(len(record)) + record for record in records)
    stored = pack(payload)
    head = orrs_reader._HEADER.pack(b"ORCK", kind, codec, first_sequence, len(records), len(payload), len(stored), 0,
                                    orrs_reader.crc32c(stored), 0)[:36]
    return head + orrs_reader.crc32c(head).to_bytes(4, "little") + stored


_FILE = b"ORRS" + bytes([1, 0, 0, 0]) + bytes(8)
_END = _chunk(11, [bytes([1, 9, 0, 1])])


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Environment(Folder):
    def test_the_driver_is_told_of_the_library_and_python_of_the_startup_folder(self):
        found = environment.environment(_options("--out", "a b.orrs"), {"PYTHONPATH": "/mine", "HOME": "/h"}, pathlib.Path("/b"),
                                        pathlib.Path("/b/torch-2.11.0/hooks.so"))
        self.assertEqual(found["CUDA_INJECTION64_PATH"], "/b/liborrery-cupti.so")
        self.assertEqual(found["ORRERY_CAPTURE_HOOKS"], "/b/torch-2.11.0/hooks.so")
        self.assertEqual(found["PYTHONPATH"].split(":")[1], "/mine")
        self.assertEqual(found["ORRERY_CAPTURE_OUT"], str(pathlib.Path("a b.orrs").absolute()))
        self.assertEqual(found["HOME"], "/h")
        self.assertNotIn("ORRERY_CAPTURE_OPERATORS", found)

    def test_options_become_variables_and_those_of_another_recording_do_not_stay(self):
        words = ("--accesses", "--analysis", "cpu", "--pages", "65536", "--kernel-name", "layer norm",
                 "--launch-skip", "0", "--launch-count", "3", "--block-period", "4", "--access-records", "add",
                 "--stacks")
        found = environment.environment(_options(*words), {"ORRERY_CAPTURE_API": "1", "ORRERY_CAPTURE_SHARDS": "8"},
                                        pathlib.Path("/b"))
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
        status = command_line.record(_options("--out", str(self.folder / "r.orrs"), script=script), None)
        self.assertEqual(status, 0)
        self.assertEqual(seen.read_text(), repr(["two words", "a \"quote\"", "--out", "", "$HOME"]))

    def test_the_programs_own_status_comes_back(self):
        self.assertEqual(command_line.record(_options(script=[sys.executable, "-c", "raise SystemExit(5)"]), None), 5)
        self.assertEqual(command_line.record(_options(script=["sh", "-c", "kill -9 $$"]), None), 137)

    def test_a_program_that_is_not_there_is_named(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(command_line.record(_options(script=["no-such-program"]), None), 127)
        self.assertEqual(said.getvalue(), "orrery-capture: no-such-program: no such program\n")

    def test_what_makes_no_sense_is_refused(self):
        self.assertEqual(command_line.refusal(_options()), "")
        for words, reason in ((("--pages", "64"), "--accesses"), (("--stacks",), "--accesses"),
                              (("--accesses", "--pages", "3"), "power of two"), (("--limit-mb", "-1"), "negative"),
                              (("--out", "/no/such/run.orrs"), "no such folder")):
            self.assertIn(reason, command_line.refusal(_options(*words)))
        self.assertIn("say what to record", command_line.refusal(_options(script=())))


class Signals(Folder):
    """The launcher as a process of its own, without a GPU: its program is a shell script."""

    def _launch(self, body):
        launcher = ("import os, sys; sys.path.insert(0, sys.argv[1]); from recording import command_line as c; import argparse\n"
                    "o = argparse.Namespace(script=['sh', '-c', sys.argv[2]])\n"
                    "s = c.record(o, dict(os.environ)); print('summary', s, flush=True); sys.exit(s)")
        program = subprocess.Popen([sys.executable, "-c", launcher, str(_CAPTURE), body], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "begun\n")
        return program

    def test_a_signal_to_the_launcher_alone_reaches_the_program_and_a_summary_follows(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            program = self._launch("echo begun; exec sleep 20")
            program.send_signal(number)
            said, errors = program.communicate(timeout=10)
            self.assertEqual((said, errors, program.returncode), (f"summary {status}\n", "", status))

    def test_a_program_that_finishes_its_work_after_an_interrupt_is_waited_for(self):
        program = self._launch("trap 'sleep 0.5; echo saved; exit 4' INT TERM; echo begun; while :; do sleep 0.1; done")
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.communicate(timeout=10)[0], "saved\nsummary 4\n")


class Written(Folder):
    """`wrote FILE (SIZE)`, of every verb that writes one."""

    def _said(self, words, part, files):
        """Returns the program's output when its only work is to write these files."""
        program = importlib.machinery.SourceFileLoader("orrery_capture", str(_CAPTURE / "orrery-capture")).load_module()

        def work(options):
            for name in files:
                path = self.folder / name
                path.parent.mkdir(exist_ok=True)
                path.write_text("x" * 1234)
            return 3
        with mock.patch.object(getattr(program, part), "main", work), contextlib.redirect_stderr(io.StringIO()) as said:
            options = program._parser().parse_args(words)
            options.script = ["train.py"]
            self.assertEqual(options.main(options), 3)
        return said.getvalue().replace(f"{self.folder}/", "")

    def test_capture_names_its_streams_and_the_manifest_that_joins_them(self):
        (self.folder / "run.rank-7.orrs").write_text("of an earlier run")
        os.utime(self.folder / "run.rank-7.orrs", (0, 0))
        words = ["capture", "--out", str(self.folder / "run.orrs")]
        self.assertEqual(self._said(words, "recording", ["run.orrs"]), "wrote run.orrs (1.23 kB)\n")
        manifest = result.manifest_path("run.orrs").name
        self.assertEqual(self._said(words, "recording", ["run.orrs", "run.rank-1.orrs", manifest]),
                         f"wrote run.orrs (1.23 kB)\nwrote run.rank-1.orrs (1.23 kB)\nwrote {manifest} (1.23 kB)\n")
        self.assertEqual(self._said(["capture", "--out", "/no/such/run.orrs"], "recording", []), "")

    def test_trace_names_its_folder(self):
        words = ["trace", "gpt2", "--out", str(self.folder / "traced")]
        self.assertEqual(self._said(words, "trace", []), "")
        self.assertEqual(self._said(words, "trace", ["traced/trace.json"]), "wrote traced (1 file)\n")


class Building(Folder):
    def setUp(self):
        super().setUp()
        self.variables = {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def _build(self, make, target="cupti", **more):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            place = building.build(target, make=make, variables=self.variables, **more)
        return place, said.getvalue()

    def _make(self, words):
        folder = pathlib.Path(next(word for word in words if word.startswith("BUILD="))[6:])
        (folder / "cupti-objects").mkdir()
        (folder / "liborrery-cupti.so").write_text("built")
        return ""

    def test_what_cannot_be_built_is_said_with_the_reason(self):
        def fails(*_words, **_more):
            raise building.BuildError("fatal error: cupti.h: No such file")
        with self.assertRaisesRegex(building.BuildError, "cupti.h: No such file.*CUPTI of version 13"):
            environment.build_library(_options(), fails)
        hooks, missing = environment.build_hooks(["python3"], fails, lambda python: "2.11.0")
        self.assertIsNone(hooks)
        self.assertIn("no tensors and operators", missing)

    def test_it_is_built_once_in_the_users_cache_and_announced(self):
        place, said = self._build(self._make)
        self.assertTrue(place.is_relative_to(self.folder / "cache" / "orrery"))
        self.assertEqual([path.name for path in place.iterdir()], ["liborrery-cupti.so"])
        self.assertIn("building the recording library for this machine, once, about 30 s", said)
        self.assertEqual(self._build(lambda words: self.fail("built again")), (place, ""))

    def test_a_build_that_fails_leaves_nothing(self):
        with self.assertRaisesRegex(building.BuildError, "no g"):
            self._build(lambda words: "no g++")
        self.assertEqual(list((self.folder / "cache").rglob(".cupti*")), [])
        self._build(self._make)

    def test_changed_sources_are_another_build(self):
        tree = self.folder / "capture"
        (tree / "cupti").mkdir(parents=True)
        (tree / "cupti" / "session.cc").write_text("one")
        before = building.folder_of("cupti", tree, self.variables)
        (tree / "cupti" / "session_test.cc").write_text("a test")
        self.assertEqual(building.folder_of("cupti", tree, self.variables), before)
        (tree / "cupti" / "session.cc").write_text("two")
        self.assertNotEqual(building.folder_of("cupti", tree, self.variables), before)

    def test_without_a_home_a_folder_of_the_user_is_used(self):
        self.assertIn(f"orrery-{os.getuid()}", str(building.cache({})))

    def test_hooks_are_built_for_the_programs_own_interpreter_and_its_pytorch(self):
        asked = []

        def build(target, *words, name, about):
            asked.append((target, words, name))
            return self.folder
        script = self.folder / "torchrun"
        script.write_text(f"#!{sys.executable}\n")
        script.chmod(0o755)
        for word in (sys.executable, str(script), "no-such-program"):
            environment.build_hooks([word, "train.py"], build, lambda python: "2.11.0+cu130")
        self.assertEqual(asked, [("pytorch-hooks", (f"PYTHON={sys.executable}",), "torch-2.11.0+cu130")] * 3)

    def test_the_version_of_pytorch_is_read_without_importing_it(self):
        (self.folder / "torch").mkdir()
        (self.folder / "torch" / "__init__.py").write_text("raise SystemExit('imported')")
        (self.folder / "torch" / "version.py").write_text("__version__ = '2.11.0+cu130'\ndebug = False\n")
        python = self.folder / "python3"
        python.write_text(f"#!/bin/sh\nPYTHONPATH={self.folder} exec {sys.executable} \"$@\"\n")
        python.chmod(0o755)
        self.assertEqual(environment.torch_version(str(python)), "2.11.0+cu130")
        self.assertEqual(environment.torch_version("/no/such/python"), "")


class WithoutAGpu(Folder):
    def test_a_machine_shows_its_gpu_in_dev(self):
        self.assertFalse(building.has_gpu(str(self.folder)))
        (self.folder / "dev").mkdir()
        (self.folder / "dev" / "nvidiactl").write_text("")
        self.assertTrue(building.has_gpu(str(self.folder)))

    def test_it_is_said_at_once_and_nothing_is_left(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(command_line.main(_options("--out", str(self.folder / "run.orrs")), lambda: False), 2)
            table = argparse.Namespace(out=str(self.folder / "ceilings.csv"))
            self.assertEqual(ceilings.main(table, lambda: False, lambda *_: self.fail("built")), 2)
        self.assertEqual(said.getvalue().count("no GPU"), 2)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_table_that_was_not_completed_is_not_left(self):
        (self.folder / "ceilings").write_text("#!/bin/sh\necho half\nexit 2\n")
        (self.folder / "ceilings").chmod(0o755)
        table = argparse.Namespace(out=str(self.folder / "t.csv"))
        self.assertEqual(ceilings.main(table, lambda: True, lambda *_, **__: self.folder), 2)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["ceilings"])


class Result(Folder):
    def test_a_full_disk_is_named(self):
        reason = os.strerror(errno.ENOSPC).encode()
        (self.folder / "run.orrs").write_bytes(_FILE + _chunk(11, [bytes([1, 3, len(reason)]) + reason + bytes([7])]) + _END)
        lines, status = result.report(self.folder / "run.orrs")
        self.assertIn("7 records dropped: the disk is full", lines[0])
        self.assertEqual(status, 3)

    def test_a_stream_that_could_not_be_finished_on_a_full_disk_says_so(self):
        (self.folder / "run.orrs").write_bytes(_FILE)
        is_full, result._is_full = result._is_full, lambda folder: True
        try:
            self.assertIn("cut off: the disk is full", result.report(self.folder / "run.orrs")[0][0])
        finally:
            result._is_full = is_full

    def test_the_signal_that_ended_the_program_is_named(self):
        (self.folder / "run.orrs").write_bytes(_FILE)
        self.assertIn("cut off: the program was ended by SIGTERM", result.report(self.folder / "run.orrs", 143)[0][0])

    # An allocation of level 2: number and time +0, thread 1, object +0, address +0, bytes 64, level 2.
    def test_tensors_without_any_gpu_work_are_a_loss(self):
        tensor = _chunk(6, [bytes([3, 0, 0, 1, 0, 0, 64, 2])])
        (self.folder / "run.orrs").write_bytes(_FILE + tensor + _END)
        lines, status = result.report(self.folder / "run.orrs")
        self.assertIn("no GPU work was recorded: another profiler", lines[0])
        self.assertEqual(status, 3)

    def test_a_recording_without_cupti_says_why(self):
        reason = b"CUPTI did not start: another profiler"
        (self.folder / "run.orrs").write_bytes(_FILE + _chunk(11, [bytes([1, 6, len(reason)]) + reason + bytes([1])]) + _END)
        lines, status = result.report(self.folder / "run.orrs")
        self.assertIn(reason.decode(), lines[0])
        self.assertEqual(status, 3)

    def test_losses_of_a_large_stream_are_said_too(self):
        largest, result._LARGEST = result._LARGEST, 10
        try:
            launches = _chunk(6, [bytes([7, 0, 0, 1]), bytes([7]) + bytes(200), bytes([15])])
            (self.folder / "run.orrs").write_bytes(_FILE + launches + _chunk(11, [bytes([1, 3, 0, 7])]) + _END)
            self.assertRegex(result.report(self.folder / "run.orrs")[0][0], "2 launches, 0 allocations, 7 records dropped")
        finally:
            result._LARGEST = largest

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

    # torchrun itself brings the driver up: its stream holds who wrote it, the clocks and the end.
    def test_an_empty_stream_beside_those_of_ranks_is_the_launchers(self):
        names = ("run.orrs", "run.rank-0.orrs", "run.rank-1.orrs")
        for number, name in enumerate(names):
            (self.folder / name).write_bytes(_FILE + _chunk(1, [_process(40 + number, number - 1, 2)]) + _END)
        said = []
        self.assertEqual(result.finish(self.folder / "run.orrs", 0, said.append), 0)
        self.assertEqual([path.name for path in result.files_of(self.folder / "run.orrs")], list(names[1:]))
        listed = json.loads(result.manifest_path(self.folder / "run.orrs").read_text())["files"]
        self.assertEqual([one["file"] for one in listed], list(names[1:]))
        self.assertEqual(len(said), 2)

    def test_an_empty_stream_alone_stays(self):
        (self.folder / "run.orrs").write_bytes(_FILE + _END)
        result.finish(self.folder / "run.orrs", 0, lambda line: None)
        self.assertTrue((self.folder / "run.orrs").exists())

    # Under torchrun --no-python every rank has a launcher of its own.
    def test_a_launcher_of_one_rank_looks_after_its_own_streams(self):
        for name in ("run.orrs", "run.rank-1.orrs", "run.rank-1.77.orrs", "run.rank-11.orrs"):
            (self.folder / name).write_bytes(_FILE + _END)
        self.assertEqual([path.name for path in result.files_of(self.folder / "run.orrs", 1)],
                         ["run.rank-1.77.orrs", "run.rank-1.orrs"])
        self.assertEqual(len(result.files_of(self.folder / "run.orrs")), 4)
        self.assertEqual(command_line._own_rank({"RANK": "1", "WORLD_SIZE": "2"}), 1)
        self.assertIsNone(command_line._own_rank({"RANK": "0", "WORLD_SIZE": "1"}))

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

    @unittest.skipUnless(shutil.which("zstd"), "needs zstd")
    def test_packed_chunks_are_read_and_counted_as_plain_ones(self):
        def packed(payload):
            return subprocess.run(["zstd", "-qc"], input=payload, capture_output=True, check=True).stdout

        records = [bytes([1, 4, 1]) + b"a", bytes([1, 5])]
        for options in ({}, {"codec": 1, "pack": packed}):
            whole = _FILE + _chunk(2, records, **options)
            self.assertEqual(orrs_reader.parse(whole).records("String"), [{"id": 4, "text": b"a"}, {"id": 5, "text": b""}])
            self.assertEqual(orrs_reader.parse(whole, chunks=("EVT",)).count("String"), 2)

    def test_chunks_that_cannot_be_unpacked_are_not_taken_for_empty_ones(self):
        with self.assertRaises(orrs_reader.NotAStream):
            orrs_reader.parse(_FILE + _chunk(2, [bytes([1, 4])], codec=7))

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
