"""Finds a model by its name: Hugging Face transformers, torchvision, recommendation models, or a configuration file."""

import json
import pathlib

from . import layer_sizes
from .description import Defaults, Description

_NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


def _gpt2(layers, hidden, heads, batch):
    config = {"model_type": "gpt2", "n_layer": layers, "n_embd": hidden, "n_head": heads, **_NO_DROPOUT}
    return config, Defaults(batch=batch, sequence=1024)


def _llama(layers, hidden, ffn, heads, batch, sequence=2048):
    # Embedding and head are two matrices here, as in the measured rows; those of Llama 3.2 are one.
    config = {"model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": ffn,
              "num_attention_heads": heads, "num_key_value_heads": 8, "vocab_size": 128256,
              "max_position_embeddings": 8192, "tie_word_embeddings": False}
    return config, Defaults(batch=batch, sequence=sequence)


def _bert(layers, hidden, heads, dropout, batch):
    config = {"model_type": "bert", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
              "intermediate_size": 4 * hidden, "hidden_dropout_prob": dropout,
              "attention_probs_dropout_prob": dropout}
    return config, Defaults(batch=batch, sequence=512)


def _opt_350m():
    config = {"model_type": "opt", "num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
              "ffn_dim": 4096, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 512,
              "do_layer_norm_before": False, "dropout": 0.0, "attention_dropout": 0.0}
    return config, Defaults(batch=8, sequence=1024)


def _mixtral_small():
    config = {"model_type": "mixtral", "num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 3584,
              "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
              "num_experts_per_tok": 2, "max_position_embeddings": 4096, "tie_word_embeddings": False}
    return config, Defaults(batch=4, sequence=2048)


SHAPES = {
    "gpt2": _gpt2(12, 768, 12, batch=4),
    "gpt2-medium": _gpt2(24, 1024, 16, batch=8),
    "gpt2-large": _gpt2(36, 1280, 20, batch=4),
    "gpt2-xl": _gpt2(48, 1600, 25, batch=8),
    "llama-1b": _llama(16, 2048, 8192, 32, batch=4),
    "llama-3b": _llama(28, 3072, 8192, 24, batch=2),
    "llama-8b": _llama(32, 4096, 14336, 32, batch=1),
    "llama-8b-slice": _llama(8, 4096, 14336, 32, batch=2),
    "bert-base": _bert(12, 768, 12, dropout=0.0, batch=32),
    "bert-large": _bert(24, 1024, 16, dropout=0.1, batch=16),
    "opt-350m": _opt_350m(),
    "mixtral-small": _mixtral_small(),
}


_FAMILIES = {"gpt2": "gpt2", "llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
             "mixtral": "llama", "bert": "bert", "opt": "opt"}
# torchvision's name: what the generator calls it, batch
_VISION = {"resnet18": (None, 64), "resnet34": (None, 64), "resnet50": ("resnet50", 64),
           "resnet152": ("resnet152", 64), "vgg16": ("vgg16", 64), "vgg19": ("vgg19", 64),
           "vit_b_16": ("vit-b16", 64), "alexnet": ("alexnet", 256), "mobilenet_v3_large": (None, 128),
           "inception_v3": ("inception-v3", 64)}
_VIT_B_LAYER = 4 * (768 * 768 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768
_RECOMMENDATION = {
    "dlrm": ({"kind": "dlrm", "dense": 13, "tables": 26, "rows": 200000, "dim": 64, "pool": 10,
              "bottom": [512, 256, 64], "top": [1024, 1024, 512, 256, 1]}, 2048),
    "dlrm-small": ({"kind": "dlrm", "dense": 13, "tables": 8, "rows": 100000, "dim": 32, "pool": 20,
                    "bottom": [512, 256, 32], "top": [1024, 1024, 512, 256, 1]}, 512),
    "ncf": ({"kind": "ncf", "users": 138493, "items": 26744, "dim": 64, "layers": [256, 256, 128, 64]}, 65536),
    "deepfm": ({"kind": "deepfm", "dense": 13, "tables": 26, "rows": 200000, "dim": 16,
                "layers": [400, 400, 400]}, 4096),
}


def names():
    """Returns the names that need no file, in the order in which they are listed."""
    return list(SHAPES) + list(_VISION) + list(_RECOMMENDATION)


def find(name):
    """Returns the description of a model, None where nothing has that name."""
    name = {"gpt2-small": "gpt2", "vit-b": "vit_b_16"}.get(name, name)
    if name in SHAPES:
        return _transformer(name, *SHAPES[name])
    if name in _RECOMMENDATION:
        return _recommendation(name)
    if name.startswith("torchvision:"):
        return _vision(name.removeprefix("torchvision:"))
    if name in _VISION or _torchvision_has(name):
        return _vision(name)
    return _from_file(name.removeprefix("hf:"))


def _transformer(name, config, defaults):
    kind = config.get("model_type", "")
    return Description(name=name, source="transformers", maker="transformer", config=config, defaults=defaults,
                       layers=layer_sizes.layer_count(config),
                       layer_parameters=layer_sizes.layer_parameters(config),
                       layers_path=layer_sizes.layers_path(config), trunk=layer_sizes.TRUNKS.get(kind),
                       family=_FAMILIES.get(kind))


def _vision(name):
    family, batch = _VISION.get(name, (None, 64))
    size = 299 if name == "inception_v3" else 224
    is_vit = name == "vit_b_16"
    return Description(name=name, source="torchvision", maker="vision", config={"model": name, "size": size},
                       defaults=Defaults(batch=batch, autocast=True, channels_last=True), family=family,
                       layers=12 if is_vit else 0, layer_parameters=_VIT_B_LAYER if is_vit else 0,
                       layers_path="encoder.layers" if is_vit else "")


def _recommendation(name):
    config, batch = _RECOMMENDATION[name]
    return Description(name=name, source="built-in", maker="recommendation", config=config,
                       defaults=Defaults(batch=batch, precision="fp32"),
                       family="dlrm" if config["kind"] == "dlrm" else None)


def _torchvision_has(name):
    try:
        from torchvision import models
    except ImportError:
        return False
    return name in models.list_models(module=models)


def _from_file(place):
    path = pathlib.Path(place)
    path = path / "config.json" if path.is_dir() else path
    if path.suffix != ".json" or not path.is_file():
        return None
    config = json.loads(path.read_text())
    if not isinstance(config, dict) or "model_type" not in config:
        return None
    name = path.parent.name if path.name == "config.json" else path.stem
    most = config.get("max_position_embeddings", config.get("n_positions", 2048))
    return _transformer(name, config, Defaults(batch=1, sequence=min(2048, int(most))))
