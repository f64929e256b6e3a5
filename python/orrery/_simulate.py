"""Jobs: simulated, searched, validated."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ._call import PathLike, ask, job_fields, path_text
from ._result import Result
from ._run import Run, read

Job = Union[PathLike, Mapping[str, Any]]

# Keys at the top of a job that no option has the name of.
_JOB_KEYS = ("gpus", "model", "framework", "precision")


def _split(keywords: Mapping[str, Any], also: Tuple[str, ...] = _JOB_KEYS) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Settings of the job (`plan__tp`, `**{"plan.tp": 4}`, `gpus`) and options of the command."""
    settings: Dict[str, Any] = {}
    options: Dict[str, Any] = {}
    for name, value in keywords.items():
        if "." in name or "__" in name or name in also:
            settings[name.replace("__", ".")] = value
        else:
            options[name] = value
    return settings, options


class Simulation(Result):
    """The result of `simulate`; `trace` is the simulated step as a run."""

    def __init__(self, result: Result, job: Job, keywords: Mapping[str, Any]) -> None:
        super().__init__(result._delivered)
        self._job = job
        self._keywords = dict(keywords)
        self._trace: Optional[Run] = None

    @property
    def trace(self) -> Run:
        """The simulated step as a run: `simulate(job).trace.analyze()`. Simulated once more when first asked for."""
        if self._trace is None:
            folder = tempfile.TemporaryDirectory(prefix="orrery-")
            path = os.path.join(folder.name, "step.orr")
            _simulate(self._job, {**self._keywords, "trace": path}, progress=False)
            run = read(path)
            run._keeps = folder
            self._trace = run
        return self._trace


def _simulate(job: Job, keywords: Mapping[str, Any], progress: bool) -> Result:
    settings, options = _split(keywords)
    trace = options.pop("trace", None)
    return ask("simulate", {**job_fields(job, "jobs"), "set": settings, **options}, trace=trace, progress=progress)


def simulate(job: Job, *, progress: bool = False, **settings: Any) -> Simulation:
    """The step of a training job: `orrery simulate`.

    `job` is a path, a dict or YAML. Keywords with a dot or two underscores are settings of the job, the others options of
    the command:

    >>> result = orrery.simulate("examples/llama3-70b-512-h100.yaml", plan__tp=4)
    >>> 5 < result["step_time_s"] < 30
    True
    """
    return Simulation(_simulate(job, settings, progress), job, settings)


def search(job: Job, *, progress: bool = False, **settings: Any) -> Result:
    """The best plans for a job: `orrery search`. `gpus` is a number or a range, "64..1024".

    >>> job = {"model": "llama3-8b", "cluster": "DGX H100", "gpus": 16, "training": {"sequence": 4096, "global_batch": 64},
    ...        "search": {"plan.tp": [4, 8], "plan.pp": [1], "training.micro_batch": [1], "plan.recompute": ["full"]}}
    >>> best = orrery.search(job, keep=1)["plans"][0]
    >>> 0 < best["step_s"] < 30
    True
    """
    own, options = _split(settings, also=())
    return ask("search", {**job_fields(job, "job"), "set": own, **options}, progress=progress)


def goodput(job: Job, *, progress: bool = False, **settings: Any) -> Result:
    """A month of a job with failures: `orrery goodput`.

    >>> month = orrery.goodput("examples/llama3-70b-512-h100.yaml", runs=10)
    >>> 0.5 < month["ettr_mean"] < 1
    True
    """
    own, options = _split(settings)
    return ask("goodput", {**job_fields(job, "job"), "set": own, **options}, progress=progress)


def validate(truth: PathLike, *, progress: bool = False, **options: Any) -> Result:
    """Simulated against measured steps of published runs: `orrery validate`.

    >>> result = orrery.validate("tests/data/published_runs/made.csv")
    >>> result["rows"], result["simulated"]
    (8, 6)
    """
    own = dict(options)
    verb = "validate rank" if own.pop("rank", False) else "validate"
    return ask(verb, {"truth": path_text(truth, "truth"), **own}, progress=progress)
