#!/usr/bin/env python3
"""Tests of what is measured and how it is written down; neither GPU nor PyTorch is needed."""

import argparse
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from collectives import command_line, log_text, nccl_library, plan as plans


def plan_of(collective, min_bytes=8, max_bytes=1024, factor=2, dtype="float"):
    return plans.Plan(collective, min_bytes, max_bytes, factor, 20, 5, dtype)


class SizesTest(unittest.TestCase):
    def test_sizes_are_read_in_both_families_of_units(self):
        read = {text: plans.parse_size(text) for text in ("8", "64M", "64MiB", "1GB", "2 kb")}
        self.assertEqual(read, {"8": 8, "64M": 2**26, "64MiB": 2**26, "1GB": 10**9, "2 kb": 2000})

    def test_what_is_no_size_is_refused(self):
        for text in ("", "M", "-8", "1.5M", "8Q"):
            with self.assertRaises(ValueError, msg=text):
                plans.parse_size(text)

    def test_a_sweep_multiplies_until_the_largest(self):
        sizes = plans.messages(plan_of("all_reduce", 8, 64), 8)
        self.assertEqual([(size.size_bytes, size.count) for size in sizes],
                         [(8, 2), (16, 4), (32, 8), (64, 16)])

    # 8 ranks with 16 bytes each are 128 bytes; 300 bytes leave each rank 37, of which 32 are whole
    # lines of 16: 8 floats, 256 bytes together.
    def test_shares_of_ranks_are_whole_lines_and_empty_ones_are_left_out(self):
        sizes = plans.messages(plan_of("all_gather", 75, 300), 8)
        self.assertEqual([(size.size_bytes, size.count) for size in sizes], [(128, 4), (256, 8)])

    def test_sizes_that_round_to_the_same_are_measured_once(self):
        sizes = plans.messages(plan_of("all_reduce", 3, 12, dtype="double"), 2)
        self.assertEqual([size.size_bytes for size in sizes], [8])


class RowTest(unittest.TestCase):
    def test_bus_factors_are_those_of_nccl_tests(self):
        factors = {name: kind.bus_factor(4) for name, kind in plans.KINDS.items()}
        self.assertEqual(factors, {
            "all_reduce": 1.5, "all_gather": 0.75, "reduce_scatter": 0.75, "alltoall": 0.75,
            "broadcast": 1.0, "reduce": 1.0, "sendrecv": 1.0})

    # 1 MiB in 20 µs is 52.43 GB/s; times 2 * 3 / 4 it is 78.64.
    def test_a_row_has_the_words_of_the_column_header(self):
        row = log_text.row(plan_of("all_reduce"), plans.Message(2**20, 2**18), [20.0, None], 4)
        self.assertEqual(row.split(), [
            "1048576", "262144", "float", "sum", "-1", "20.00", "52.43", "78.64", "N/A",
            "N/A", "N/A", "N/A", "N/A"])

    def test_times_keep_four_digits_or_more(self):
        message = plans.Message(2**20, 2**18)
        times = [log_text.row(plan_of("reduce"), message, [time_us, None], 2).split()[5]
                 for time_us in (9.876, 123.456, 12345.6)]
        self.assertEqual(times, ["9.88", "123.5", "12346"])

    def test_no_row_no_average(self):
        self.assertEqual(log_text.closing(plan_of("all_reduce"), [])[0],
                         "# Avg bus bandwidth    : 0")


class FakeGroup:
    """Three ranks; the others take 1 and 2 µs longer than this one."""

    ranks = 3

    def __init__(self):
        self.barriers = 0

    def barrier(self):
        self.barriers += 1

    def gather(self, value):
        return [value, value + 1, value + 2]


class FakeBench:
    def time_us(self, message, in_place):
        return 6.0 if in_place else 10.0


