"""Draws the compute side: operators of PyTorch and kernels of our own, by seed and number alone."""

import dataclasses
import random

from microbench import estimate, sampling
from overlap.device_library import STAMPED_KINDS, Stamped

_SHARES = {"gemm": 26, "bgemm": 4, "attention": 9, "conv": 4, "layernorm": 6, "rmsnorm": 5,
           "softmax": 4, "crossentropy": 2, "elementwise": 12, "copy": 4, "reduce": 8,
           "embedding": 4, "optimizer": 5, "foreach": 2, "transpose": 2, "rope": 1.5,
           "dropout": 1.5, "cat": 1.5, "batchnorm": 1.5}
_STAMPED_EVERY = 7
_LARGEST_BYTES = 1.2e9
_LONGEST_SECONDS = 1.5e-3
_ROTATED_BYTES = 160e6  # beyond any cache
_MOST_COPIES = 6


@dataclasses.dataclass
class Planned:
    """One compute kernel to measure."""

    number: int
    text: str
    sample: object = None   # of microbench.sampling; None for a kernel of our own
    stamped: object = None  # device_library.Stamped
    copies: int = 1         # sets of operands that take turns, so that none stays in the cache


def _stamped(rng, number):
    kind = rng.randrange(len(STAMPED_KINDS))
    blocks = rng.choice((1, 2, 4, 8, 16, 24, 32, 66, 132, 200, 264, 396, 528, 1056, 2112, 4224))
    threads = rng.choice((64, 128, 256, 512, 1024))
    shared = rng.choice((0, 0, 0, 32 << 10, 100 << 10, 160 << 10))
    target = 10 ** rng.uniform(0.6, 2.6)  # microseconds of a block
    work = {"moves": 32 * max(1, int(target * 1.5)), "computes": 16 * max(1, int(target * 25)),
            "waits": max(1, int(target * 1.4))}[STAMPED_KINDS[kind]]
    text = (f"stamped kind={STAMPED_KINDS[kind]} blocks={blocks} threads={threads} "
            f"shared={shared} work={work}")
    return Planned(number, text, stamped=Stamped(kind, blocks, threads, shared, work))


def _sampled(rng, seed, number):
    """Draws until an operator is small enough; the draws of one number never meet another's."""
    for attempt in range(1000):
        sample = sampling.sample(f"overlap {seed} {number}", attempt, _SHARES)
        flops_and_bytes = estimate.cost(sample.operator)
        if (flops_and_bytes[1] < _LARGEST_BYTES
                and estimate.seconds(sample.operator) < _LONGEST_SECONDS):
            break
    rotates = rng.random() < 0.5
    copies = int(_ROTATED_BYTES / max(1.0, flops_and_bytes[1])) + 1 if rotates else 1
    return Planned(number, sample.text, sample=sample, copies=min(_MOST_COPIES, copies))


def planned(seed, number):
    rng = random.Random(f"orrery overlap {seed} {number}")
    if number % _STAMPED_EVERY == _STAMPED_EVERY - 1:
        return _stamped(rng, number)
    return _sampled(rng, seed, number)
