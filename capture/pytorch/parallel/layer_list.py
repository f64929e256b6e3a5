"""Finds the layers that are alike in a model that was built."""

from torch import nn


def find(model, description, layers):
    """Returns them as a list, empty where the model has none."""
    if not description.layers:
        return []
    if description.layers_path:
        return list(model.get_submodule(description.layers_path))
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == layers]
    return list(lists[0]) if lists else []
