#!/usr/bin/env python3
"""Tests of tools/run_golden.py with a program and cases of their own."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

import run_golden

PROGRAM = """#!/bin/bash
case "$1" in
  say) echo "$2" ;;
  grumble) echo "$2" >&2; exit 2 ;;
  both) echo out; echo; echo err >&2 ;;
  torn) printf 'a\\nb' ;;
  bytes) printf '\\377\\n' ;;
  locale) echo "$LC_ALL $TZ" ;;
esac
"""


class RunGoldenTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.outside = pathlib.Path(folder.name)
        self.root = self.outside / "repository"
        (self.root / "tests" / "data").mkdir(parents=True)
        (self.root / "tests" / "data" / "fact.txt").write_text("42\n")
        self.program = self.root / "fake-program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def case(self, text, name="a.case"):
        path = self.root / name
        path.write_text(text)
        return path

    def outcome(self, text, update=False):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            result = run_golden.check_case(self.case(text), self.root, self.program, update)
        self.printed = printed.getvalue()
        return result

    def run_program(self, *arguments):
        return subprocess.run(
            [sys.executable, run_golden.__file__, "--root", self.root, "--program", self.program,
             *arguments], capture_output=True, text=True)

    def test_exact_output_error_and_status_pass(self):
        self.assertEqual(self.outcome("# Shows.\n$ orrery say hello\n> hello\n"
                                      "$ orrery grumble no\n! no\n= 2\n"), "ok")

    def test_sizes_of_written_files_and_lines_of_progress_are_not_compared(self):
        self.assertEqual(self.outcome("$ orrery grumble 'wrote a.html (52.1 kB)'\n! wrote a.html (SIZE)\n= 2\n"
                                      "$ orrery grumble '[2/3] fitting (20 s)'\n= 2\n"), "ok")

    def test_empty_line_of_output_is_a_bare_mark(self):
        self.assertEqual(self.outcome("$ orrery both\n> out\n>\n! err\n"), "ok")

    def test_other_output_differs_and_is_shown(self):
        self.assertEqual(self.outcome("$ orrery say hello\n> goodbye\n"), "differs")
        self.assertIn("-> goodbye", self.printed)
        self.assertIn("+> hello", self.printed)

    def test_missing_expectation_differs(self):
        self.assertEqual(self.outcome("$ orrery say hello\n"), "differs")

    def test_unexpected_status_differs(self):
        self.assertEqual(self.outcome("$ orrery grumble no\n! no\n"), "differs")

    def test_trailing_spaces_are_part_of_the_output(self):
        self.assertEqual(self.outcome("$ orrery say 'a '\n> a\n"), "differs")

    def test_missing_newline_at_the_end_is_part_of_the_output(self):
        self.assertEqual(self.outcome("$ orrery torn\n> a\n> b\n"), "differs")
        self.assertEqual(self.outcome("$ orrery torn\n> a\n> b\n\\\n"), "ok")

    def test_bytes_that_are_no_text_can_be_compared(self):
        self.assertEqual(self.outcome("$ orrery bytes\n> \\xff\n"), "ok")

    def test_failure_inside_a_pipe_is_seen(self):
        self.assertEqual(self.outcome("$ orrery grumble no 2>/dev/null | cat\n= 2\n"), "ok")

    def test_command_goes_on_in_the_next_line(self):
        self.assertEqual(self.outcome("$ orrery say hello \\\n$   | tr a-z A-Z\n> HELLO\n"), "ok")

    def test_steps_share_a_folder_and_cases_do_not(self):
        self.assertEqual(self.outcome("$ orrery say x > f\n$ cat f\n> x\n"), "ok")
        self.assertEqual(self.outcome("$ cat f 2>/dev/null\n= 1\n"), "ok")

    def test_data_folder_is_there(self):
        self.assertEqual(self.outcome("$ cat data/fact.txt\n> 42\n"), "ok")

    def test_files_beside_the_case_are_copied_in(self):
        (self.root / "a.files").mkdir()
        (self.root / "a.files" / "job.yaml").write_text("gpu: H100\n")
        self.assertEqual(self.outcome("$ cat job.yaml\n> gpu: H100\n"), "ok")

    def test_locale_and_time_zone_are_fixed(self):
        self.assertEqual(self.outcome("$ orrery locale\n> C UTC\n"), "ok")

    def test_case_that_needs_shared_is_skipped_by_name_without_it(self):
        text = "needs shared\n$ cat shared/big.txt\n> big\n"
        self.assertEqual(self.outcome(text), "skipped")
        self.assertIn("SKIPPED", self.printed)
        self.assertIn("a.case", self.printed)
        (self.outside / "shared").mkdir()
        (self.outside / "shared" / "big.txt").write_text("big\n")
        self.assertEqual(self.outcome(text), "ok")

    def test_update_writes_what_happened_and_keeps_the_rest(self):
        text = "# Shows.\n\n$ orrery say hello\n> old\n= 9\n# Then:\n$ orrery both\n# end\n"
        self.assertEqual(self.outcome(text, update=True), "updated")
        self.assertEqual((self.root / "a.case").read_text(),
                         "# Shows.\n\n$ orrery say hello\n> hello\n# Then:\n"
                         "$ orrery both\n> out\n>\n! err\n# end\n")

    def test_updated_case_passes(self):
        self.outcome("$ orrery torn\n$ orrery bytes\n$ orrery grumble x\n", update=True)
        self.assertEqual(self.outcome((self.root / "a.case").read_text()), "ok")

    def test_bad_lines_are_refused_with_their_number(self):
        for text, message in [("hello\n", "line 1"), ("$ true\n\n> late\n", "line 3"),
                              ("needs luck\n$ true\n", "line 1"), ("# nothing\n", "no command")]:
            with self.assertRaisesRegex(run_golden.BadCase, message):
                run_golden.parse(text)

    def test_exit_status_tells_ok_differs_bad_and_skipped_apart(self):
        for text, status in [("$ orrery say x\n> x\n", 0), ("$ orrery say x\n> y\n", 1),
                             ("nonsense\n", 2), ("needs shared\n$ true\n", 77)]:
            self.assertEqual(self.run_program(self.case(text)).returncode, status, text)

    def test_folder_stands_for_its_cases_and_an_empty_one_fails(self):
        self.case("$ orrery say x\n> x\n")
        self.assertIn("1 cases: 1 ok", self.run_program(self.root).stdout)
        self.assertEqual(self.run_program(self.root / "tests").returncode, 2)


if __name__ == "__main__":
    unittest.main()
