"""A decoder, or the stage of one, as a plain row of modules."""

import inspect

import torch
from torch import nn
from torch.nn import functional

IGNORED = -100  # label that the loss leaves out


class Decoder(nn.Module):
    """Layers `begin` to `end` of a Hugging Face decoder, with the embedding if they are the first and with norm and
    head if they are the last. Takes tokens or hidden states, gives hidden states or logits. Keeps no keys and
    values, has no mask besides the causal one."""

    def __init__(self, model, trunk, begin, end, computing):
        super().__init__()
        layers = model.get_submodule(trunk.layers)
        self.embedding = model.get_submodule(trunk.embedding) if begin == 0 else None
        self.positions = model.get_submodule(trunk.positions) if trunk.positions and begin == 0 else None
        self.rotary = _rotary(model, trunk)
        self.layers = nn.ModuleList(layers[begin:end])
        self.norm = model.get_submodule(trunk.norm) if end == len(layers) else None
        self.head = model.get_submodule(trunk.head) if end == len(layers) else None
        self.sequence = 0  # of the whole sample, which hidden states may have a part of
        self._computing = computing
        self._accepted = set(inspect.signature(self.layers[0].forward).parameters)

    def forward(self, states):
        with self._computing():
            positions = torch.arange(self.sequence, device=states.device).unsqueeze(0)
            if self.embedding is not None:
                states = self.embedding(states)
            if self.positions is not None:
                states = states + self.positions(positions)
            extra = self._extra(states, positions)
            for layer in self.layers:
                states = layer(states, **extra)
                states = states[0] if isinstance(states, tuple) else states
            return states if self.head is None else self.head(self.norm(states))

    def _extra(self, states, positions):
        known = {"position_ids": positions, "use_cache": False}
        if self.rotary is not None:
            known["position_embeddings"] = self.rotary(states, positions)
        return {name: value for name, value in known.items() if name in self._accepted}


def labels(ids):
    """Returns what follows each token."""
    return functional.pad(ids[:, 1:], (0, 1), value=IGNORED)


def loss(logits, wanted):
    """Returns the cross entropy in fp32, as Hugging Face's own loss has it."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=IGNORED)


def _rotary(model, trunk):
    owner, _, name = trunk.rotary.rpartition(".")
    return getattr(model.get_submodule(owner), name, None) if name else None
