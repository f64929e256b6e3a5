"""The catalogue: GPUs, clusters, models and frameworks."""
from __future__ import annotations

from typing import Any, Dict, List

from ._call import ask

__all__ = ["clusters", "frameworks", "gpus", "models"]


def _list(what: str) -> List[Dict[str, Any]]:
    return ask("list", {"what": what})[what]


def gpus() -> List[Dict[str, Any]]:
    """GPUs with their peaks.

    >>> "H100" in [gpu["name"] for gpu in orrery.hardware.gpus()]
    True
    """
    return _list("gpus")


def clusters() -> List[Dict[str, Any]]:
    """Machines with their nodes and networks.

    >>> next(machine["gpu"] for machine in orrery.hardware.clusters() if machine["name"] == "DGX H100")
    'H100'
    """
    return _list("clusters")


def models() -> List[Dict[str, Any]]:
    """Models that jobs can name.

    >>> next(model["layers"] for model in orrery.hardware.models() if model["name"] == "gpt2")
    12
    """
    return _list("models")


def frameworks() -> List[Dict[str, Any]]:
    """Training frameworks whose behaviour is modelled.

    >>> "megatron-lm" in [framework["name"] for framework in orrery.hardware.frameworks()]
    True
    """
    return _list("frameworks")
