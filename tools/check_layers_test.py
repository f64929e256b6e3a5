#!/usr/bin/env python3
"""Tests of tools/check_layers.py on synthetic trees."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_layers

FLOORS = "# the floors\nbase\ntrace learn\ningest\n"


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
            check_layers.parse_layers(layers), check_layers.parse_floors(FLOORS), self.root))

    def test_declared_include_of_a_lower_floor_is_fine(self):
        self.write("orrery/trace/trace.h", '#include "orrery/base/error.h"\n')
        self.assertEqual(self.violations("base: \ntrace: base\n"), [])

    def test_include_of_the_own_module_needs_no_declaration(self):
        self.write("orrery/base/units.h", '#include "orrery/base/error.h"\n')
        self.assertEqual(self.violations("base: \n"), [])

    def test_undeclared_include_is_named_with_its_file(self):
        self.write("orrery/base/units.h", '#include "orrery/trace/trace.h"\n')
        self.assertEqual(self.violations("base: \ntrace: base\n"),
                         ["orrery/base/units.h: 'base' does not declare 'trace'"])

    def test_include_in_angle_brackets_and_subfolder_is_seen(self):
        self.write("orrery/trace/deep/inner.h", "  # include <orrery/learn/tree.h>\n")
        self.assertEqual(self.violations("trace: base\n"),
                         ["orrery/trace/deep/inner.h: 'trace' does not declare 'learn'"])

    def test_transitive_use_must_be_declared(self):
        self.write("orrery/ingest/reader.h", '#include "orrery/base/error.h"\n')
        self.assertEqual(self.violations("trace: base\ningest: trace\n"),
                         ["orrery/ingest/reader.h: 'ingest' does not declare 'base'"])

    def test_commented_include_does_not_count(self):
        self.write("orrery/base/units.h", '// #include "orrery/trace/trace.h"\n')
        self.assertEqual(self.violations("base: \n"), [])

    def test_declaring_a_higher_floor_is_a_violation(self):
        self.assertEqual(
            self.violations("base: trace\n"),
            ["'base' (floor 1) declares 'trace' (floor 2), which is not below it"])

    def test_declaring_a_neighbour_on_the_same_floor_is_a_violation(self):
        self.assertEqual(
            self.violations("trace: base learn\n"),
            ["'trace' (floor 2) declares 'learn' (floor 2), which is not below it"])

    def test_module_without_a_floor_is_named(self):
        self.assertEqual(self.violations("attic: base\n"),
                         ["'attic' has no floor: name it in tools/layers_allowed.txt"])

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
        self.assertEqual(self.violations("ingest: trace\n"), [])

    def test_program_fails_on_a_violation_and_on_an_empty_list(self):
        self.write("allowed.txt", FLOORS)
        for layers in ("base: trace\n", "\n"):
            self.write("layers.txt", layers)
            done = subprocess.run(
                [sys.executable, check_layers.__file__, "--layers", self.root / "layers.txt",
                 "--allowed", self.root / "allowed.txt", "--root", self.root],
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, layers)


if __name__ == "__main__":
    unittest.main()
