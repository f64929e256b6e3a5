"""What is known of a model before PyTorch is loaded."""

import dataclasses
import importlib


@dataclasses.dataclass(frozen=True)
class Defaults:
    """How a model is trained where the user says nothing; those of truth/h200_steps.csv where it has the model."""

    batch: int
    sequence: int = 0  # 0: the model has none
    precision: str = "bf16"
    autocast: bool = False  # parameters stay fp32, products are narrow
    channels_last: bool = False


@dataclasses.dataclass(frozen=True)
class Trunk:
    """Paths of a decoder's parts, so that stages can be cut out of it and called one layer after the other."""

    embedding: str
    layers: str
    norm: str
    head: str
    positions: str = ""  # learned ones
    rotary: str = ""
    linear: bool = True  # its products are nn.Linear, which PyTorch's tensor parallelism can split


@dataclasses.dataclass(frozen=True)
class Description:
    """A model: how it is built, and how `simulate` calls it."""

    name: str
    source: str  # transformers, torchvision, built-in
    maker: str  # module of this package that builds it with PyTorch
    config: dict
    defaults: Defaults
    layers: int = 0  # of those that are alike; 0: none are
    layer_parameters: int = 0
    layers_path: str = ""  # where in the model they are
    trunk: Trunk | None = None
    family: str | None = None  # of job.yaml; None: the generator has no such model

    def torch_side(self):
        """Loads the module that has make(), batch() and loss() for it; needs PyTorch."""
        return importlib.import_module("." + self.maker, __package__)
