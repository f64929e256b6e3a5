#!/usr/bin/env python3
"""Tests of reading Nsight Compute's pages, and of what is done where it does not work."""

import contextlib
import csv
import io
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from overlap import counters  # noqa: E402
from overlap.tree import Tree  # noqa: E402

_COLUMNS = ("ID", "Kernel Name", "gpu__time_duration.sum", "launch__grid_size",
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "launch__shared_mem_per_block_dynamic")
_UNITS = ("", "", "us", "", "%", "Kbyte/block")


def page(*kernels, columns=_COLUMNS, units=_UNITS):
    """The raw page as ncu prints it: every field in quotation marks."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([columns, units, *kernels])
    return ["==PROF== Connected to process 7\n", *out.getvalue().splitlines(keepends=True)]


class NumbersTest(unittest.TestCase):
    def test_marks_are_read_by_the_page_and_not_by_the_number(self):
        self.assertEqual(counters.number_of("1,234.5"), 1234.5)
        self.assertEqual(counters.number_of("1,234"), 1234.0)
        self.assertEqual(counters.number_of("1.234,5", ","), 1234.5)
        self.assertEqual(counters.number_of("1.234", ","), 1234.0)
        self.assertEqual(counters.number_of("12,345", ","), 12.345)

    def test_spaces_and_apostrophes_group_digits(self):
        texts = ("1 234,5", "1\u00a0234,5", "1\u202f234,5", "1'234,5", "1’234,5")
        self.assertEqual({counters.number_of(text, ",") for text in texts}, {1234.5})

    def test_what_is_no_number_has_no_value(self):
        self.assertEqual([counters.number_of(text) for text in ("", "n/a", "(!) nan x")],
                         [None] * 3)

    def test_the_mark_of_a_page_is_what_its_numbers_show(self):
        self.assertEqual(counters.decimal_mark(["1,234", "5.67"]), ".")
        self.assertEqual(counters.decimal_mark(["1.234", "5,67"]), ",")
        self.assertEqual(counters.decimal_mark(["1.234.567"]), ",")
        self.assertEqual(counters.decimal_mark(["0,125"]), ",")
        self.assertEqual(counters.decimal_mark(["1,234", "7"]), ".")
        self.assertEqual(counters.decimal_mark([]), ".")


class RawPageTest(unittest.TestCase):
    def test_values_are_brought_to_one_unit(self):
        (name, values), = counters.read_raw_page(page(
            ("0", "k", "1,250.5", "1,024", "45.67", "8.192")))
        self.assertEqual(name, "k")
        self.assertEqual(values, {"duration_us": 1250.5, "grid": 1024.0, "compute_pct": 45.67,
                                  "shared_dynamic_bytes": 8192.0})
        (_, values), = counters.read_raw_page(page(
            ("0", "k", "2.5", "1", "1.5", "64"), units=("", "", "ms", "", "%", "byte/block")))
        self.assertEqual((values["duration_us"], values["shared_dynamic_bytes"]), (2500.0, 64.0))

    def test_a_page_with_decimal_commas_gives_the_same(self):
        english = page(("0", "k", "1,250.5", "1,024", "45.67", "8.192"))
        german = page(("0", "k", "1.250,5", "1.024", "45,67", "8,192"))
        self.assertEqual(counters.read_raw_page(english),
                         counters.read_raw_page(german))

    def test_a_unit_that_is_not_known_gives_no_value_instead_of_a_wrong_one(self):
        (_, values), = counters.read_raw_page(page(
            ("0", "k", "2.5", "1", "1.5", "64"), units=("", "", "fortnight", "", "%", "pound")))
        self.assertEqual((values["duration_us"], values["shared_dynamic_bytes"]), (None, None))

    def test_metrics_that_a_version_lacks_are_absent_and_others_names_are_known(self):
        (_, values), = counters.read_raw_page(page(
            ("k", "7.5"), units=("", "%"),
            columns=("Kernel Name", "dram__throughput.avg.pct_of_peak_sustained_elapsed")))
        self.assertEqual(values, {"dram_pct": 7.5})

    def test_a_torn_line_is_left_out(self):
        whole = page(("0", "a", "1.5", "1", "2.5", "3.5"), ("1", "b", "1.5", "1", "2.5", "3.5"))
        self.assertEqual([name for name, _ in counters.read_raw_page(
            [*whole[:-1], '"1","b","1.5"\n'])], ["a"])

    def test_what_is_not_the_raw_page_is_refused(self):
        details = ['"ID","Kernel Name","Section Name","Metric Name"\n', '"0","k","Launch"\n']
        for lines in ([], ["==ERROR== no kernels\n"], ["a,b\n", "1,2\n"], details):
            with self.assertRaises(counters.NotRawPage, msg=lines):
                counters.read_raw_page(lines)

    def test_a_page_without_any_known_metric_is_refused(self):
        with self.assertRaisesRegex(counters.NotRawPage, "names them otherwise"):
            counters.read_raw_page(page(("k", "1"), columns=("Kernel Name", "new__metric"),
                                             units=("", "%")))


class JoinTest(unittest.TestCase):
    def join(self, counted, *profiled):
        return [(number, values["duration_us"]) for number, _, _, values
                in counters.join(counted, [(n, {"duration_us": us}) for n, us in profiled])]

    def test_each_call_takes_its_longest_main_kernel(self):
        counted = [(0, "a", 3, "main"), (2, "b", 1, "other")]
        found = self.join(counted, ("main", 5.0), ("help", 9.0), ("main", 7.0), ("other", 2.0))
        self.assertEqual(found, [(0, 7.0), (2, 2.0)])

    def test_names_fit_with_and_without_unnamed_namespaces_templates_and_types(self):
        recorded = "void at::native::(anonymous namespace)::layer_norm<float, float>(int, float)"
        for profiled in ("layer_norm", "void at::native::<unnamed>::layer_norm<float>(int)",
                         recorded):
            self.assertEqual(self.join([(4, "x", 1, recorded)], (profiled, 3.0)), [(4, 3.0)])

    def test_a_call_whose_kernels_do_not_fit_is_left_out_and_the_next_is_not_shifted(self):
        counted = [(0, "a", 1, "main"), (1, "b", 1, "other"), (2, "c", 2, "last")]
        found = self.join(counted, ("strange", 5.0), ("other", 2.0), ("last", 1.0))
        self.assertEqual(found, [(1, 2.0)])


_VERSION = 'if [ "$1" = --version ]; then echo "Version 2025.3.1.0 (build 1)"; exit 0; fi\n'


class FallbackTest(unittest.TestCase):
    """The program ncu is a shell script here."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.tree = Tree(str(self.folder / "tree"))
        self.addCleanup(mock.patch.stopall)
        mock.patch.object(counters, "_POLL_SECONDS", 0.01).start()
        with open(self.tree.path("features", "counted.csv"), "w") as file:
            file.write("number,operator,kernels,main_kernel\n5,gemm m=1,1,k\n")

    def measure(self, script, stop=False):
        ncu = self.folder / "ncu"
        ncu.write_text("#!/bin/sh\n" + script)
        ncu.chmod(0o755)
        options = types.SimpleNamespace(out=self.tree.folder, seed=1)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            found = counters.measure(options, self.tree, 0.0,
                                     types.SimpleNamespace(is_set=stop), str(ncu))
        self.said = said.getvalue()
        self.assertEqual(len(self.said.splitlines()), 1)
        return found

    def noted(self):
        return pathlib.Path(self.tree.path("features", "counters.txt")).read_text().strip()

    def script_with_page(self, lines):
        (self.folder / "page").write_text("".join(lines))
        return (f'{_VERSION}if [ "$1" = --import ]; then cat "{self.folder}/page"; exit 0; fi\n'
                f'touch "{self.tree.path("features", "counters")}.ncu-rep"\n')

    def test_counters_are_found_and_their_source_is_recorded(self):
        found = self.measure(self.script_with_page(page(("0", "k", "1.5", "8", "2.5", "3.5"))))
        self.assertEqual((found["source"], found["kernels"], found["called"]),
                         ("ncu 2025.3.1.0", 1, 1))
        self.assertIn("registers", found["missing_columns"])
        self.assertIn("this version or GPU has no memory_pct", self.noted())
        with open(self.tree.path("features", "counters.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["number"], row["duration_us"], row["registers"]) for row in rows],
                         [("5", "1.5", "")])

    def test_a_refused_permission_is_one_sentence_with_the_fix(self):
        found = self.measure(_VERSION + "echo '==ERROR== ERR_NVGPUCTRPERM - no permission'\n")
        self.assertEqual(found["source"], "cupti launch data only")
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", found["reason"])
        self.assertEqual(self.noted(), found["reason"])

    def test_a_version_that_fails_is_quoted(self):
        found = self.measure(_VERSION + "echo '==ERROR== Cuda driver is not compatible with Nsight "
                                        "Compute.'; echo more; exit 1\n")
        self.assertIn("Cuda driver is not compatible", found["reason"])
        self.assertIn("Cuda driver is not compatible", self.said)

    def test_a_program_that_does_not_start_is_said(self):
        self.assertIn("does not start", self.measure("exit 127\n")["reason"])

    def test_a_report_of_an_earlier_run_is_not_taken_for_this_one(self):
        pathlib.Path(self.tree.path("features", "counters.ncu-rep")).write_text("old")
        self.assertIn("it printed nothing", self.measure(_VERSION)["reason"])

    def test_a_page_that_cannot_be_read_is_kept(self):
        found = self.measure(self.script_with_page(["==ERROR== nothing\n"]))
        self.assertIn("could not be read", found["reason"])
        self.assertTrue(pathlib.Path(self.tree.path("features", "ncu_raw.csv")).exists())

    def test_kernels_that_fit_no_call_are_no_counters(self):
        found = self.measure(self.script_with_page(page(("0", "j", "1.5", "8", "2.5", "3.5"))))
        self.assertIn("fit none of the calls", found["reason"])

    def test_without_the_program_the_sentence_names_it(self):
        with mock.patch.object(counters.programs, "find", return_value=None), \
                contextlib.redirect_stderr(io.StringIO()):
            found = counters.measure(None, self.tree, 0.0, None)
        self.assertEqual(found["reason"], "ncu of Nsight Compute is not installed, or not in $PATH")

    # The script goes on until it sees the word to stop, as our program under ncu does.
    def test_a_signal_ends_counting_and_what_was_counted_is_kept(self):
        waiting = f'while [ ! -e "{self.tree.path("features", "stop")}" ]; do sleep 0.01; done\n'
        script = self.script_with_page(page(("0", "k", "1.5", "8", "2.5", "3.5"))) + waiting
        self.assertEqual(self.measure(script, stop=True)["kernels"], 1)


if __name__ == "__main__":
    unittest.main()
