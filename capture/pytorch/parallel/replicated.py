"""DistributedDataParallel over a model, with PyTorch's default buckets of 25 MB."""

import inspect

import torch
from torch.nn.parallel import DistributedDataParallel

from . import ddp_hook


def wrap(model, mesh, settings):
    """Returns the wrapped model; replicas are not compared with each other first, there is only this one."""
    group = mesh["dp"].get_group() if mesh is not None and mesh.ndim > 1 else None
    options = {"device_ids": [torch.cuda.current_device()], "process_group": group}
    if "init_sync" in inspect.signature(DistributedDataParallel.__init__).parameters:
        options["init_sync"] = False
    wrapped = DistributedDataParallel(model, **options)
    if settings.ddp_hook:
        ddp_hook.register(wrapped, group)
    return wrapped
