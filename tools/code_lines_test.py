#!/usr/bin/env python3
"""Tests of tools/code_lines.py."""

import unittest

from code_lines import code_lines, is_test


class CodeLinesTest(unittest.TestCase):
    def test_of_cpp_only_statements_and_declarations_count(self):
        text = """/* A block
int not_code;
*/
#include "a.h"

/// Adds one.
int Add(int a) {  // counts
  return Call({
      a, 1,
  });
}
"""
        self.assertEqual(code_lines("add.cc", text), 3)

    def test_of_python_neither_docstrings_nor_imports_count(self):
        text = '''"""What it
does."""

import a
from b import (
    c,
)

def f(x):
    """Adds."""
    # why
    text = """two
lines"""
    return [
        x,
    ]
'''
        self.assertEqual(code_lines("tool", text), 5)

    def test_tests_are_told_by_their_names(self):
        for path in ("orrery/a/b_test.cc", "orrery/a/b_test.h", "orrery/a/b_fuzz.cc", "x/tests/y.py", "a/test_data.cc"):
            self.assertTrue(is_test(path), path)
        for path in ("orrery/a/b.cc", "orrery/a/tester.h", "orrery/a/b_bench.cc"):
            self.assertFalse(is_test(path), path)


if __name__ == "__main__":
    unittest.main()
