"""Turns a sample into a call that is ready to be timed."""

import dataclasses

import torch

from microbench import build_compiled, build_layers, build_matrix, build_memory

# Each has a function (operator, detail, operands) of the name of every kind that it builds.
_BUILDERS = (build_matrix, build_memory, build_layers, build_compiled)


@dataclasses.dataclass
class Prepared:
    """A sample, its call, and what the first stage found."""

    sample: object
    call: object
    uses_tf32: bool
    op_us: float = 0.0
    sm_mhz: int = 0
    mem_mhz: int = 0


def prepare(sample, operands):
    uses_tf32 = sample.operator.dtype == "tf32"
    set_tf32(uses_tf32)
    return Prepared(sample, _builder(sample.operator.kind)(sample.operator, sample.detail, operands), uses_tf32)


def _builder(kind):
    return next(getattr(module, kind) for module in _BUILDERS if hasattr(module, kind))


def set_tf32(allowed):
    """Lets fp32 matrix multiplications and convolutions use tf32, or not."""
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed
