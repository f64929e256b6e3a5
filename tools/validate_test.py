#!/usr/bin/env python3
"""Tests of validate.py, of what its pages declare, and of their shared code."""

import importlib
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import generated_header
import validate
import validation


def run(*arguments):
    return subprocess.run([sys.executable, pathlib.Path(validate.__file__), *arguments], capture_output=True, text=True, check=False)


class Pages(unittest.TestCase):
    def test_each_has_a_document_that_names_its_command_and_has_its_tables(self):
        for name in validate.PAGES:
            document = f"docs/validation/{name}.md"
            header, body = generated_header.parse((validation.ROOT / document).read_text(encoding="utf-8"))
            self.assertIn(f"tools/validate.py {name} --program build/orrery --write {document}", header.all("command"), name)
            page = importlib.import_module("pages." + name.replace("-", "_"))
            self.assertEqual(re.findall(rf"<!-- (.+), made by tools/validate.py {name} -->", body), list(page.TABLES), name)

    def test_a_table_that_a_page_does_not_have_is_refused_with_those_it_has(self):
        done = run("recorded-jobs", "--only", "dlmr")
        self.assertEqual(done.returncode, 2)
        self.assertIn("recorded-jobs has no table 'dlmr'; it has dlrm, megatron", done.stderr)

    def test_a_program_that_fails_ends_the_run_with_its_command(self):
        done = run("goodput", "--only", "formula", "--program", "false")
        self.assertIn("validate: false goodput ", done.stderr)
        self.assertEqual(done.returncode, 1)


class Tables(unittest.TestCase):
    def test_heads_that_begin_with_an_angle_are_of_numbers(self):
        lines = list(validation.table("GPU | >rows | >", [("H100", 3, "+1.0 %")]))
        self.assertEqual(lines, ["| GPU | rows |  |", "|---|---:|---:|", "| H100 | 3 | +1.0 % |"])

    def test_cells_have_the_form_that_follows_the_colon(self):
        self.assertEqual(validation.cells({"rows": 3, "bias": 0.26}, "rows", "bias:+.1f"), ["3", "+0.3"])

    def test_pooled_errors_are_weighted_by_rows(self):
        groups = [{"gpu": "b", "rows": 1, "mape": 4.0, "gmae": 1.0}, {"gpu": "b", "rows": 3, "mape": 8.0, "gmae": 16.0},
                  {"gpu": "a", "rows": 2, "mape": 5.0, "gmae": 3.0}]
        pools = validation.pooled(groups, "gpu")
        self.assertEqual(list(pools), [("a",), ("b",)])
        # (1 x 4 + 3 x 8) / 4; the fourth root of 1 x 16 x 16 x 16.
        self.assertEqual((pools[("b",)]["rows"], pools[("b",)]["mape"]), (4, 7.0))
        self.assertTrue(math.isclose(pools[("b",)]["gmae"], 8.0))

    def test_tables_are_written_between_their_comments_and_the_rest_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text("before\n<!-- rows, made by tools/validate.py page -->\nold\n<!-- end -->\nafter\n")
            validation.fill(page, {"rows": ["new", "lines"]}, "validate.py page")
            self.assertEqual(page.read_text(), "before\n<!-- rows, made by tools/validate.py page -->\nnew\nlines\n<!-- end -->\nafter\n")


class Intervals(unittest.TestCase):
    def test_a_value_inside_is_not_away_from_what_was_measured(self):
        self.assertEqual([validation.percent_outside(value, [10, 8]) for value in (4, 8, 9, 10, 11)],
                         [-50, 0, 0, 0, 100 * (11 / 10 - 1)])


if __name__ == "__main__":
    unittest.main()
