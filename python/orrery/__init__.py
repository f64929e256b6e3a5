"""Orrery: records, explains and predicts machine-learning training.

    import orrery
    run = orrery.read("trace/")
    print(run.analyze())
    print(orrery.simulate("job.yaml", plan__tp=4)["step_time_s"])

Every function is a command of the program `orrery`, with the same words and the same numbers; keyword arguments are its
options (`gpus_per_node=4` is `--gpus-per-node 4`).
"""
from __future__ import annotations

from . import hardware, predict
from ._call import Error
from ._native import version as _version
from ._result import Result
from ._run import Matched, Rank, Run, Table, diff, memory, read
from ._simulate import Simulation, goodput, search, simulate, validate

__version__ = _version().split()[-1]
__all__ = ["Error", "Matched", "Rank", "Result", "Run", "Simulation", "Table", "diff", "goodput", "hardware", "memory", "predict",
           "read", "search", "simulate", "validate"]
