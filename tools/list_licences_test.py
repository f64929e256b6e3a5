#!/usr/bin/env python3
"""Tests of list_licences.py, and of the comment with licences that web/licences.mjs puts into the page."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import list_licences

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = "origin,package,name,licence,use,shared_object\n# a comment\n"
FMT = "debian,libfmt-dev,{fmt},MIT,linked,libfmt.so\n"
PLOT = "npm,plot,Plot,MIT,embedded,\n"
LOCK = json.dumps({"packages": {"": {}, "node_modules/plot": {"version": "1.2", "license": "MIT"},
                                "node_modules/@plot/for-windows": {"version": "1.2", "optional": True}}})


class Problems(unittest.TestCase):
    def setUp(self):
        self.dependencies = list_licences.declared(HEADER + FMT + PLOT)
        self.npm = list_licences.npm_packages(LOCK)

    def test_complete_lists_have_none(self):
        self.assertEqual(list(list_licences.list_problems(self.dependencies, ["libfmt-dev"], self.npm)), [])
        self.assertEqual(list(list_licences.notice_problems(self.dependencies, "- {fmt}, MIT\n- Plot, MIT")), [])
        self.assertEqual(list(list_licences.object_problems(self.dependencies, "orrery", ["libfmt.so.9", "libc.so.6"])), [])

    def test_a_package_that_the_list_lacks_is_named(self):
        found = list(list_licences.list_problems(self.dependencies, ["libfmt-dev", "libnew-dev"], self.npm))
        self.assertEqual(found, ["tools/dependencies.csv lacks libnew-dev of packages.txt"])

    def test_a_package_that_is_gone_is_named(self):
        found = list(list_licences.list_problems(self.dependencies, [], {}))
        self.assertEqual(len(found), 2)

    def test_another_licence_in_the_lock_file_is_named(self):
        other = {"plot": ("1.2", "GPL-3.0")}
        found = list(list_licences.list_problems(self.dependencies, ["libfmt-dev"], other))
        self.assertIn("GPL-3.0", found[0])

    def test_embedded_software_must_be_in_the_notice_with_its_licence(self):
        found = list(list_licences.notice_problems(self.dependencies, "- {fmt}, MIT\n- Plot"))
        self.assertEqual(found, ["NOTICE does not name Plot (MIT), which is embedded"])

    def test_a_library_of_no_package_is_named(self):
        found = list(list_licences.object_problems(self.dependencies, "orrery", ["libother.so.1"]))
        self.assertIn("libother.so.1", found[0])

    def test_packages_list_is_read_without_comments(self):
        self.assertEqual(list_licences.debian_packages("# libraries\na\n\nb # why\n"), ["a", "b"])


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Comment(unittest.TestCase):
    def comment(self, folder):
        script = f"import {{ licenceComment }} from '{ROOT}/web/licences.mjs'; console.log(licenceComment('{folder}'))"
        return subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=False)

    def test_has_every_dependency_and_cannot_end_early(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "package.json").write_text('{"dependencies": {"plot": "1.2"}, "devDependencies": {"tool": "1"}}')
            (folder / "node_modules/plot").mkdir(parents=True)
            (folder / "node_modules/plot/LICENSE").write_text("Copyright Somebody */ alert(1)")
            text = self.comment(folder).stdout.strip()
        self.assertTrue(text.startswith("/*! This page contains plot 1.2.") and text.endswith("*/"))
        self.assertIn("Copyright Somebody", text)
        self.assertEqual(text.count("*/"), 1)

    def test_a_package_without_a_licence_stops_the_bundle(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "package.json").write_text('{"dependencies": {"plot": "1.2"}}')
            done = self.comment(folder)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("plot has no file LICENSE", done.stderr)


if __name__ == "__main__":
    unittest.main()
