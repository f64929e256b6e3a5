"""Models that can be traced by name: Hugging Face transformers, torchvision, recommendation models, or a configuration file. Needs no PyTorch."""

import dataclasses
import importlib
import json
import pathlib


@dataclasses.dataclass(frozen=True)
class Defaults:
    """The default settings to train a model; those of truth/h200_steps.csv if it has the model."""

    batch: int
    sequence: int = 0  # 0: the model has none
    precision: str = "bf16"
    autocast: bool = False  # parameters stay fp32, products are narrow
    channels_last: bool = False


@dataclasses.dataclass(frozen=True)
class Trunk:
    """Paths of a decoder's parts, so that stages can be cut out of it and called one layer after the other."""

    embedding: str
    layers: str
    norm: str
    head: str
    positions: str = ""  # learned ones
    rotary: str = ""
    linear: bool = True  # its products are nn.Linear, which PyTorch's tensor parallelism can split


@dataclasses.dataclass(frozen=True)
class Description:
    """A model: how it is built, and how `simulate` calls it."""

    name: str
    source: str  # transformers, torchvision, built-in
    maker: str  # module of this package that builds it with PyTorch
    config: dict
    defaults: Defaults
    layers: int = 0  # of those that are alike; 0: none are
    layer_parameters: int = 0
    layers_path: str = ""  # their path in the model
    trunk: Trunk | None = None
    family: str | None = None  # of job.yaml; None: the generator has no such model

    def torch_side(self):
        """Loads the module that has make(), batch() and loss() for it; needs PyTorch."""
        return importlib.import_module("." + self.maker, __package__)


_ROTARY = Trunk(embedding="model.embed_tokens", layers="model.layers", norm="model.norm", head="lm_head",
                rotary="model.rotary_emb")
_GPT2 = Trunk(embedding="transformer.wte", layers="transformer.h", norm="transformer.ln_f", head="lm_head",
              positions="transformer.wpe", linear=False)
TRUNKS = {"gpt2": _GPT2, "llama": _ROTARY, "mistral": _ROTARY, "qwen2": _ROTARY, "qwen3": _ROTARY,
          "mixtral": _ROTARY}
_PATHS = {"bert": "bert.encoder.layer", "opt": "model.decoder.layers", "gpt_neox": "gpt_neox.layers"}


def layer_count(config):
    """Returns the number of layers that are alike, 0 where the configuration does not say."""
    return int(config.get("num_hidden_layers", config.get("n_layer", 0)))


def count_key(config):
    """Returns the configuration's name of that number."""
    return "n_layer" if "n_layer" in config else "num_hidden_layers"


def layers_path(config):
    """Returns where the list of layers is; "": to be looked for in the model."""
    kind = config.get("model_type", "")
    return TRUNKS[kind].layers if kind in TRUNKS else _PATHS.get(kind, "")


def layer_parameters(config):
    """Returns the parameters of one layer; 0 for a kind that is not known."""
    counts = {"gpt2": _gpt2_parameters, "bert": _biased_parameters, "opt": _biased_parameters, "llama": _gated_parameters, "mistral": _gated_parameters,
              "mixtral": _experts_parameters}
    count = counts.get(config.get("model_type"))
    return count(config) if count else 0


def _gpt2_parameters(config):
    hidden = config.get("n_embd", 768)
    inner = config.get("n_inner") or 4 * hidden
    return _attention_with_bias(hidden) + _two_matrices_with_bias(hidden, inner) + 4 * hidden


def _biased_parameters(config):
    hidden = config["hidden_size"]
    inner = config.get("intermediate_size", config.get("ffn_dim"))
    return _attention_with_bias(hidden) + _two_matrices_with_bias(hidden, inner) + 4 * hidden


def _gated_parameters(config):
    hidden = config["hidden_size"]
    return _grouped_attention(config) + 3 * hidden * config["intermediate_size"] + 2 * hidden


def _experts_parameters(config):
    hidden, experts = config["hidden_size"], config["num_local_experts"]
    one = 3 * hidden * config["intermediate_size"]
    return _grouped_attention(config) + experts * (one + hidden) + 2 * hidden


def _attention_with_bias(hidden):
    return 4 * (hidden * hidden + hidden)


def _two_matrices_with_bias(hidden, inner):
    return 2 * hidden * inner + inner + hidden


def _grouped_attention(config):
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    size = config.get("head_dim") or hidden // heads
    pairs = config.get("num_key_value_heads") or heads
    return 2 * hidden * heads * size + 2 * hidden * pairs * size


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
                       layers=layer_count(config),
                       layer_parameters=layer_parameters(config),
                       layers_path=layers_path(config), trunk=TRUNKS.get(kind),
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