class SweepTest(unittest.TestCase):
    def test_times_are_means_over_the_ranks_after_a_barrier_each(self):
        group, rows = FakeGroup(), []
        bus = log_text.sweep(plan_of("broadcast", 1000, 1000), FakeBench(), group, rows.append)
        self.assertEqual(group.barriers, 2)
        self.assertEqual([row.split()[5] for row in rows], ["11.00"])
        # 1000 bytes in 11 µs and in 7 µs.
        self.assertEqual([round(value, 6) for value in bus],
                         [round(1 / 11, 6), round(1 / 7, 6)])

    def test_what_nccl_cannot_do_in_place_is_not_measured_in_place(self):
        group, rows = FakeGroup(), []
        bus = log_text.sweep(plan_of("sendrecv", 1000, 1000), FakeBench(), group, rows.append)
        self.assertEqual((group.barriers, len(bus)), (1, 1))
        self.assertEqual(rows[0].split()[-4:], ["N/A"] * 4)


class FakeLibrary:
    """Notes NCCL's calls, numbers instead of their C types."""

    def __init__(self, status=0):
        self.calls = []
        self._status = status

    def __getattr__(self, name):
        def called(*arguments):
            self.calls.append((name, *(getattr(each, "value", each) for each in arguments)))
            return self._status

        return called


class NcclLibraryTest(unittest.TestCase):
    def calls_of(self, collective, rank=1, ranks=3):
        library = FakeLibrary()
        communicator = nccl_library.Communicator(nccl_library.Nccl(library), "comm", ranks, rank)
        message = plans.Message(4800, 400 if plans.KINDS[collective].is_split else 1200)
        communicator.prepare(plan_of(collective), 10000, 20000, message, 7)()
        return library.calls

    def test_collectives_are_called_with_count_type_reduction_and_root(self):
        self.assertEqual(self.calls_of("all_reduce"),
                         [("ncclAllReduce", 10000, 20000, 1200, 7, 0, "comm", 7)])
        self.assertEqual(self.calls_of("reduce"),
                         [("ncclReduce", 10000, 20000, 1200, 7, 0, 0, "comm", 7)])
        self.assertEqual(self.calls_of("broadcast"),
                         [("ncclBroadcast", 10000, 20000, 1200, 7, 0, "comm", 7)])
        self.assertEqual(self.calls_of("all_gather"),
                         [("ncclAllGather", 10000, 20000, 400, 7, "comm", 7)])
        self.assertEqual(self.calls_of("reduce_scatter"),
                         [("ncclReduceScatter", 10000, 20000, 400, 7, 0, "comm", 7)])

    def test_sendrecv_goes_round_the_ring(self):
        self.assertEqual(self.calls_of("sendrecv", rank=2), [
            ("ncclGroupStart",), ("ncclSend", 10000, 1200, 7, 0, "comm", 7),
            ("ncclRecv", 20000, 1200, 7, 1, "comm", 7), ("ncclGroupEnd",)])

    def test_all_to_all_exchanges_a_share_with_every_rank_in_one_group(self):
        calls = self.calls_of("alltoall")
        self.assertEqual((calls[0], calls[-1]), (("ncclGroupStart",), ("ncclGroupEnd",)))
        self.assertEqual([call[1::3][:2] for call in calls if call[0] == "ncclSend"],
                         [(10000, 0), (11600, 1), (13200, 2)])
        self.assertEqual([call[1::3][:2] for call in calls if call[0] == "ncclRecv"],
                         [(20000, 0), (21600, 1), (23200, 2)])

    def test_in_place_the_share_of_a_rank_lies_in_the_full_side(self):
        communicator = nccl_library.Communicator(None, None, 3, 2)
        places = {name: communicator.buffers_in_place(plan_of(name), 1000, plans.Message(300, 25))
                  for name in ("all_reduce", "all_gather", "reduce_scatter")}
        self.assertEqual(places, {"all_reduce": (1000, 1000), "all_gather": (1200, 1000),
                                  "reduce_scatter": (1000, 1200)})

    def test_a_call_that_fails_is_named(self):
        with self.assertRaisesRegex(nccl_library.NcclError, "ncclCommDestroy failed .* 5"):
            nccl_library.Communicator(nccl_library.Nccl(FakeLibrary(5)), None, 1, 0).destroy()

    def test_versions_old_and_new_are_read(self):
        self.assertEqual([nccl_library.version_text(code) for code in (22903, 2708)],
                         ["2.29.3", "2.7.8"])


