#!/usr/bin/env python3
"""Tests of the operators' texts and of the sequence that is measured; PyTorch is not needed."""

import collections
import itertools
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from microbench import operator_text, sampling  # noqa: E402


class OperatorTextTest(unittest.TestCase):
    def test_canonical_text_has_the_schemas_order_and_no_defaults(self):
        read = operator_text.parse("gemm bf16 k=3 layout=nn n=2 m=1 bias=1")
        self.assertEqual(read.text(), "gemm m=1 n=2 k=3 bias=1 bf16")

    def test_words_stay_words_and_negative_numbers_are_read(self):
        self.assertEqual(operator_text.parse("tril b=2 m=3 n=3 diag=-1 pass=bwd fp32")["diag"], -1)

    def test_what_is_no_operator_is_refused(self):
        for text in ("", "gem m=1 bf16", "gemm m=1 n=2 bf16", "gemm m=1 n=2 k=3",
                     "gemm m=1 n=2 k=3 q=4 bf16", "gemm m=1 n=2 k=3 bf61"):
            with self.assertRaises(operator_text.OperatorError, msg=text):
                operator_text.parse(text)

    def test_every_sampled_text_reads_back_as_itself(self):
        for number in range(3000):
            drawn = sampling.sample(7, number)
            again = operator_text.parse(drawn.text)
            self.assertEqual(again.keys, drawn.operator.keys)
            self.assertEqual(again.text(), drawn.text)


class SamplingTest(unittest.TestCase):
    def test_a_row_depends_on_seed_and_number_alone(self):
        forwards = [sampling.sample(3, number) for number in range(200)]
        backwards = [sampling.sample(3, number) for number in reversed(range(200))]
        self.assertEqual(forwards, backwards[::-1])
        other = [sampling.sample(4, number).text for number in range(200)]
        self.assertNotEqual([drawn.text for drawn in forwards], other)

    def test_a_drawn_operator_is_the_same_on_every_machine(self):
        texts = [sampling.sample_of_kind(1, 0, kind).text for kind in ("gemm", "conv", "fill")]
        self.assertEqual(texts, [
            "gemm m=72 n=8192 k=1792 layout=nt bias=1 fp32",
            "conv b=40 c=448 oc=448 h=16 w=16 kh=1 kw=1 pass=dgrad fp32",
            "fill n=8388608 fp32"])

    def test_shares_of_the_rows_are_those_wanted(self):
        counts = collections.Counter(sampling.sample(1, n).operator.kind for n in range(10000))
        total = sum(share for share, _ in sampling.SAMPLERS.values())
        for kind, (share, _) in sampling.SAMPLERS.items():
            # Three standard deviations of 10,000 draws are 1.5 points at most.
            self.assertAlmostEqual(counts[kind] / 10000, share / total, delta=0.015, msg=kind)
            self.assertEqual(counts[kind] > 0, share > 0, msg=kind)

    def test_other_shares_draw_their_kinds_alone(self):
        drawn = itertools.islice(sampling.sequence(1, shares={"conv": 3, "topk": 1}), 4000)
        counts = collections.Counter(sample.operator.kind for sample in drawn)
        self.assertEqual(set(counts), {"conv", "topk"})
        # Three standard deviations of 4,000 draws of three in four: 82.
        self.assertAlmostEqual(counts["conv"], 3000, delta=82)

    def test_compiled_kinds_are_drawn_where_asked_for(self):
        drawn = list(itertools.islice(sampling.sequence(1, shares={"triton": 1, "flex": 1}), 400))
        self.assertEqual({sample.operator.kind for sample in drawn}, {"triton", "attention"})
        for sample in drawn:
            if sample.operator.kind == "triton":  # each tensor of full size once, at least one
                o = sample.operator
                self.assertGreaterEqual(o["bytes"], o.element_bytes * o["rows"] * o["cols"])
                self.assertEqual(o["fn"] == "persistent", "form" in sample.detail and o["cols"] <= 1024)
            else:
                self.assertEqual(sample.operator["backend"], "flex")

    def test_convolutions_are_drawn_by_single_passes(self):
        drawn = itertools.islice(sampling.sequence(1, {"conv", "conv1d"}), 2000)
        self.assertEqual({sample.operator["pass"] for sample in drawn}, {"fwd", "dgrad", "wgrad"})

    def test_only_wanted_kinds_and_types_are_drawn(self):
        chosen = itertools.islice(sampling.sequence(1, {"gemm", "conv"}, {"fp32"}), 50)
        self.assertEqual({drawn.operator.dtype for drawn in chosen}, {"fp32"})

    def test_a_kind_that_has_no_such_type_ends_the_sequence(self):
        self.assertEqual(list(sampling.sequence(1, {"memcpy"}, {"bf16"})), [])

    def test_the_unpadded_vocabulary_comes_in_all_three_layouts(self):
        layouts = set()
        for drawn in itertools.islice(sampling.sequence(1, {"gemm"}), 5000):
            if 50257 in (drawn.operator["m"], drawn.operator["n"], drawn.operator["k"]):
                layouts.add(drawn.operator["layout"])
        self.assertEqual(layouts, {"nn", "nt", "tn"})

    def test_the_smoke_run_has_few_small_operators_of_every_kind(self):
        groups = sampling.smoke_plan(1)
        kinds = {chosen[0].operator.kind for chosen in groups.values()}
        self.assertEqual(kinds | {"flex", "fewchannels", "manyrows"}, set(sampling.SAMPLERS))
        self.assertLessEqual(max(len(chosen) for chosen in groups.values()), 3)


class EstimateTest(unittest.TestCase):
    def test_flops_and_bytes_of_a_product(self):
        # 2·4·5·6 = 240 flops; 2 bytes · (4·6 + 6·5 + 4·5) = 148 bytes.
        self.assertEqual(operator_text.cost(operator_text.parse("gemm m=4 n=5 k=6 bf16")), (240, 148))

    def test_true_fp32_is_slower_than_tf32(self):
        texts = [f"gemm m=8192 n=8192 k=8192 {dtype}" for dtype in ("fp32", "tf32")]
        fp32, tf32 = (operator_text.seconds(operator_text.parse(text)) for text in texts)
        self.assertGreater(fp32, 5 * tf32)

    def test_what_takes_too_long_or_too_much_memory_is_too_large(self):
        self.assertTrue(operator_text.too_large(operator_text.parse(
            "gemm m=65536 n=65536 k=65536 bf16")))
        self.assertTrue(operator_text.too_large(operator_text.parse("fill n=13000000000 bf16")))
        self.assertFalse(operator_text.too_large(operator_text.parse("fill n=1000000 bf16")))


if __name__ == "__main__":
    unittest.main()
