#!/usr/bin/env python3
"""Tests of tools/check_words.py on small texts, and of the list itself."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import check_words

RULES = check_words.read_rules(pathlib.Path(__file__).parent / "words.csv")


def found(path, text):
    return [(place.line, place.found) for place in check_words.places_in(path, text, RULES)]


class ListTest(unittest.TestCase):
    def test_every_expression_finds_its_own_example(self):
        for rule in RULES:
            self.assertRegex(rule.example, rule.pattern)

    def test_every_rule_names_a_replacement_and_where_it_holds(self):
        for rule in RULES:
            self.assertTrue(rule.instead, rule.example)
            self.assertLessEqual(set(rule.where), {check_words.DOCS, check_words.MESSAGES, check_words.COMMENTS})
            self.assertTrue(rule.where, rule.example)

    def test_words_with_another_meaning_are_allowed(self):
        for text in ("see Figure 11 and figure 3", "tables and figures of a paper", "in fact", "a replay of the step",
                     "it does not depend on the price", "clock and power had settled", "all links of a GPU",
                     "a hop inside a node", "$2.50 of a GPU hour", "a mark of the chart"):
            self.assertEqual(found("a.md", text), [], text)


class MarkdownTest(unittest.TestCase):
    def test_prose_tables_and_lists_are_read(self):
        self.assertEqual(found("a.md", "One.\n\n| key | plans that were played |\n- nobody knows\n"), [(3, "played"), (4, "nobody")])

    def test_a_rule_of_several_words_holds_over_the_end_of_a_line(self):
        self.assertEqual(found("a.md", "first\ninside\nof a node"), [(2, "inside of")])

    def test_code_file_names_and_link_targets_are_not_prose(self):
        self.assertEqual(found("a.md", "`played` [a](docs/strangers.md) strangers.md docs/strangers/a.csv\n"
                                       "```\nplayed\n```\n~~~\nplayed\n~~~\n``a `b` played``\n"), [])

    def test_text_behind_a_code_block_is_read(self):
        self.assertEqual(found("a.md", "```console\n$ x\n```\nplayed\n```\n```\n"), [(4, "played")])

    def test_text_that_a_program_wrote_is_not_read(self):
        self.assertEqual(found("a.md", "<!-- generated\ncommand: judged\ncheck: output\n-->\n# Title\n"
                                       "<!-- table, made by tools/x.py -->\nplayed\n<!-- end -->\njudged\n"), [(9, "judged")])


class SourceTest(unittest.TestCase):
    def test_lines_of_a_comment_are_one_text(self):
        self.assertEqual(found("a.cc", "int a;\n// One\n// inside of two.\n"), [(3, "inside of")])

    def test_a_comment_begins_with_a_noun_or_a_verb(self):
        self.assertEqual(found("a.cc", "/// What is left.\n/// Returns the rest.\n"), [(1, "What")])
        self.assertEqual(found("a.cc", "int a;  // which one\nint b;  // its name\n"), [(1, "which")])
        self.assertEqual(found("a.cc", "// Why? What else?\n"), [])

    def test_strings_are_messages_if_they_have_several_words(self):
        self.assertEqual(found("a.cc", 'Set("played", 1);\nSay("8 were played");\n'), [(2, "played")])
        self.assertEqual(found("a.ts", "say(`nobody is here`); // `\n"), [(1, "nobody")])

    def test_code_in_comments_is_not_prose(self):
        self.assertEqual(found("a.cc", "// `played` is\n// `a, judged` and played.\n"), [(2, "played")])
        self.assertEqual(found("a.py", '# `played`\n\ndef f():\n    """`nobody`"""\n'), [])

    def test_sql_and_lists_of_columns_are_not_messages(self):
        for text in ("SELECT figures FROM plans", "id, bound_s, figures", "CREATE TABLE a (figures BLOB)", "figures = substr(figures, 1)"):
            self.assertEqual(found("a.cc", f'Run("{text}");\n'), [], text)

    def test_adjacent_strings_are_one_message(self):
        self.assertEqual(found("a.cc", 'Say("it is inside "\n    "of it");\n'), [(1, "inside of")])

    def test_code_is_not_read(self):
        self.assertEqual(found("a.cc", '#include "orrery/played.h"\nint played = \'"\'; int judged;\n'), [])

    def test_python_has_comments_docstrings_and_messages(self):
        text = '"""Nobody knows."""\n\ndef f():\n    """What is left."""\n    played = "played"\n    return f"it was {played} played"  # judged\n'
        self.assertEqual(found("a.py", text), [(1, "Nobody"), (4, "What"), (6, "played"), (6, "judged")])


class MainTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        covered = mock.patch.object(check_words, "COVERED", ("*.md",))
        covered.start()
        self.addCleanup(covered.stop)
        self.write("tools/words.csv", (pathlib.Path(__file__).parent / "words.csv").read_text())

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_main(self, *options):
        with contextlib.redirect_stdout(io.StringIO()) as output, mock.patch.object(sys, "argv", ["x", "--root", str(self.root), *options]):
            return check_words.main(), output.getvalue().splitlines()

    def test_a_word_in_a_covered_file_fails_with_its_place_and_replacement(self):
        self.write("docs/a.md", "One\nplayed\n")
        self.assertEqual(self.run_main(), (1, ["docs/a.md:2: 'played': simulate"]))

    def test_places_in_other_files_are_counted_by_folder(self):
        self.write("orrery/search/a.cc", "// judged and played\n")
        self.write("tools/a.py", "# nobody\n")
        self.assertEqual(self.run_main(), (0, ["not covered yet: 3 places: orrery/search 2, tools 1"]))

    def test_places_in_other_files_are_shown_on_request(self):
        self.write("orrery/search/a.cc", "// judged\n")
        self.assertEqual(self.run_main("--show", "orrery/search/*")[1][0], "orrery/search/a.cc:1: 'judged': evaluate")

    def test_history_and_installed_packages_are_not_read(self):
        self.write("CHANGELOG.md", "played\n")
        self.write("web/node_modules/a/a.md", "played\n")
        self.assertEqual(self.run_main(), (0, []))


if __name__ == "__main__":
    unittest.main()
