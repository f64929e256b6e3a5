"""Predictions of parts: kernels, collectives, kernels beside communication, and a recorded rank on another GPU."""
from __future__ import annotations

from typing import Any, Sequence, Union

from ._call import Error, PathLike, ask, path_text
from ._result import Result
from ._run import Run

__all__ = ["collective", "kernel", "overlap", "trace"]


def kernel(operator: Union[str, Sequence[str]], gpu: str, **options: Any) -> Result:
    """The time of operators on a GPU: `orrery predict kernel`. Of several, `["entries"]` has one after the other.

    >>> gemm = orrery.predict.kernel("gemm m=4096 n=4096 k=4096 bf16", gpu="H100")
    >>> 0.1 < gemm["time_s"] * 1e3 < 1
    True
    >>> both = orrery.predict.kernel(["gemm m=64 n=64 k=64 bf16", "gemm m=4096 n=4096 k=4096 bf16"], gpu="H100")
    >>> both["entries"][1]["time_s"] == gemm["time_s"]
    True
    """
    operators = [operator] if isinstance(operator, str) else list(operator)
    return ask("predict kernel", {"operators": operators, "gpu": gpu, **options})


def collective(what: str, cluster: str = "", gpus: int = 0, **options: Any) -> Result:
    """The time of a collective on a cluster: `orrery predict collective`.

    >>> orrery.predict.collective("allreduce 64MiB bf16", cluster="DGX H100", gpus=16)["algorithm"]
    'NVLSTree'
    """
    return ask("predict collective", {"collective": what, "cluster": cluster or None, "gpus": gpus or None, **options})


def overlap(operator: str, gpu: str, **options: Any) -> Result:
    """The slowdown of a kernel beside communication: `orrery predict overlap`.

    >>> orrery.predict.overlap("gemm m=4096 n=4096 k=4096 bf16", gpu="H100")["stretch"] > 1
    True
    """
    return ask("predict overlap", {"operator": operator, "gpu": gpu, **options})


def trace(run: Union[Run, PathLike], gpu: str = "", *, progress: bool = False, **options: Any) -> Result:
    """The step of a recorded or traced rank on a GPU: `orrery predict TRACE`.

    >>> step = orrery.predict.trace("tests/data/h200/fake-tp8.et.json.gz", gpu="H200")
    >>> step["low_s"] < step["step_time_s"] < step["high_s"]
    True
    """
    paths = run.paths if isinstance(run, Run) else [path_text(run, "run")]
    if len(paths) != 1:
        raise Error(f"run: {len(paths)} paths; a file or a folder is predicted")
    own = dict(options)
    output = own.pop("output", None)
    return ask("predict", {"trace": paths[0], "gpu": gpu or None, **own}, trace=output, progress=progress)
