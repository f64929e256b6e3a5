#!/usr/bin/env python3
"""Tests of refresh_outputs.py."""

import pathlib
import tempfile
import unittest

import generated_header
import refresh_outputs
from generated_header import HeaderError


class Refreshed(unittest.TestCase):
    PAGE = "before\n```console\n$ one\nold\n$ two\n```\nbetween\n```\n$ three\nkept\n```\n"

    def test_outputs_of_console_blocks_are_replaced_and_others_kept(self):
        made = refresh_outputs.refreshed(self.PAGE, lambda command: [f"output of {command}", "more"])
        self.assertEqual(made, "before\n```console\n$ one\noutput of one\nmore\n$ two\noutput of two\nmore\n```\nbetween\n"
                               "```\n$ three\nkept\n```\n")

    def test_a_second_time_changes_nothing(self):
        run = lambda command: [command.upper()]
        once = refresh_outputs.refreshed(self.PAGE, run)
        self.assertEqual(refresh_outputs.refreshed(once, run), once)

    def test_times_of_runs_do_not_count(self):
        self.assertEqual(refresh_outputs.without_times("9 events in 0.31 s"), refresh_outputs.without_times("9 events in 2 s"))
        self.assertNotEqual(refresh_outputs.without_times("8 events in 2 s"), refresh_outputs.without_times("9 events in 2 s"))

    def test_lines_of_progress_are_no_output(self):
        with tempfile.TemporaryDirectory() as folder:
            command = "echo 'simulating (10 s)' >&2; echo '[3/67] rows (120 s)' >&2; echo '  step  1 s (12 s)'; echo 'left (9 s)'"
            lines = refresh_outputs.output_of(command, pathlib.Path(folder), pathlib.Path(folder))
        self.assertEqual(lines, ["  step  1 s (12 s)", "left (9 s)"])

    def test_commands_are_those_of_console_blocks(self):
        self.assertEqual(refresh_outputs.console_commands(self.PAGE), ["one", "two"])

    def test_blocks_that_may_differ_are_left_out(self):
        page = "<!-- speed, made by tools/x.py -->\n{}\n<!-- end -->\n<!-- error, made by tools/x.py -->\n{}\n<!-- end -->\n"
        left = lambda speed, error: refresh_outputs.without_blocks(page.format(speed, error), ["speed"])
        self.assertEqual(left("1 s", "2 %"), left("3 s", "2 %"))
        self.assertNotEqual(left("1 s", "2 %"), left("1 s", "4 %"))


HEADER = "<!-- generated\ncommand: tools/x.py\ncheck: inputs\ninput: data/*.yaml\nsentinel: orrery validate\ndigest: none\n-->\n"
BODY = "# Title\n<!-- t, made by tools/x.py -->\n| 1 |\n<!-- end -->\nwords\n"


class Headers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "data").mkdir()
        (self.root / "data/a.yaml").write_text("a: 1")
        self.header, self.body = generated_header.parse(HEADER + BODY)
        self.answers = {"orrery validate": ["mean 8 %"]}

    def digest(self, body=BODY):
        return generated_header.digest(self.header, body, self.answers.__getitem__, self.root)

    def test_are_read_and_written_as_they_are(self):
        self.assertEqual(self.body, BODY)
        self.assertEqual(self.header.text(), HEADER)
        self.assertEqual(generated_header.parse(BODY), (None, BODY))

    def test_a_changed_input_makes_a_document_stale(self):
        before = self.digest()
        self.assertEqual(self.digest(), before)
        (self.root / "data/a.yaml").write_text("a: 2")
        self.assertNotEqual(self.digest(), before)

    def test_another_answer_of_the_program_makes_a_document_stale(self):
        before = self.digest()
        self.answers["orrery validate"] = ["mean 9 %"]
        self.assertNotEqual(self.digest(), before)

    def test_a_document_that_is_behind_must_say_so(self):
        page = generated_header.ROOT / "docs/page.md"
        behind = generated_header.with_field(self.header, "behind", "1.2")
        problem = lambda body: refresh_outputs.problem_of(page, behind.text() + body, None, self.answers.__getitem__)
        self.assertIn("does not say so", problem(BODY))
        self.assertIsNone(problem(generated_header.BEHIND.format("1.2") + "\n\n" + BODY))

    def test_a_document_is_no_longer_behind_when_it_was_made(self):
        page = self.root / "page.md"
        behind = generated_header.with_field(self.header, "behind", "1.2")
        page.write_text(behind.text() + generated_header.BEHIND.format("1.2") + "\n\n" + BODY)
        shown = generated_header.with_field(behind, "check", "output")
        refresh_outputs.note(page, shown, None)
        header, body = generated_header.parse(page.read_text())
        self.assertEqual((header.one("behind"), body), ("", BODY))

    def test_a_sentinel_without_an_answer_is_an_error(self):
        self.answers["orrery validate"] = []
        with self.assertRaisesRegex(HeaderError, "prints nothing"):
            self.digest()

    def test_a_figure_that_was_changed_by_hand_makes_a_document_stale_and_prose_does_not(self):
        self.assertNotEqual(self.digest(BODY.replace("| 1 |", "| 2 |")), self.digest())
        self.assertEqual(self.digest(BODY.replace("words", "other words")), self.digest())

    def test_a_pattern_without_files_is_an_error(self):
        (self.root / "data/a.yaml").unlink()
        with self.assertRaisesRegex(HeaderError, "no file is called data/"):
            self.digest()

    def test_what_is_missing_or_unknown_is_an_error(self):
        for header in ("<!-- generated\ncommand: x\n-->\n", "<!-- generated\ncheck: inputs\ncommand: x\n-->\n",
                       "<!-- generated\ncheck: measured\ncommand: x\n-->\n", "<!-- generated\nchekc: output\n-->\n"):
            with self.assertRaises(HeaderError):
                generated_header.parse(header)

    def test_every_document_of_the_repository_has_a_header_that_can_be_read(self):
        for page in refresh_outputs.all_pages():
            with self.subTest(page=page.name):
                generated_header.parse(page.read_text(encoding="utf-8"))

    def test_every_document_with_generated_blocks_says_how_it_is_made(self):
        for page in refresh_outputs.all_pages():
            text = page.read_text(encoding="utf-8")
            if generated_header.BLOCK.search(text):
                self.assertIsNotNone(generated_header.parse(text)[0], f"{page} has generated blocks and no header")


if __name__ == "__main__":
    unittest.main()