class NcclTestsTest(unittest.TestCase):
    def run_program(self, text):
        """Runs a shell script in the place of a program of nccl-tests."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "build" / "all_reduce_perf"
            program.parent.mkdir()
            program.write_text("#!/bin/sh\n" + text)
            program.chmod(0o755)
            log = pathlib.Path(folder) / "out.log"
            plan = plan_of("all_reduce")
            found = command_line.find_nccl_tests(plan, folder)
            self.assertEqual(found, str(program))
            with contextlib.redirect_stdout(io.StringIO()), \
                    contextlib.redirect_stderr(io.StringIO()) as errors:
                status = command_line.run_nccl_tests(found, plan, 8, str(log))
            return status, log.read_text(), errors.getvalue()

    def test_its_output_is_the_log_and_it_gets_the_plan(self):
        status, log, _ = self.run_program('echo "# $*"; echo "8 2 float sum -1"\n')
        self.assertEqual(status, 0)
        self.assertEqual(log, "# -b 8 -e 1024 -f 2 -g 8 -n 20 -w 5 -d float\n8 2 float sum -1\n")

    def test_a_run_that_breaks_off_is_partial(self):
        status, log, errors = self.run_program('echo "8 2 float sum -1"; exit 4\n')
        self.assertEqual((status, log), (3, "8 2 float sum -1\n"))
        self.assertIn("ended with status 4 after 1 rows", errors)

    def test_a_run_without_a_row_is_unusable(self):
        self.assertEqual(self.run_program("echo nothing\n")[0], 2)


class CommandLineTest(unittest.TestCase):
    def run_main(self, *words, **variables):
        parser = argparse.ArgumentParser()
        command_line.add_options(parser)
        out, errors = io.StringIO(), io.StringIO()
        quiet = {name: value for name, value in os.environ.items()
                 if name not in ("RANK", "WORLD_SIZE")}
        with mock.patch.dict(os.environ, {**quiet, "PATH": "", **variables}, clear=True), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = command_line.main(parser.parse_args(words))
        return status, out.getvalue(), errors.getvalue()

    def test_without_a_gpu_one_sentence(self):
        self.assertEqual(self.run_main(),
                         (2, "", "orrery-capture: no GPU was found on this machine\n"))

    def test_a_plan_is_printed_without_a_gpu(self):
        status, out, _ = self.run_main("--dry-run", "--gpus", "2", "--max-bytes", "16")
        self.assertEqual(status, 0)
        self.assertEqual(out.splitlines()[1:], [
            "             8 bytes              2 elements per rank",
            "            16 bytes              4 elements per rank", "by our own loop over NCCL"])

    def test_a_launcher_says_how_many_ranks_there_are(self):
        _, out, _ = self.run_main("--list", "--max-bytes", "8", RANK="0", WORLD_SIZE="32")
        self.assertIn("on 32 GPUs", out)

    def test_sizes_without_data_for_all_are_refused(self):
        status, _, errors = self.run_main("--collective", "alltoall", "--max-bytes", "64")
        self.assertEqual(status, 2)
        self.assertIn("raise --max-bytes", errors)

    def test_a_folder_without_the_tests_is_refused(self):
        status, _, errors = self.run_main("--nccl-tests", "nowhere", "--list")
        self.assertEqual(status, 2)
        self.assertIn("nowhere: no program all_reduce_perf", errors)


if __name__ == "__main__":
    unittest.main()
