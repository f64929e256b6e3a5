#!/usr/bin/env python3
"""Tests of the catalogue of models: names, layers and parameters; needs no PyTorch."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from models import catalogue  # noqa: E402


class Names(unittest.TestCase):
    def test_every_listed_name_is_found_under_its_name(self):
        for name in catalogue.names():
            self.assertEqual(catalogue.find(name).name, name)

    def test_an_unknown_name_is_none(self):
        self.assertIsNone(catalogue.find("no-such-model"))

    def test_any_model_of_torchvision_can_be_named(self):
        found = catalogue.find("torchvision:densenet121")
        self.assertEqual((found.source, found.config["model"], found.family), ("torchvision", "densenet121", None))

    def test_measured_settings_are_the_defaults(self):
        # truth/h200_steps.csv: llama-1b-s2048-b4, bert-base-b32, resnet50-b64 (autocast), dlrm-b2048 (fp32).
        llama, bert = catalogue.find("llama-1b").defaults, catalogue.find("bert-base").defaults
        self.assertEqual((llama.batch, llama.sequence, llama.precision, llama.autocast), (4, 2048, "bf16", False))
        self.assertEqual((bert.batch, bert.sequence), (32, 512))
        self.assertTrue(catalogue.find("resnet50").defaults.autocast)
        self.assertEqual(catalogue.find("dlrm").defaults.precision, "fp32")


class Sizes(unittest.TestCase):
    def whole(self, name, around):
        found = catalogue.find(name)
        return found.layers * found.layer_parameters + around

    def test_layers_and_the_rest_make_the_measured_number_of_parameters(self):
        # Column params of truth/h200_steps.csv. Beside the layers: embeddings, the last norm, the head.
        self.assertEqual(self.whole("gpt2", (50257 + 1024) * 768 + 2 * 768), 124439808)
        self.assertEqual(self.whole("gpt2-xl", (50257 + 1024) * 1600 + 2 * 1600), 1557611200)
        self.assertEqual(self.whole("llama-1b", 2 * 128256 * 2048 + 2048), 1498482688)
        self.assertEqual(self.whole("llama-3b", 2 * 128256 * 3072 + 3072), 3606752256)
        # BERT: words, positions and token types with a norm; a transform of the head with its norm and bias.
        around = (30522 + 512 + 2) * 1024 + 2 * 1024 + (1024 * 1024 + 1024) + 2 * 1024 + 30522
        self.assertEqual(self.whole("bert-large", around), 335174458)

    def test_experts_count_with_their_router(self):
        # Attention 2 * 1024 * 1024 + 2 * 1024 * 512, experts 8 * (3 * 1024 * 3584 + 1024), norms 2 * 1024.
        self.assertEqual(catalogue.find("mixtral-small").layer_parameters, 3145728 + 88088576 + 2048)


class Files(unittest.TestCase):
    def test_a_configuration_is_read_with_its_layers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "my-model" / "config.json"
            path.parent.mkdir()
            path.write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 8,
                                        "num_attention_heads": 2, "intermediate_size": 16}))
            for name in (f"hf:{path}", str(path.parent)):
                found = catalogue.find(name)
                self.assertEqual((found.name, found.layers, found.layers_path), ("my-model", 3, "model.layers"))
                # 4 * 8 * 8 of attention, 3 * 8 * 16 of the network, 2 * 8 of norms.
                self.assertEqual(found.layer_parameters, 656)

    def test_a_file_that_is_no_configuration_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text("[]")
            self.assertIsNone(catalogue.find(str(path)))

    def test_the_key_of_layers_is_the_configuration_s_own(self):
        self.assertEqual(catalogue.count_key({"n_layer": 2}), "n_layer")
        self.assertEqual(catalogue.count_key({"num_hidden_layers": 2}), "num_hidden_layers")


if __name__ == "__main__":
    unittest.main()
