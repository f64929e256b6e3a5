"""The same job for `orrery simulate`, where its generator has such a model."""

# key of job.yaml: keys of a Hugging Face configuration, the first that is there
_KEYS = {"hidden": ("hidden_size", "n_embd"), "layers": ("num_hidden_layers", "n_layer"),
         "heads": ("num_attention_heads", "n_head"), "kv_heads": ("num_key_value_heads",), "head_size": ("head_dim",),
         "ffn": ("intermediate_size", "ffn_dim", "n_inner"), "vocabulary": ("vocab_size",),
         "experts": ("num_local_experts",), "experts_per_token": ("num_experts_per_tok",),
         "dropout": ("hidden_dropout_prob", "resid_pdrop", "dropout"),
         "attention_dropout": ("attention_probs_dropout_prob", "attn_pdrop", "attention_dropout"),
         "tied": ("tie_word_embeddings",)}
_LEARNED_POSITIONS = {"gpt2": (1024, 50257), "bert": (512, 30522), "opt": (2048, 50272)}
_GPT2_LIKE = ("gpt2", "bert", "opt")


def text(description, plan, settings, device_name):
    """Returns the file's text, None for a model that the generator does not have."""
    if description.family is None or (plan.pp > 1 and description.source != "transformers"):
        return None
    lines = [f"# Written by orrery trace: the job that was traced on {device_name}.",
             f"name: {description.name}",
             f"model: {_model(description)}",
             f"training: {_mapping(_training(plan, settings))}",
             f"plan: {_mapping(_plan(plan))}",
             f"gpu: {_gpu(device_name)}",
             f"gpus: {plan.world}",
             f"framework: {_mapping(_framework(plan, description, device_name))}"]
    return "\n".join(lines) + "\n"


def _model(description):
    if description.source == "transformers":
        return _mapping(_transformer(description))
    if description.source == "torchvision":
        return description.family
    return _mapping({"dlrm": _dlrm(description.config)})


def _transformer(description):
    config, family = description.config, description.family
    keys = {"name": description.name, "family": family}
    for key, names in _KEYS.items():
        value = next((config[name] for name in names if config.get(name) is not None), None)
        if value is not None:
            keys[key] = value
    if family in _GPT2_LIKE:
        positions, words = _LEARNED_POSITIONS[family]
        keys.setdefault("vocabulary", words)
        if family == "gpt2":
            keys["activation"] = "written_out_gelu"
        keys["positions"] = config.get("max_position_embeddings", config.get("n_positions", positions))
    return keys


def _dlrm(config):
    return {"dense_features": config["dense"], "bottom": config["bottom"], "top": config["top"],
            "tables": [{"rows": config["rows"], "dim": config["dim"], "pool": config["pool"]}] * config["tables"]}


def _training(plan, settings):
    passes = settings.accumulation * plan.microbatches
    keys = {"micro_batch": settings.micro_batch, "global_batch": settings.micro_batch * passes * plan.dp,
            "precision": settings.precision, "optimizer": {"adamw": "adam"}.get(settings.optimizer, settings.optimizer)}
    if settings.sequence:
        keys = {"sequence": settings.sequence, **keys}
    if settings.precision != "fp32" and not settings.autocast:
        keys |= {"gradient_bytes": 2, "gathered_bytes": 2, "has_master": False, "moment_bytes": 2}
    return keys


def _plan(plan):
    keys = {"tp": plan.tp, "pp": plan.pp, "dp": plan.dp}
    if plan.sequence_parallel:
        keys["sequence_parallel"] = True
    if plan.pp > 1:
        keys["schedule"] = plan.schedule
        keys["layers_per_stage"] = [end - first for first, end in map(plan.layers_of, range(plan.pp))]
    if plan.sharding == "full":
        keys["sharding"] = "fsdp"
    return keys


def _framework(plan, description, device_name):
    # Traced as PyTorch runs it by itself: not compiled, attention by its own kernels.
    keys = {"name": "torch-fsdp", "is_compiled": False, "copies_shards": True} if plan.sharding == "full" else {"name": "pytorch"}
    keys["attention"] = "flash" if _runs_cudnn_attention(device_name) else "flash2"
    if description.source == "transformers":
        keys["has_unfused_layers"] = True
    return keys


def _runs_cudnn_attention(device_name):
    # PyTorch prefers it to its own flash kernels on Hopper and later.
    return any(name in device_name for name in ("H100", "H200", "H800", "H20", "B200", "B300"))


def _gpu(device_name):
    return device_name.removeprefix("NVIDIA ").removeprefix("AMD ")


def _mapping(keys):
    return "{" + ", ".join(f"{key}: {_value(value)}" for key, value in keys.items()) + "}"


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    return str(value)
