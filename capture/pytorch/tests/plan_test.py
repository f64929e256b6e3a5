#!/usr/bin/env python3
"""Tests of plans, classes of ranks, settings and job.yaml; needs no PyTorch."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from models import catalogue  # noqa: E402
from parallel import job_yaml, plan as plans  # noqa: E402
from parallel.plan import Plan  # noqa: E402
from parallel.plan import Refusal  # noqa: E402
from parallel.plan import Settings  # noqa: E402


class Ranks(unittest.TestCase):
    def test_neighbours_become_ranges(self):
        self.assertEqual(plans.ranks_to_text([5, 0, 1, 2, 7, 8]), "0-2,5,7-8")
        self.assertEqual(plans.ranks_to_text([]), "")

    def test_text_is_read_in_any_order(self):
        self.assertEqual(plans.ranks_from_text("17, 0-2,1"), [0, 1, 2, 17])
        with self.assertRaises(ValueError):
            plans.ranks_from_text("0,x")


class Kinds(unittest.TestCase):
    def test_names_follow_from_the_sizes(self):
        self.assertEqual(Plan.from_options().kind, "single")
        self.assertEqual(Plan.from_options(world=64).kind, "ddp")
        self.assertEqual(Plan.from_options(world=64, fsdp=True).kind, "fsdp2")
        self.assertEqual(Plan.from_options(tp=8).kind, "tp")
        self.assertEqual(Plan.from_options(pp=4, layers=8).kind, "pp")
        self.assertEqual(Plan.from_options(world=64, tp=8).kind, "mixed")

    def test_the_last_dimension_is_innermost(self):
        plan = Plan.from_options(world=64, pp=4, tp=2, fsdp=True, layers=32)
        self.assertEqual(plan.mesh, [("pp", 4, 16), ("dp", 8, 2), ("tp", 2, 1)])
        self.assertEqual((plan.sharding, plan.stage_of(47)), ("full", 2))

    def test_parts_that_do_not_fit_are_refused_with_the_reason(self):
        for options, reason in (
                ({"world": 10, "tp": 4}, "not the 10 ranks"), ({"world": 2, "tp": 4}, "smaller"),
                ({"fsdp": True, "ddp": True}, "exclude"), ({"pp": 4, "layers": 2}, "2 layers"),
                ({"pp": 4, "layers": 8, "microbatches": 2}, "at least 4 micro-batches"),
                ({"microbatches": 4}, "--accumulation"), ({"sequence_parallel": True}, "--tp"),
                ({"world": 8, "tp": 2, "ddp": True}, "--fsdp"), ({"pp": 2, "layers": 2, "schedule": "x"}, "1f1b")):
            with self.assertRaisesRegex(Refusal, reason):
                Plan.from_options(**options)


class Classes(unittest.TestCase):
    def test_replicas_and_tensor_ranks_are_alike(self):
        self.assertEqual(Plan.from_options(world=64, fsdp=True).classes(), [(0, "0-63")])
        self.assertEqual(Plan.from_options(world=16, tp=8, fsdp=True).classes(), [(0, "0-15")])

    def test_stages_of_gpipe_with_equal_layers_are_alike(self):
        plan = Plan.from_options(world=8, pp=4, layers=16, schedule="gpipe")
        self.assertEqual(plan.classes(), [(0, "0-1"), (2, "2-5"), (6, "6-7")])

    def test_middle_stages_with_one_layer_more_are_another_class(self):
        # 14 layers over 4 stages are 4, 4, 3, 3.
        plan = Plan.from_options(pp=4, layers=14, schedule="gpipe")
        self.assertEqual([plan.layers_of(stage) for stage in range(4)], [(0, 4), (4, 8), (8, 11), (11, 14)])
        self.assertEqual(plan.classes(), [(0, "0"), (1, "1"), (2, "2"), (3, "3")])

    def test_each_stage_of_1f1b_has_an_order_of_its_own(self):
        plan = Plan.from_options(world=8, pp=4, layers=16)
        self.assertEqual(plan.classes(), [(0, "0-1"), (2, "2-3"), (4, "4-5"), (6, "6-7")])

    def test_given_ranks_of_one_class_share_it(self):
        plan = Plan.from_options(world=64, fsdp=True)
        self.assertEqual(plan.classes([17, 0]), [(0, "0-16,18-63"), (17, "17")])
        self.assertEqual(plan.left_out([17, 0]), "")

    def test_classes_without_a_given_rank_are_named(self):
        plan = Plan.from_options(world=8, pp=4, layers=16)
        self.assertEqual(plan.classes([3]), [(3, "2-3")])
        self.assertEqual(plan.left_out([3]), "0-1,4-7")

    def test_a_rank_outside_of_the_world_is_refused(self):
        with self.assertRaisesRegex(Refusal, "no rank 64"):
            Plan.from_options(world=64).classes([64])


class Types(unittest.TestCase):
    def types(self, name, dtype=None):
        settings = Settings.from_options(catalogue.find(name), dtype=dtype)
        return settings.precision, settings.autocast, settings.channels_last

    def test_defaults_are_the_model_s(self):
        self.assertEqual(self.types("llama-1b"), ("bf16", False, False))
        self.assertEqual(self.types("resnet50"), ("bf16", True, True))

    def test_types_can_be_asked_for(self):
        self.assertEqual(self.types("resnet50", "fp32"), ("fp32", False, False))
        self.assertEqual(self.types("resnet50", "pure-bf16"), ("bf16", False, True))
        self.assertEqual(self.types("llama-1b", "autocast-fp16"), ("fp16", True, False))

    def test_unknown_values_are_refused(self):
        llama = catalogue.find("llama-1b")
        for options, reason in (({"dtype": "int8"}, "no type int8"), ({"optimizer": "lion"}, "no optimizer lion"),
                                ({"batch": 0}, "--batch")):
            with self.assertRaisesRegex(Refusal, reason):
                Settings.from_options(llama, **options)
        with self.assertRaisesRegex(Refusal, "no sequence"):
            Settings.from_options(catalogue.find("resnet50"), sequence=8)


class Fitting(unittest.TestCase):
    def check(self, name, **options):
        found = catalogue.find(name)
        plan = Plan.from_options(layers=found.layers, **options)
        plans.check_model(found, plan, Settings.from_options(found))

    def test_llamas_can_be_split_and_decoders_cut(self):
        self.check("llama-1b", tp=8)
        self.check("gpt2", pp=4)

    def test_what_cannot_is_refused_with_the_reason(self):
        for name, options, reason in (("gpt2", {"tp": 2}, "Conv1D"), ("mixtral-small", {"tp": 2}, "llama"),
                                      ("llama-1b", {"tp": 16}, "8 key-value heads"),
                                      ("bert-large", {"pp": 2}, "stages")):
            with self.assertRaisesRegex(Refusal, reason):
                self.check(name, **options)


class JobFile(unittest.TestCase):
    def text(self, name, dtype=None, **options):
        found = catalogue.find(name)
        plan = Plan.from_options(layers=found.layers, **options)
        return job_yaml.text(found, plan, Settings.from_options(found, dtype=dtype), "NVIDIA H200")

    def test_a_sharded_llama(self):
        self.assertEqual(self.text("llama-1b", world=64, fsdp=True).splitlines(), [
            "# Written by orrery trace: the job that was traced on NVIDIA H200.",
            "name: llama-1b",
            "model: {name: llama-1b, family: llama, hidden: 2048, layers: 16, heads: 32, kv_heads: 8, ffn: 8192, "
            "vocabulary: 128256, tied: false}",
            "training: {sequence: 2048, micro_batch: 4, global_batch: 256, precision: bf16, optimizer: adam, "
            "gradient_bytes: 2, gathered_bytes: 2, has_master: false, moment_bytes: 2}",
            "plan: {tp: 1, pp: 1, dp: 64, sharding: fsdp}",
            "gpu: H200",
            "gpus: 64",
            "framework: {name: torch-fsdp, is_compiled: false, copies_shards: true, attention: flash, "
            "has_unfused_layers: true}"])

    def test_a_pipeline_says_its_stages_and_all_its_micro_batches(self):
        text = self.text("gpt2-xl", pp=5)
        self.assertIn("layers_per_stage: [10, 10, 10, 9, 9]", text)
        self.assertIn("global_batch: 80", text)  # 8 samples, 2 * 5 micro-batches

    def test_autocast_keeps_what_the_generator_assumes(self):
        self.assertNotIn("gradient_bytes", self.text("llama-1b", dtype="autocast-bf16"))

    def test_models_that_the_generator_does_not_have_give_none(self):
        self.assertIsNone(self.text("resnet18"))
        self.assertIsNone(self.text("ncf"))
        self.assertIn("model: resnet50", self.text("resnet50"))


if __name__ == "__main__":
    unittest.main()
