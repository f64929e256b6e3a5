"""FSDP2: parameters, gradients and the optimizer's state of each layer are spread over the data-parallel ranks."""

import torch
from torch import nn

try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:  # PyTorch 2.5 and older
    from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard


def apply(model, layers, mesh, settings):
    """Shards each layer, then what is left of the model as one unit, as PyTorch's own examples do."""
    options = {"mesh": mesh["dp"]}
    if settings.autocast:
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=settings.computed_type(), reduce_dtype=torch.float32)
    for unit in layers or _children(model):
        fully_shard(unit, **options)
    fully_shard(model, **options)


def _children(model):
    units = []
    for child in model.children():
        units += list(child.children()) if isinstance(child, nn.ModuleList) else [child]
    return [unit for unit in units if next(unit.parameters(), None) is not None]
