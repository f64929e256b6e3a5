"""Marks the forward pass of each layer in the recording: `layer#I`."""

import torch


def attach(layers, first=0):
    """Puts a range around each layer's call; outside of a recording it costs two calls that do nothing. To be
    called after FSDP's own hooks are in place, so that gathering a layer belongs to the layer."""
    for index, layer in enumerate(layers, first):
        marker = _Marker(f"layer#{index}")
        layer.register_forward_pre_hook(marker.enter, prepend=True)
        layer.register_forward_hook(marker.leave)


class _Marker:
    def __init__(self, name):
        self._name = name
        self._open = []

    def enter(self, module, inputs):
        if torch._C._autograd._profiler_enabled():
            self._open.append(torch.profiler.record_function(self._name))
            self._open[-1].__enter__()

    def leave(self, module, inputs, output):
        if self._open:
            self._open.pop().__exit__(None, None, None)
