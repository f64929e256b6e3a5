"""What is known: GPUs, clusters, models and frameworks of the catalogue."""
from __future__ import annotations

from typing import Any, Dict, List

from ._call import call

__all__ = ["clusters", "frameworks", "gpus", "models"]


def _list(what: str) -> List[Dict[str, Any]]:
    return call(["list", what], {})[what]


def gpus() -> List[Dict[str, Any]]:
    """GPUs with their peaks.

    >>> "H100-SXM" in [gpu["name"] for gpu in orrery.hardware.gpus()]
    True
    """
    return _list("gpus")


def clusters() -> List[Dict[str, Any]]:
    """Machines with their nodes and networks."""
    return _list("clusters")


def models() -> List[Dict[str, Any]]:
    """Models that jobs can name."""
    return _list("models")


def frameworks() -> List[Dict[str, Any]]:
    """Training frameworks whose behaviour is modelled."""
    return _list("frameworks")
