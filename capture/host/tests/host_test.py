#!/usr/bin/env python3
"""Tests of the host's costs and of the file they are written to; neither PyTorch nor a GPU is needed."""

import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from host import bench, command_line  # noqa: E402


class CostsTest(unittest.TestCase):
    def test_costs_are_positive_and_between_their_quantiles(self):
        found = bench.costs(0.2, "cpu")
        self.assertLessEqual({"hash", "python", "memory"}, set(found))
        for name, cost in found.items():
            self.assertGreater(cost["p10"], 0, name)
            self.assertLessEqual(cost["p10"], cost["ns"], name)
            self.assertLessEqual(cost["ns"], cost["p90"], name)

    def test_what_would_fill_the_queue_is_called_so_often_at_most(self):
        calls, waits = [0], []

        def wait():
            waits.append(calls[0])
            calls[0] = 0

        def call():
            calls[0] += 1

        bench._chunks(call, 0.01, wait)
        self.assertLessEqual(max(waits), bench._QUEUED)


class FileTest(unittest.TestCase):
    def test_a_file_names_the_machine_and_each_cost(self):
        text = command_line.text({"cpu": "Xeon", "cores": 16}, {"python": {"ns": 130.5, "p10": 120.0, "p90": 150.0}})
        self.assertEqual(text, "# Written by orrery-capture measure host: nanoseconds of one call, the median of many chunks.\n"
                               "cpu: 'Xeon'\ncores: 16\ncosts:\n  python: {ns: 130.5, p10: 120.0, p90: 150.0}\n")

    def test_a_run_writes_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "host.yaml"
            self.assertEqual(command_line.main(types.SimpleNamespace(seconds=0.2, out=str(path))), 0)
            self.assertIn("\ncosts:\n  hash: {ns: ", path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
