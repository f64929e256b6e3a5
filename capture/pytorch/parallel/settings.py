"""How a model is trained: batch, length, types, optimizer."""

import dataclasses

from .plan import Refusal

PRECISIONS = ("bf16", "fp16", "fp32")
OPTIMIZERS = ("adamw", "sgd")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Training of one rank; `precision` with `autocast` keeps parameters in fp32."""

    micro_batch: int
    sequence: int
    accumulation: int = 1
    precision: str = "bf16"
    autocast: bool = False
    channels_last: bool = False
    optimizer: str = "adamw"
    seed: int = 1
    ddp_hook: bool = False  # the stand-in hook in the place of DDP's own reduction

    @staticmethod
    def from_options(description, batch=None, sequence=None, dtype=None, accumulation=None, optimizer=None,
                     ddp_hook=False):
        """Takes what the user said, and the model's defaults for the rest."""
        defaults = description.defaults
        precision, autocast = _types(dtype, defaults)
        if optimizer not in (None, *OPTIMIZERS):
            raise Refusal(f"there is no optimizer {optimizer}: {' or '.join(OPTIMIZERS)}")
        for name, number in (("batch", batch), ("sequence", sequence), ("accumulation", accumulation)):
            if number is not None and number < 1:
                raise Refusal(f"--{name} is {number}, but must be at least 1")
        if sequence and not defaults.sequence:
            raise Refusal(f"{description.name} has no sequence")
        return Settings(micro_batch=batch or defaults.batch, sequence=sequence or defaults.sequence,
                        accumulation=accumulation or 1, precision=precision, autocast=autocast,
                        channels_last=defaults.channels_last and precision != "fp32",
                        optimizer=optimizer or "adamw", ddp_hook=ddp_hook)

    def training(self):
        """Returns the section `training` of trace.json."""
        return {"micro_batch": self.micro_batch, "sequence": self.sequence, "accumulation": self.accumulation,
                "precision": self.precision, "autocast": self.autocast, "optimizer": self.optimizer}

    def computed_type(self):
        """Returns PyTorch's type of products."""
        import torch
        return {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[self.precision]

    def parameter_type(self):
        """Returns PyTorch's type of parameters, gradients and the optimizer's state."""
        import torch
        return torch.float32 if self.autocast else self.computed_type()


def _types(dtype, defaults):
    if dtype is None:
        return defaults.precision, defaults.autocast
    asks_autocast = dtype.startswith("autocast-")
    precision = dtype.removeprefix("autocast-").removeprefix("pure-")
    if precision not in PRECISIONS:
        raise Refusal(f"there is no type {dtype}: {', '.join(PRECISIONS)}, or autocast-bf16 for fp32 parameters")
    if precision == "fp32":
        return precision, False
    return precision, asks_autocast or (defaults.autocast and not dtype.startswith("pure-"))
