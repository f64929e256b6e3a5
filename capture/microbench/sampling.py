"""The sequence of operators to measure: row i depends only on the seed and i."""

import collections
import dataclasses
import random

from microbench import (draw, operator_text, sampling_layers as layers, sampling_matrix as matrix,
                        sampling_memory as memory)

# Kind to its share of the rows by weight and the function that draws one.
SAMPLERS = {
    "gemm": (25, matrix.gemm), "bgemm": (8, matrix.bgemm), "groupedgemm": (2.5, matrix.groupedgemm),
    "attention": (6, matrix.attention), "conv": (25, matrix.conv),
    "elementwise": (6, memory.elementwise), "copy": (4, memory.copy), "fill": (0.8, memory.fill),
    "reduce": (6, memory.reduce), "embedding": (3, layers.embedding),
    "embeddingbag": (3, layers.embeddingbag), "layernorm": (2.5, layers.layernorm),
    "rmsnorm": (2.5, layers.rmsnorm), "batchnorm": (4, layers.batchnorm),
    "softmax": (2.5, layers.softmax), "nll": (1.5, layers.nll),
    "crossentropy": (1.5, layers.crossentropy), "optimizer": (3, layers.optimizer),
    "foreach": (1.5, layers.foreach), "gradnorm": (1, layers.gradnorm),
    "conv1d": (2.5, matrix.conv1d), "dropout": (0.8, layers.dropout), "cat": (3, memory.cat),
    "transpose": (1.5, memory.transpose), "tril": (1, memory.tril), "index": (1.5, memory.index),
    "scatter": (0.7, memory.scatter), "sort": (0.7, memory.sort), "cumsum": (1, memory.cumsum),
    "topk": (1, memory.topk), "memcpy": (1, memory.memcpy), "rope": (0.8, layers.rope),
    "moepermute": (0.6, layers.moepermute), "maxpool": (1.5, layers.maxpool),
    "avgpool": (1.5, layers.avgpool), "upsample": (1.2, layers.upsample),
    "quantize": (0.6, layers.quantize), "arange": (0.4, memory.arange), "rnn": (1.5, layers.rnn),
    "groupnorm": (1.5, layers.groupnorm), "loss": (1.2, layers.loss),
    # Compiled for each shape, which takes seconds: drawn where they are asked for.
    "triton": (0, memory.triton), "flex": (0, matrix.flex),
    # Shapes beyond those that the others draw.
    "fewchannels": (0, matrix.conv_of_few_channels), "manyrows": (0, layers.layernorm_of_many_rows),
}
_MOST_MISSES = 50_000
_WEIGHTS = {kind: share for kind, (share, _) in SAMPLERS.items()}


@dataclasses.dataclass
class Sample:
    """An operator to measure, and what its text leaves open (exact shapes, layouts)."""

    operator: object
    detail: dict
    number: int
    text: str


def sample(seed, number, shares=None):
    """Draws row `number` of the sequence `seed`; `shares` of kinds in place of the usual ones."""
    rng = random.Random(f"orrery {seed} {number}")
    kind = draw.weighted(rng, shares or _WEIGHTS)
    return _draw(kind, rng, number)


def sample_of_kind(seed, number, kind):
    """Draws row `number` of a sequence of one kind, for the smoke run."""
    return _draw(kind, random.Random(f"orrery {seed} {kind} {number}"), number)


def _draw(kind, rng, number):
    operator, detail = SAMPLERS[kind][1](rng)
    return Sample(operator, detail, number, operator.text())


def sequence(seed, only=None, dtypes=None, shares=None):
    """Yields the samples of a seed, those of the wanted kinds and types.

    It has no end, unless nothing wanted is drawn for a long time (a kind that has no such type).
    """
    number = last_wanted = 0
    while number - last_wanted < _MOST_MISSES:
        drawn = sample(seed, number, shares)
        if _is_wanted(drawn.operator, only, dtypes):
            last_wanted = number
            yield drawn
        number += 1


def _is_wanted(operator, only, dtypes):
    return (not only or operator.kind in only) and (not dtypes or operator.dtype in dtypes)


_ROWS_A_GROUP = 3
_DRAWS_A_KIND = 400
_LONGEST_OPERATOR_S = 0.004
_LARGEST_OPERATOR_BYTES = 2e9
# Kind to the key whose values are told apart, besides the pass.
_VARIANT_KEYS = {"attention": "backend", "optimizer": "fn", "foreach": "fn", "reduce": "fn",
                 "memcpy": "dir", "copy": "mode", "rnn": "fn", "loss": "fn", "triton": "fn"}


def group_of(sample):
    """Names the group a sample is counted under."""
    operator = sample.operator
    words = [operator.kind, operator.keys.get("pass", "")]
    if operator.kind in _VARIANT_KEYS:
        words.append(str(operator[_VARIANT_KEYS[operator.kind]]))
        if operator.keys.get("window"):
            words.append("window")
    if operator.kind in ("gemm", "bgemm", "conv"):
        words.append(operator.dtype)
    if operator.kind == "elementwise":
        words.append(sample.detail["form"])
    return " ".join(word for word in words if word)


def smoke_plan(seed, only=None, dtypes=None):
    """Draws up to three small samples of every group."""
    samples_of_group = collections.defaultdict(list)
    for kind in SAMPLERS:
        if only and kind not in only:
            continue
        for number in range(_DRAWS_A_KIND):
            drawn = sample_of_kind(seed, number, kind)
            chosen = samples_of_group[group_of(drawn)]
            if len(chosen) < _ROWS_A_GROUP and _is_small(drawn, dtypes):
                chosen.append(drawn)
    return {group: chosen for group, chosen in samples_of_group.items() if chosen}


def _is_small(sample, dtypes):
    if dtypes and sample.operator.dtype not in dtypes:
        return False
    return (operator_text.seconds(sample.operator) < _LONGEST_OPERATOR_S
            and operator_text.cost(sample.operator)[1] < _LARGEST_OPERATOR_BYTES)
