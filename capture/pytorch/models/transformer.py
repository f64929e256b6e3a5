"""Hugging Face transformers with random weights; nothing is downloaded."""

from . import catalogue

_CLASSES = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "bert": "BertForMaskedLM",
            "opt": "OPTForCausalLM", "mixtral": "MixtralForCausalLM"}
IGNORED = -100  # label that the loss leaves out


def make(description, layers):
    """Returns the model with so many layers, on PyTorch's current device and in its default type."""
    import transformers
    transformers.logging.set_verbosity_error()
    config = _configuration(transformers, description.config, layers)
    kind = description.config["model_type"]
    if kind in _CLASSES:
        return getattr(transformers, _CLASSES[kind])(config)
    return transformers.AutoModelForCausalLM.from_config(config)


def batch(description, settings, device):
    """Returns random tokens, which are their own labels."""
    import torch
    generator = torch.Generator(device=device).manual_seed(settings.seed)
    words = vocabulary(description)
    ids = torch.randint(0, words, (settings.micro_batch, settings.sequence), device=device, generator=generator)
    return {"input_ids": ids, "labels": ids}


def loss(model, fields):
    """Calls the model as its own training examples do."""
    return model(**fields).loss


def vocabulary(description):
    """Returns the number of tokens of the configuration or of its class."""
    known = description.config.get("vocab_size")
    return known if known else {"gpt2": 50257, "bert": 30522}.get(description.config["model_type"], 32000)


def _configuration(transformers, values, layers):
    values = {key: value for key, value in values.items() if key not in ("architectures", "transformers_version")}
    if layers:
        values[catalogue.count_key(values)] = layers
        if "layer_types" in values:
            values["layer_types"] = values["layer_types"][:layers]
    return transformers.AutoConfig.for_model(values.pop("model_type"), **values)
