#!/usr/bin/env python3
"""Tests of tools/check_guides.py on synthetic trees."""

import pathlib
import tempfile
import unittest

import check_guides

GUIDE = "docs/guides/adding-a-thing.md"
HEADER = "<!-- example: kThing -->\n"


class CheckGuidesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("Makefile", "fuzz: build  ## run\n")
        for folder in check_guides.INDEXED:
            self.write(f"{folder}/README.md", "")
        self.write("docs/README.md", "".join(f"[]({folder}/README.md)" for folder in ("design", "formats", "guides", "validation")))
        self.write("docs/guides/README.md", "[](adding-a-thing.md)")
        self.write("orrery/things/list.h", "X(kThing)  // const int\nthe_end;\n")
        self.guide("One line in `orrery/things/list.h`.")

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def guide(self, text, header=HEADER):
        self.write(GUIDE, header + text)

    def problems(self):
        return list(check_guides.problems(self.root))

    def test_a_guide_that_names_what_exists_is_right(self):
        self.guide("1. A line `X(kThing)` in `orrery/things/list.h`, before\n   `the_end`.\n2. `make fuzz`\n")
        self.assertEqual(self.problems(), [])

    def test_a_link_to_nothing_is_found(self):
        self.write("web/README.md", "[a](../Makefile#top) [b](https://example.org/x) [c](gone.md) `[d](gone.md)`\n```\n[e](gone.md)\n```\n")
        self.assertEqual(self.problems(), ["web/README.md: links to gone.md, which does not exist"])

    def test_a_page_that_its_index_forgets_is_found(self):
        self.write("docs/formats/a.md", "")
        self.write("docs/formats/notes/deep.md", "")
        self.assertEqual(self.problems(), ["docs/formats/README.md: has no line for a.md"])

    def test_a_folder_without_an_index_is_found(self):
        (self.root / "docs/design/README.md").unlink()
        self.assertIn("docs/design/README.md: missing; it has a line for each page of the folder", self.problems())

    def test_a_file_that_is_gone_is_found(self):
        self.write("orrery/README.md", "`list.h`, `things/list.h`, `orrery/things/`, `orrery/NAME/list.h`, `{list,lost}.h`, `lost.cc`, `x.y`\n")
        self.assertEqual(self.problems(), ["orrery/README.md: names {list,lost}.h, which does not exist",
                                           "orrery/README.md: names lost.cc, which does not exist"])

    def test_a_symbol_that_is_gone_is_found_by_its_step(self):
        self.guide("- `kThing` in `orrery/things/list.h`\n- `const  int` in `list.h`\n- `kOther` in `list.h`\n\nAnd `kThing`.\n")
        self.assertEqual(self.problems(), [f"{GUIDE}: `kOther` is in none of the files that its step names",
                                           f"{GUIDE}: `kThing` stands in a step that names no file"])

    def test_capital_name_stands_for_a_word(self):
        self.guide("`X(NAME)` in `orrery/things/list.h`, not `Y(NAME)`")
        self.assertEqual(self.problems(), [f"{GUIDE}: `Y(NAME)` is in none of the files that its step names"])

    def test_targets_and_verbs_exist(self):
        self.write("orrery/cli/a.cc", 'program.AddVerb(\n    "info", "x"); {"doctor", "y"}\n')
        self.guide("`orrery/things/list.h`: `make fuzz`, `make tea`, `orrery info X`, `orrery doctor`, `orrery --help`, `orrery dance`")
        self.assertEqual(self.problems(), [f"{GUIDE}: `make tea`: no such target", f"{GUIDE}: `orrery dance`: no such verb"])

    def test_a_place_of_the_example_that_the_guide_forgets_is_found(self):
        self.write("orrery/things/use.cc", "return kThing;\n")
        self.assertEqual(self.problems(), [f"{GUIDE}: does not name orrery/things/use.cc, where its example occurs"])
        self.guide("`orrery/things/list.h`, [use](../../orrery/things/use.cc)")
        self.assertEqual(self.problems(), [])

    def test_places_where_an_example_may_occur_besides_are_listed(self):
        self.write("CHANGELOG.md", "kThing\n")
        self.write("tests/golden/a.case", "kThing\n")
        self.guide("`orrery/things/list.h`", "<!-- example: kThing\nelsewhere: tests/golden/*\n-->\n")
        self.assertEqual(self.problems(), [])

    def test_a_guide_needs_an_example_that_exists(self):
        self.guide("`orrery/things/list.h`", "")
        self.assertEqual(self.problems(), [f"{GUIDE}: does not begin with a comment that says its example"])
        self.guide("`orrery/things/list.h`", "<!-- example: kGone -->\n")
        self.assertEqual(self.problems(), [f"{GUIDE}: nothing is called kGone"])

    def test_names_in_code_blocks_are_not_read(self):
        self.write("README.md", "```\n`gone.cc`\n```\n")
        self.assertEqual(self.problems(), [])

    def test_commands_in_code_blocks_name_verbs_and_files(self):
        self.write("orrery/cli/a.cc", 'program.AddVerb("info", "x");\n')
        self.write("README.md", "```\n$ build/orrery info orrery/things mine.csv -o docs.out   # docs/gone.csv\n$ orrery dance\n"
                                "$ orrery info data/gone.csv\n```\n")
        self.assertEqual(self.problems(), ["README.md: has a command with orrery dance, which is no verb",
                                           "README.md: has a command with data/gone.csv, which does not exist"])


if __name__ == "__main__":
    unittest.main()
