"""Finds a model by its name: transformers, torchvision's, recommendation models, or a configuration file."""

import json
import pathlib

from . import layer_sizes
from .description import Defaults, Description
from .transformer_shapes import SHAPES

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
