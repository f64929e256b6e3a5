"""Layers of a Hugging Face configuration: how many, where, of how many parameters."""

from .description import Trunk

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
    counts = {"gpt2": _gpt2, "bert": _biased, "opt": _biased, "llama": _gated, "mistral": _gated,
              "mixtral": _experts}
    count = counts.get(config.get("model_type"))
    return count(config) if count else 0


def _gpt2(config):
    hidden = config.get("n_embd", 768)
    inner = config.get("n_inner") or 4 * hidden
    return _attention_with_bias(hidden) + _two_matrices_with_bias(hidden, inner) + 4 * hidden


def _biased(config):
    hidden = config["hidden_size"]
    inner = config.get("intermediate_size", config.get("ffn_dim"))
    return _attention_with_bias(hidden) + _two_matrices_with_bias(hidden, inner) + 4 * hidden


def _gated(config):
    hidden = config["hidden_size"]
    return _grouped_attention(config) + 3 * hidden * config["intermediate_size"] + 2 * hidden


def _experts(config):
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
