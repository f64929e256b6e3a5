"""Tensor and sequence parallelism of a decoder like Llama, by PyTorch's own API."""

try:
    from torch.distributed.tensor import Replicate, Shard
except ImportError:  # PyTorch 2.4 and older
    from torch.distributed._tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,
                                               SequenceParallel, loss_parallel, parallelize_module)

__all__ = ["apply", "loss_parallel"]


def apply(decoder, mesh, plan):
    """Splits projections by heads and columns, and the vocabulary of embedding and head. With sequence parallelism
    norms and residuals hold a part of each sequence."""
    tensor_mesh = mesh["tp"]
    ends = _ends(plan.sequence_parallel)
    present = {name: style for name, style in ends.items() if getattr(decoder, name) is not None}
    parallelize_module(decoder, tensor_mesh, present)
    for layer in decoder.layers:
        parallelize_module(layer, tensor_mesh, _layer(plan.sequence_parallel))
        _fewer_heads(layer.self_attn, plan.tp)


def _ends(sequence_parallel):
    between = Shard(1) if sequence_parallel else Replicate()
    styles = {"embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
              "head": ColwiseParallel(input_layouts=between, output_layouts=Shard(-1), use_local_output=False)}
    return styles | ({"norm": SequenceParallel()} if sequence_parallel else {})


def _layer(sequence_parallel):
    styles = {f"self_attn.{name}_proj": ColwiseParallel() for name in "qkv"}
    styles |= {f"mlp.{name}_proj": ColwiseParallel() for name in ("gate", "up")}
    if not sequence_parallel:
        return styles | {"self_attn.o_proj": RowwiseParallel(), "mlp.down_proj": RowwiseParallel()}
    return styles | {
        "input_layernorm": SequenceParallel(),
        "self_attn": PrepareModuleInput(input_kwarg_layouts={"hidden_states": Shard(1)},
                                        desired_input_kwarg_layouts={"hidden_states": Replicate()}),
        "self_attn.o_proj": RowwiseParallel(output_layouts=Shard(1)),
        "post_attention_layernorm": SequenceParallel(),
        "mlp": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "mlp.down_proj": RowwiseParallel(output_layouts=Shard(1))}


def _fewer_heads(attention, parts):
    # Older versions of Hugging Face reshape by these numbers, newer ones by the size of a head.
    for name in ("num_heads", "num_key_value_heads", "hidden_size"):
        if hasattr(attention, name):
            setattr(attention, name, getattr(attention, name) // parts)
