#!/usr/bin/env python3
"""Tests of tools/check_layers.py on synthetic trees."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_layers

FLOORS = "# the floors\nbase\ntrace learn\ningest\n# a rule\nnot ingest: learn\n"
BUDGETS = "# lines\nbase 2\ntrace 2\nlearn 2\ningest 2\n"


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def violations(self, layers):
        return list(check_layers.violations(
            check_layers.parse_layers(layers), FLOORS, check_layers.parse_budgets(BUDGETS), self.root))

    def test_declared_include_of_a_lower_floor_is_fine(self):
        self.write("orrery/trace/trace.h", '#include "orrery/base/error.h"\n')
        self.assertEqual(self.violations("base: \ntrace: base\n"), [])

    def test_include_of_the_own_module_needs_no_declaration(self):
        self.write("orrery/base/units.h", '#include "orrery/base/error.h"\n')
        self.assertEqual(self.violations("base: \n"), [])

    def test_undeclared_include_is_named_with_its_file(self):
        self.write("orrery/base/units.h", '#include "orrery/trace/trace.h"\n')
        self.assertEqual(self.violations("base: \ntrace: \n"),
                         ["orrery/base/units.h: 'base' does not declare 'trace'"])

    def test_include_in_angle_brackets_and_subfolder_is_seen(self):
        self.write("orrery/trace/deep/inner.h", "  # include <orrery/learn/tree.h>\n")
        self.assertEqual(self.violations("trace: \n"),
                         ["orrery/trace/deep/inner.h: 'trace' does not declare 'learn'"])

    def test_transitive_use_must_be_declared(self):
        self.write("orrery/ingest/format.h", '#include "orrery/trace/trace.h"\n')
        self.write("orrery/ingest/reader.h", '#include "orrery/base/error.h"\n')
        self.assertEqual(self.violations("trace: \ningest: trace\n"),
                         ["orrery/ingest/reader.h: 'ingest' does not declare 'base'"])

    def test_a_module_that_must_not_be_used_is_named(self):
        self.write("orrery/ingest/format.h", '#include "orrery/learn/tree.h"\n')
        self.assertEqual(self.violations("learn: \ningest: learn\n"),
                         ["'ingest' declares 'learn', which it must not use: tools/layers_allowed.txt"])

    def test_commented_include_does_not_count(self):
        self.write("orrery/base/units.h", '// #include "orrery/trace/trace.h"\n')
        self.assertEqual(self.violations("base: \n"), [])

    def test_declared_module_that_no_file_includes_is_named(self):
        self.write("orrery/ingest/reader.h", '#include "orrery/base/error.h"\n')
        self.assertEqual(
            self.violations("ingest: base trace\n"),
            ["'ingest' declares 'trace', which none of its files includes: remove it from DEPS"])

    def test_a_test_may_be_the_only_one_to_include_a_module(self):
        self.write("orrery/ingest/CMakeLists.txt", "orrery_module(NAME ingest TESTS reader_test.cc)\n")
        self.write("orrery/ingest/reader_test.cc", '#include "orrery/base/error.h"\n')
        self.assertEqual(self.violations("ingest: base\n"), [])

    def test_budget_counts_lines_of_code_without_tests(self):
        self.write("orrery/base/units.h", "// Two lines.\n#include <a>\n\nint a() {\n  return 1;\n}\n")
        self.write("orrery/base/units_test.h", "int b();\n")
        self.assertEqual(self.violations("base: \n"), [])

    def test_module_over_its_budget_is_named_with_what_to_do(self):
        self.write("orrery/base/units.h", "int a();\nint b();\nint c();\n")
        self.assertEqual(
            self.violations("base: \n"),
            ["'base' has 3 lines of code, 1 more than its budget: "
             "raise it in tools/code_budgets.txt in the same commit and say why"])

    def test_module_without_a_budget_is_named(self):
        self.assertEqual(
            list(check_layers.budget_violations({"base": []}, {}, self.root)),
            ["'base' has no budget: name it in tools/code_budgets.txt"])

    def test_declaring_a_higher_floor_is_a_violation(self):
        self.write("orrery/base/units.h", '#include "orrery/trace/trace.h"\n')
        self.assertEqual(
            self.violations("base: trace\n"),
            ["'base' (floor 1) declares 'trace' (floor 2), which is not below it"])

    def test_declaring_a_neighbour_on_the_same_floor_is_a_violation(self):
        self.write("orrery/trace/trace.h", '#include "orrery/learn/tree.h"\n')
        self.assertEqual(
            self.violations("trace: learn\n"),
            ["'trace' (floor 2) declares 'learn' (floor 2), which is not below it"])

    def test_module_without_a_floor_is_named(self):
        self.assertEqual(self.violations("attic: \n"),
                         ["'attic' has no floor: name it in tools/layers_allowed.txt",
                          "'attic' has no budget: name it in tools/code_budgets.txt"])

    def test_source_that_no_list_names_is_a_violation(self):
        self.write("orrery/base/CMakeLists.txt", "orrery_module(NAME base SOURCES a.cc)\n")
        self.write("orrery/base/a.cc", "")
        self.write("orrery/base/forgotten.cc", "")
        self.assertEqual(self.violations("base: \n"),
                         ["orrery/base/forgotten.cc: no list of 'base' names this source"])

    def test_source_named_in_a_format_list_is_fine(self):
        self.write("orrery/ingest/CMakeLists.txt", "")
        self.write("orrery/ingest/kineto/format.cmake", "set(SOURCES reader.cc)\n")
        self.write("orrery/ingest/kineto/reader.cc", "")
        self.assertEqual(self.violations("ingest: \n"), [])

    def test_program_fails_on_a_violation_and_on_an_empty_list(self):
        self.write("allowed.txt", FLOORS)
        self.write("budgets.txt", BUDGETS)
        for layers in ("base: trace\n", "\n"):
            self.write("layers.txt", layers)
            done = subprocess.run(
                [sys.executable, check_layers.__file__, "--layers", self.root / "layers.txt",
                 "--allowed", self.root / "allowed.txt", "--budgets", self.root / "budgets.txt",
                 "--root", self.root],
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, layers)


if __name__ == "__main__":
    unittest.main()
