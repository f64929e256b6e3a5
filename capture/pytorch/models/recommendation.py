"""Recommendation models in plain PyTorch: DLRM, neural collaborative filtering, DeepFM."""

import torch
from torch import nn
from torch.nn import functional


def make(description, layers):
    """Returns the model on PyTorch's current device; it has no layers that could be left out."""
    del layers
    kinds = {"dlrm": Dlrm, "ncf": Ncf, "deepfm": DeepFm}
    return kinds[description.config["kind"]](description.config)


def batch(description, settings, device):
    """Returns what the model takes, and whether each sample was clicked."""
    config = description.config
    generator = torch.Generator(device=device).manual_seed(settings.seed)
    draws = {"dlrm": _dlrm_inputs, "ncf": _ncf_inputs, "deepfm": _deepfm_inputs}
    inputs = draws[config["kind"]](config, settings.micro_batch, device, generator)
    clicked = torch.randint(0, 2, (settings.micro_batch,), device=device, generator=generator).float()
    return {"inputs": inputs, "clicked": clicked}


def loss(model, fields):
    """Returns the binary cross entropy of the scores."""
    return functional.binary_cross_entropy_with_logits(model(*fields["inputs"]), fields["clicked"])


class Dlrm(nn.Module):
    """Dense features through one network, tables looked up, all pairs multiplied, a second network."""

    def __init__(self, config):
        super().__init__()
        tables, dim = config["tables"], config["dim"]
        self.bottom = _network(config["dense"], config["bottom"], ends_with_relu=True)
        self.tables = nn.ModuleList(nn.EmbeddingBag(config["rows"], dim, mode="sum") for _ in range(tables))
        pairs = (tables + 1) * tables // 2
        self.top = _network(pairs + dim, config["top"], ends_with_relu=False)
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, offset=-1), persistent=False)

    def forward(self, dense, *indices_and_offsets):
        dense = self.bottom(dense)
        indices, offsets = indices_and_offsets[:-1], indices_and_offsets[-1]
        looked_up = [table(each, offsets) for table, each in zip(self.tables, indices)]
        features = torch.stack([dense, *looked_up], dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        crossed = products[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([dense, crossed], dim=1)).squeeze(1)


class Ncf(nn.Module):
    """Users and items: a product of embeddings beside a network over others, one score of both."""

    def __init__(self, config):
        super().__init__()
        wide = config["layers"][0] // 2
        self.user_factors = nn.Embedding(config["users"], config["dim"])
        self.item_factors = nn.Embedding(config["items"], config["dim"])
        self.user_features = nn.Embedding(config["users"], wide)
        self.item_features = nn.Embedding(config["items"], wide)
        self.network = _network(2 * wide, config["layers"][1:], ends_with_relu=True)
        self.score = nn.Linear(config["dim"] + config["layers"][-1], 1)

    def forward(self, users, items):
        factors = self.user_factors(users) * self.item_factors(items)
        features = torch.cat([self.user_features(users), self.item_features(items)], dim=1)
        return self.score(torch.cat([factors, self.network(features)], dim=1)).squeeze(1)


class DeepFm(nn.Module):
    """A factorisation machine and a network over the same embeddings, summed."""

    def __init__(self, config):
        super().__init__()
        tables, dim = config["tables"], config["dim"]
        self.weights = nn.ModuleList(nn.Embedding(config["rows"], 1) for _ in range(tables))
        self.factors = nn.ModuleList(nn.Embedding(config["rows"], dim) for _ in range(tables))
        self.dense = nn.Linear(config["dense"], 1)
        self.network = _network(config["dense"] + tables * dim, [*config["layers"], 1], ends_with_relu=False)

    def forward(self, dense, *columns):
        first = self.dense(dense) + sum(table(each) for table, each in zip(self.weights, columns))
        factors = torch.stack([table(each) for table, each in zip(self.factors, columns)], dim=1)
        square_of_sum = factors.sum(dim=1).square()
        second = 0.5 * (square_of_sum - factors.square().sum(dim=1)).sum(dim=1, keepdim=True)
        deep = self.network(torch.cat([dense, factors.flatten(1)], dim=1))
        return (first + second + deep).squeeze(1)


def _network(inputs, widths, ends_with_relu):
    layers = []
    for width in widths:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*(layers if ends_with_relu else layers[:-1]))


def _dlrm_inputs(config, samples, device, generator):
    dense = torch.randn(samples, config["dense"], device=device, generator=generator)
    indices = [torch.randint(0, config["rows"], (samples * config["pool"],), device=device, generator=generator)
               for _ in range(config["tables"])]
    return dense, *indices, torch.arange(0, samples * config["pool"], config["pool"], device=device)


def _ncf_inputs(config, samples, device, generator):
    return tuple(torch.randint(0, config[which], (samples,), device=device, generator=generator)
                 for which in ("users", "items"))


def _deepfm_inputs(config, samples, device, generator):
    dense = torch.randn(samples, config["dense"], device=device, generator=generator)
    columns = [torch.randint(0, config["rows"], (samples,), device=device, generator=generator)
               for _ in range(config["tables"])]
    return dense, *columns
