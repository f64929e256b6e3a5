#!/usr/bin/env python3
"""Tests of what is measured, of its rows and of the reading of watts and clocks; neither PyTorch nor a GPU is needed."""

import ctypes
import itertools
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from microbench import operator_text  # noqa: E402
from power import command_line, nvml  # noqa: E402


class SamplesTest(unittest.TestCase):
    def test_operators_draw_power_and_are_the_same_for_a_seed(self):
        first = list(itertools.islice(command_line.samples(1), 200))
        again = list(itertools.islice(command_line.samples(1), 200))
        self.assertEqual([sample.text for sample in first], [sample.text for sample in again])
        for sample in first:
            self.assertTrue(15e-6 < operator_text.seconds(sample.operator) < 8e-3, sample.text)
            self.assertNotIn("dropout", sample.text)
        kinds = {sample.operator.kind for sample in first}
        self.assertLessEqual({"gemm", "attention", "elementwise"}, kinds)

    def test_a_row_has_a_cell_for_each_column(self):
        found = types.SimpleNamespace(burst_us=1.5, sustained_us=2.25, power_w=690.0, energy_w=701.0, sm_mhz=1500.4,
                                      memory_mhz=3201.0, celsius=61)
        row = command_line._row("gemm m=1", found, 700.0, ["NVIDIA H200", "580", "13.0", "2.11"])
        self.assertEqual(len(row), len(command_line.HEADER))
        self.assertEqual(dict(zip(command_line.HEADER, row))["sm_mhz"], "1500")


class FakeGpu:
    """Watts that rise by ten at each reading."""

    def __init__(self):
        self.watts = 0.0

    def power_w(self):
        self.watts += 10
        return self.watts

    def sm_mhz(self):
        return 1980

    def memory_mhz(self):
        return 3201


class SamplerTest(unittest.TestCase):
    def test_means_are_those_of_what_was_read_since(self):
        with nvml.Sampler(FakeGpu(), seconds=0.001) as sampler:
            while len(sampler._rows) < 3:
                pass
        times = [row[0] for row in sampler._rows]
        watts, sm_mhz, memory_mhz = sampler.means(times[1])
        expected = [row[1] for row in sampler._rows[1:]]
        self.assertAlmostEqual(watts, sum(expected) / len(expected))
        self.assertEqual((sm_mhz, memory_mhz), (1980, 3201))

    def test_the_layout_is_that_of_the_library(self):
        # nvmlFieldValue_t: two numbers of 4 bytes, two of 8, type and status of 4, a value of 8.
        self.assertEqual(ctypes.sizeof(nvml._FieldValue), 40)
        self.assertEqual(nvml._FieldValue.value.offset, 32)

    def test_a_missing_library_is_a_sentence(self):
        with self.assertRaisesRegex(nvml.NoNvml, "no-such-library.so cannot be loaded"):
            nvml.Gpu("no-such-library.so")


if __name__ == "__main__":
    unittest.main()
