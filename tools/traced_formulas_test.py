#!/usr/bin/env python3
"""Tests of tools/traced_formulas.py, and of the recordings in data/traced against it."""

import json
import pathlib
import unittest

import traced_formulas

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "data" / "traced" / "h200"


def expect_formulas(test, name):
    facts = json.loads((RECORDINGS / name / "trace.json").read_text())
    for rank in (entry["rank"] for entry in facts["ranks"]):
        test.assertEqual(traced_formulas.recorded(RECORDINGS / name, rank), traced_formulas.expected(facts, rank))
    return facts


class TracedFormulasTest(unittest.TestCase):
    # Limits of 524,288 and 13,107,200 elements: 300,000 + 300,000 reach the first; then 8 + 6 million the second; what is
    # left is a bucket of its own.
    def test_bucket_closes_with_the_tensor_that_reaches_the_limit(self):
        tensors = [300_000, 300_000, 8_000_000, 6_000_000, 5]
        self.assertEqual(list(traced_formulas.bucket_bytes(tensors)), [1_200_000, 28_000_000, 10])

    # Five rows over four ranks are padded to eight.
    def test_parameters_are_padded_along_their_first_dimension(self):
        self.assertEqual(traced_formulas.unit_bytes([(5, 3), (4,)], 4), (8 * 3 + 4) * 2)

    # All of GPT-2's 124,439,808 parameters are summed once, two bytes each. Gradients become ready from the back: the norm
    # and the last projection's bias and weight (2,361,600 elements) pass 1 MiB; from there two layers' worth of
    # 7,087,872 elements pass 25 MiB; the embeddings are in the last bucket.
    def test_ddp_of_64_sums_each_gradient_once_in_buckets(self):
        facts = expect_formulas(self, "gpt2-ddp-64")
        sums = traced_formulas.recorded(RECORDINGS / "gpt2-ddp-64", 0)
        self.assertEqual(sum(size * count for (_, size), count in sums.items()), 2 * facts["model"]["parameters"])
        self.assertEqual(sums[("all_reduce", 2 * 2_361_600)], 1)
        self.assertEqual(sums[("all_reduce", 2 * 2 * 7_087_872)], 5)

    # A layer: 2 · 2048² + 2 · 512 · 2048 + 3 · 8192 · 2048 + 2 · 2048 = 60,821,504; the rest: 2 · 128,256 · 2048 + 2048 =
    # 525,338,624. All first dimensions are multiples of 64.
    def test_fsdp_of_64_gathers_layers_twice_and_the_root_once(self):
        expect_formulas(self, "llama-1b-fsdp-64")
        exchanges = traced_formulas.recorded(RECORDINGS / "llama-1b-fsdp-64", 0)
        self.assertEqual(exchanges, {("all_gather", 2 * 60_821_504): 32, ("all_gather", 2 * 525_338_624): 1,
                                     ("reduce_scatter", 2 * 60_821_504): 16, ("reduce_scatter", 2 * 525_338_624): 1})

    def test_ranks_0_and_17_of_fsdp_exchange_the_same_in_the_same_order(self):
        folder = RECORDINGS / "llama-1b-fsdp-64"
        first, other = (json.loads((folder / f"rank-{rank}" / "collectives.json").read_text()) for rank in (0, 17))
        self.assertEqual(first, other)

    # 16 layers · (2 forward + 5 backward) + embedding + head = 114 sums of 4 · 2048 · 2048 · 2 bytes, and three of 8192
    # floats.
    def test_tensor_parallelism_of_8_sums_activations_and_parts_of_the_loss(self):
        expect_formulas(self, "llama-1b-tp-8")
        exchanges = traced_formulas.recorded(RECORDINGS / "llama-1b-tp-8", 0)
        self.assertEqual(exchanges, {("all_reduce", 33_554_432): 114, ("all_reduce", 32_768): 3})

    # Eight micro-batches of 4 · 2048 · 2048 · 2 bytes to each neighbour and from it.
    def test_pipeline_of_4_passes_each_micro_batch_on_and_back(self):
        expect_formulas(self, "llama-1b-pp-4")
        folder = RECORDINGS / "llama-1b-pp-4"
        counts = [traced_formulas.recorded(folder, rank)[("send", 33_554_432)] for rank in range(4)]
        self.assertEqual(counts, [8, 16, 16, 8])


if __name__ == "__main__":
    unittest.main()
