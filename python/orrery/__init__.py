"""Orrery: records, explains and predicts machine-learning training.

    import orrery
    run = orrery.read("trace/")
    print(run.analyze())
    print(orrery.simulate("job.yaml", plan__tp=4)["step_time_s"])

Every function is a command of the program `orrery`, with the same words and the same numbers; keyword arguments are its
options (`gpus_per_node=4` is `--gpus-per-node 4`). `orrery.torch` is for training scripts.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from . import hardware, predict, torch
    from ._call import Error
    from ._result import Result
    from ._regions import detail, flush, name_layers, region, step
    from ._run import Matched, NotApplicable, Rank, Run, Table, diff, memory, read
    from ._simulate import Simulation, goodput, search, simulate, validate

    __version__: str

# Loaded when first asked for: a training script that only uses orrery.torch does not load the compiled module, and runs
# where there is none.
_MODULES = {"hardware": "hardware", "predict": "predict", "torch": "torch"}
_HOMES = {"Error": "_call", "Result": "_result",
          **{name: "_regions" for name in ("detail", "flush", "name_layers", "region", "step")},
          **{name: "_run" for name in ("Matched", "NotApplicable", "Rank", "Run", "Table", "diff", "memory", "read")},
          **{name: "_simulate" for name in ("Simulation", "goodput", "search", "simulate", "validate")}}

__all__ = ["Error", "Matched", "NotApplicable", "Rank", "Result", "Run", "Simulation", "Table", "detail", "diff", "flush", "goodput", "hardware", "memory",
           "name_layers", "predict", "read", "region", "search", "simulate", "step", "torch", "validate"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name in _HOMES:
        value = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
    elif name == "__version__":
        value = importlib.import_module("._native", __name__).version().split()[-1]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__, "__version__"})
