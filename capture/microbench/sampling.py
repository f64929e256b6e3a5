"""The sequence of operators to measure: row i depends only on the seed and i."""

import dataclasses
import random

from microbench import draw
from microbench import sampling_layers as layers
from microbench import sampling_matrix as matrix
from microbench import sampling_memory as memory

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
    "quantize": (0.6, layers.quantize), "arange": (0.4, memory.arange),
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
