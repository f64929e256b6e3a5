#!/usr/bin/env python3
"""Tests of the pipeline, with a script for the program orrery, and of Echo's configuration."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from overlap import command_line, echo_config, pipeline  # noqa: E402
from overlap.tree import Tree  # noqa: E402


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return str(path)


class PipelineTest(InFolder):
    def setUp(self):
        super().setUp()
        self.tree = Tree(str(self.folder / "tree"))
        self.data_home = self.folder / "data"

    def run_all(self, orrery, measure=lambda: 0):
        options = types.SimpleNamespace(out=self.tree.folder, orrery=orrery)
        with contextlib.redirect_stdout(io.StringIO()) as printed, \
                contextlib.redirect_stderr(io.StringIO()) as said:
            status = pipeline.run(options, measure, {"XDG_DATA_HOME": str(self.data_home)})
        self.printed, self.said = printed.getvalue(), said.getvalue()
        return status

    def orrery(self, text=""):
        """Notes its arguments, and leaves a model where `fit` is told to."""
        leave = 'if [ "$1" = fit ]; then for last; do :; done; echo model > "$last"; fi\n'
        return self.script("orrery", f'echo "$@" >> "{self.folder}/calls"\n{text}{leave}')

    def calls(self):
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def test_the_stages_follow_one_another_and_the_model_is_installed(self):
        self.assertEqual(self.run_all(self.orrery()), 0)
        tree = self.tree.folder
        self.assertEqual(self.calls(), [
            f"fit overlap {tree}/processed/pairs.csv -o {tree}/models/overlap.orrmodel",
            f"evaluate overlap {tree}/processed/pairs.csv --model {tree}/models/overlap.orrmodel "
            f"--out {tree}/evaluation"])
        installed = self.data_home / "orrery" / "models" / "overlap.orrmodel"
        self.assertEqual(installed.read_text(), "model\n")
        self.assertEqual([line.split(":")[1].split()[0] for line in self.printed.splitlines()],
                         ["1/4", "2/4", "3/4", "4/4"])
        self.assertIn("simulate --overlap model", self.printed)

    def test_counters_are_given_where_there_are_some(self):
        pathlib.Path(self.tree.path("features", "counters.csv")).write_text("number\n")
        self.run_all(self.orrery())
        for call in self.calls():
            self.assertIn(f"--counters {self.tree.folder}/features/counters.csv", call)

    def test_a_machine_without_the_program_is_told_what_to_run_elsewhere(self):
        self.assertEqual(self.run_all(str(self.folder / "absent")), 3)
        tree = self.tree.folder
        self.assertIn(f"orrery fit overlap {tree}/processed/pairs.csv -o", self.said)
        self.assertIn(f"&& orrery evaluate overlap {tree}/processed/pairs.csv --model", self.said)
        self.assertEqual(len(self.said.splitlines()), 1)

    def test_a_stage_that_fails_ends_the_pipeline(self):
        self.assertEqual(self.run_all(self.orrery("exit 2\n")), 2)
        self.assertEqual(len(self.calls()), 1)
        self.assertIn("ended with status 2", self.said)
        self.assertFalse(self.data_home.exists())

    def test_a_fit_without_a_model_installs_nothing(self):
        self.assertEqual(self.run_all(self.script("orrery", "exit 0\n")), 2)
        self.assertIn("left no", self.said)

    def test_a_measurement_that_failed_or_was_stopped_is_not_fitted(self):
        self.assertEqual(self.run_all(self.orrery(), lambda: 2), 2)
        record = pathlib.Path(self.tree.path("processed", "run.json"))
        record.write_text(json.dumps({"runs": [{"ended_by": "signal"}]}))
        self.assertEqual(self.run_all(self.orrery()), 3)
        self.assertIn("the same command goes on", self.said)
        self.assertEqual(self.calls(), [])

    def test_the_model_goes_where_the_simulator_looks(self):
        end = "/orrery/models/overlap.orrmodel"
        self.assertEqual(pipeline.installed_path({"XDG_DATA_HOME": "/d"}), "/d" + end)
        self.assertEqual(pipeline.installed_path({"HOME": "/h"}), "/h/.local/share" + end)
        self.assertEqual(pipeline.installed_path({"XDG_DATA_HOME": "here", "HOME": "/h"}),
                         "/h/.local/share" + end)


class EchoConfigTest(InFolder):
    def write(self, name, content):
        (self.folder / name).write_text(content if isinstance(content, str)
                                        else json.dumps(content))

    def read(self):
        return echo_config.read(str(self.folder))

    def test_devices_and_programs_are_taken(self):
        ncu, nsys = self.script("my-ncu", ""), self.script("my-nsys", "")
        self.write("global_config.json", {"cuda_visible_devices": "1,2", "ncu_path": ncu,
                                          "nsys_path": nsys, "cuda_version_check": True})
        settings = self.read()
        self.assertEqual((settings.devices, settings.paths), ("1,2", {"ncu": ncu, "nsys": nsys}))
        self.assertEqual(settings.remarks, [
            f"{self.folder}/global_config.json: not needed here: cuda_version_check"])

    def test_devices_may_be_a_number_or_a_list(self):
        for value, wanted in ((0, "0"), ([0, 3], "0,3"), ("2", "2")):
            self.write("global_config.json", {"cuda_visible_devices": value})
            self.assertEqual(self.read().devices, wanted)

    def test_unknown_keys_are_named(self):
        self.write("global_config.json", {"gpu": 1})
        self.write("local_config.json", {"cap_size": 25, "colour": "red", "size": 1})
        self.assertEqual(self.read().remarks, [
            f"{self.folder}/global_config.json: unknown and not used: gpu",
            f"{self.folder}/local_config.json: not needed here: cap_size",
            f"{self.folder}/local_config.json: unknown and not used: colour, size"])

    def test_what_cannot_be_used_is_refused_in_one_sentence(self):
        with self.assertRaisesRegex(echo_config.NotUsable, "none of global_config.json"):
            self.read()
        for content, sentence in (("{", "must be a JSON object"), ("[1]", "not a JSON object"),
                                  ({"ncu_path": "/nowhere/ncu"}, "which cannot be run")):
            self.write("global_config.json", content)
            with self.assertRaisesRegex(echo_config.NotUsable, sentence):
                self.read()

    def test_another_interpreter_is_started_once(self):
        python = self.script("python", "")
        settings = echo_config.Settings("3", {"python": python})
        started, environment = [], {}
        for _ in range(2):
            settings.apply(environment, ["capture", "-x"], lambda *line: started.append(line))
        self.assertEqual(started, [(python, [python, "capture", "-x"])])
        self.assertEqual(environment["CUDA_VISIBLE_DEVICES"], "3")

    def test_the_interpreter_at_hand_is_kept(self):
        settings = echo_config.Settings(paths={"python": sys.executable})
        settings.apply({}, [], lambda *line: self.fail("started"))

    def test_without_a_folder_nothing_is_asked_for(self):
        self.assertEqual(echo_config.read(None), echo_config.Settings())

    def test_paths_of_the_settings_come_before_those_that_are_found(self):
        with mock.patch.object(command_line.programs, "find", lambda name: f"/found/{name}"):
            tools = command_line._tools(echo_config.Settings(paths={"ncu": "/mine/ncu"}))
        self.assertEqual(tools, {"nvcc": "/found/nvcc", "ncu": "/mine/ncu", "nsys": "/found/nsys"})


if __name__ == "__main__":
    unittest.main()
