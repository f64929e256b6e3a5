"""Says, before PyTorch is loaded, whether a plan can be laid over a model."""

from .refusal import Refusal

# Kinds of Hugging Face models whose projections have the names of tensor_parallel.py.
SPLIT_KINDS = ("llama", "mistral", "qwen2", "qwen3")


def check(description, plan, settings):
    """Raises Refusal with the reason where the model cannot be spread like that."""
    if plan.pp > 1 and description.trunk is None:
        raise Refusal(f"{description.name} cannot be cut into stages: pipelines are for decoders like gpt2 and llama")
    if plan.pp > 1 and settings.accumulation > 1:
        raise Refusal("a pipeline accumulates over its micro-batches: say --microbatches, not --accumulation")
    if plan.tp > 1:
        _check_split(description, plan, settings)


def _check_split(description, plan, settings):
    kind = description.config.get("model_type", "")
    if kind == "gpt2":
        raise Refusal("GPT-2 of Hugging Face is made of Conv1D, which PyTorch's tensor parallelism does not split: "
                      "take a llama, or --pp, --fsdp or --ddp")
    if kind not in SPLIT_KINDS:
        raise Refusal(f"{description.name} cannot be split by tensor parallelism: {', '.join(SPLIT_KINDS)} can")
    config = description.config
    heads = config["num_attention_heads"]
    for name, count in (("heads", heads), ("key-value heads", config.get("num_key_value_heads") or heads)):
        if count % plan.tp:
            raise Refusal(f"{count} {name} of {description.name} do not divide over {plan.tp} ranks")
    if plan.sequence_parallel and settings.sequence % plan.tp:
        raise Refusal(f"a sequence of {settings.sequence} does not divide over {plan.tp} ranks")
