"""Builds models: on the GPU at once, or with parameters that take no memory until they are spread."""

import contextlib

import torch
from torch import nn


def on_device(description, settings, layers, device):
    """Returns the model with its own random weights."""
    with _default_type(settings.parameter_type()), torch.device(device):
        model = description.torch_side().make(description, layers)
    model = model.to(device=device, dtype=settings.parameter_type())
    return model.to(memory_format=torch.channels_last) if settings.channels_last else model


def without_parameters(description, settings, layers, device):
    """Returns the model with buffers on the device and parameters on the meta device: see materialise()."""
    with _default_type(settings.parameter_type()), torch.device(device), _parameters_on_meta():
        model = description.torch_side().make(description, layers)
    return model.to(dtype=settings.parameter_type())


def materialise(model, device, seed):
    """Allocates the parameters, or the shards that are left of them, and fills them with random numbers."""
    tied = _tied(model)
    model._apply(lambda tensor: torch.empty_like(tensor, device=device) if tensor.device.type == "meta" else tensor)
    for places in tied:
        first, name = places[0]
        for module, other in places[1:]:
            module._parameters[other] = first._parameters[name]
    _fill(model, device, seed)
    return model


def count(model):
    """Returns the elements of all parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


@contextlib.contextmanager
def _default_type(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def _parameters_on_meta():
    register = nn.Module.register_parameter

    def register_on_meta(module, name, parameter):
        register(module, name, parameter)
        if parameter is not None and parameter.device.type != "meta":
            module._parameters[name] = nn.Parameter(parameter.detach().to("meta"), parameter.requires_grad)

    nn.Module.register_parameter = register_on_meta
    try:
        yield
    finally:
        nn.Module.register_parameter = register


def _tied(model):
    places = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                places.setdefault(id(parameter), []).append((module, name))
    return [each for each in places.values() if len(each) > 1]


@torch.no_grad()
def _fill(model, device, seed):
    generator = torch.Generator(device=device).manual_seed(seed)
    for name, parameter in model.named_parameters():
        local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
        if parameter.dim() > 1:
            local.normal_(0.0, 0.02, generator=generator)
        else:
            local.fill_(0.0 if name.endswith("bias") else 1.0)
