"""The optimizer of a traced step."""

import torch


def make(model, settings):
    """Returns fused AdamW, or SGD with momentum. Parameters on different meshes are groups of their own, since one
    fused call cannot mix them."""
    groups = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            groups.setdefault(getattr(parameter, "device_mesh", None), []).append(parameter)
    parts = [{"params": parameters} for parameters in groups.values()]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(parts, lr=1e-3, momentum=0.9)
    return torch.optim.AdamW(parts, lr=1e-4, fused=True)
