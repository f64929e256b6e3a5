"""Runs: traces of all ranks as tables of columns."""
from __future__ import annotations

import itertools
import os
import warnings
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _native, _progress
from ._call import PathLike, ask, path_text, path_texts
from ._result import Result

if TYPE_CHECKING:
    import numpy
    import pandas

_numbers = itertools.count()
_NO_ROW = 0xFFFFFFFF  # a link without a target row


class NotApplicable(UserWarning):
    """Why `run.metric` answers None."""


class Table:
    """A table of columns. `table["begin_ns"]` is a NumPy view of the run's own memory, not a copy.

    Texts are codes: `table.categories("name")[code]`, or `table.text("name")` for all of them. Links, such as `launch`,
    are rows of another table; one that leads nowhere is 4294967295 in the column, and missing in `to_dict`,
    `to_pandas` and Arrow.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        return self._native.name

    @property
    def columns(self) -> List[str]:
        return self._native.columns

    def __len__(self) -> int:
        return len(self._native)

    def __contains__(self, column: object) -> bool:
        return column in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def keys(self) -> List[str]:
        return self.columns

    def __getitem__(self, column: str) -> "numpy.ndarray":
        if not isinstance(column, str):
            raise TypeError(f"column: the name of a column is needed, not {type(column).__name__}")
        try:
            return self._native.column(column)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("columns need NumPy, which is not installed", name=error.name) from None
        except KeyError:
            raise KeyError(f"{self.name} has no column {column!r}; it has {', '.join(self.columns)}") from None

    def categories(self, column: str) -> List[str]:
        """The names of a column's codes; empty for columns of numbers."""
        self[column]  # for its error
        return self._native.categories(column)

    def text(self, column: str) -> List[str]:
        """A column of codes as texts."""
        categories = self.categories(column)
        if not self._native.has_categories(column):
            raise KeyError(f"{self.name}.{column} is a column of numbers")
        return [categories[code] for code in self[column]]

    def is_link(self, column: str) -> bool:
        """True if the values of a column are rows of another table."""
        self[column]  # for its error
        return self._native.is_link(column)

    def to_dict(self) -> Dict[str, "numpy.ndarray"]:
        """All columns by name; of links a masked array, whose missing rows are None in `tolist()`."""
        return {column: self._masked(column) if self._native.is_link(column) else self[column] for column in self.columns}

    def _masked(self, column: str) -> "numpy.ma.MaskedArray":
        import numpy

        values = self[column]
        return numpy.ma.MaskedArray(values, mask=values == _NO_ROW, copy=False)

    def to_pandas(self) -> "pandas.DataFrame":
        """A DataFrame; columns of codes become categories, links that lead nowhere NA."""
        import pandas

        data: Dict[str, Any] = {}
        for column in self.columns:
            values = self[column]
            if self._native.has_categories(column):
                values = pandas.Categorical.from_codes(values.astype("int64"), self.categories(column))
            elif self._native.is_link(column):
                values = pandas.arrays.IntegerArray(values, values == _NO_ROW)
            data[column] = values
        return pandas.DataFrame(data, copy=False)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The Arrow PyCapsule protocol: `pyarrow.table(table)`, `polars.DataFrame(table)`."""
        return self._native.arrow_stream()

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self):,} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        try:
            return self.to_pandas_head()._repr_html_()
        except ImportError:
            return f"<pre>{self!r}</pre>".replace("<<", "&lt;").replace(">>", "&gt;")

    def to_pandas_head(self, rows: int = 20) -> "pandas.DataFrame":
        """The first rows as a DataFrame, without looking at the others."""
        import pandas

        data: Dict[str, Any] = {}
        for column in self.columns:
            values = self[column][:rows]
            if self._native.has_categories(column):
                categories = self.categories(column)
                values = [categories[code] for code in values]
            elif self._native.is_link(column):
                values = pandas.arrays.IntegerArray(values.copy(), values == _NO_ROW)
            data[column] = values
        return pandas.DataFrame(data)


class Rank:
    """One rank: `rank.kernels`, `rank.host_ops`, `rank.collectives` and the other tables of docs/formats/trace.md."""

    def __init__(self, native: _native.Rank) -> None:
        self._native = native
        self._info = native.info

    @property
    def rank(self) -> int:
        return self._info["rank"]

    @property
    def rank_index(self) -> int:
        """The index of the rank in `run.match().members["rank_index"]`."""
        return self._native.rank_index

    @property
    def device(self) -> str:
        """The name of its GPU; empty if the recording does not say."""
        return self._info["device"]

    @property
    def info(self) -> Dict[str, Any]:
        return dict(self._info)

    @property
    def problems(self) -> List[Dict[str, Any]]:
        return self._native.problems

    @property
    def kernels(self) -> Table:
        """The kernels; `rank.activities` has all that ran on the device (column `kind`), memcpys and memsets too."""
        return Table(self._native.kernels)

    @property
    def tables(self) -> List[str]:
        return self._native.tables

    def table(self, name: str) -> Table:
        try:
            return Table(self._native.table(name))
        except KeyError:
            raise KeyError(f"a rank has no table {name!r}; it has {', '.join(self.tables)}") from None

    def __getattr__(self, name: str) -> Table:
        if not name.startswith("_") and name in self._native.tables:
            return self.table(name)
        raise AttributeError(f"a rank has no table {name!r}; it has kernels, {', '.join(self._native.tables)}")

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self.tables]

    def __repr__(self) -> str:
        device = f" on {self.device}" if self.device else ""
        return f"<rank {self.rank}{device}: {len(self.activities):,} kernels, memcpys and memsets>"


class Matched:
    """Collectives matched over the ranks: `instances`, and the `members` of each."""

    def __init__(self, native: _native.Run) -> None:
        self._native = native

    @property
    def instances(self) -> Table:
        return Table(self._native.instances)

    @property
    def members(self) -> Table:
        return Table(self._native.members)

    @property
    def problems(self) -> List[Dict[str, Any]]:
        return self._native.match_problems

    def __len__(self) -> int:
        return len(self.instances)

    def __repr__(self) -> str:
        return f"<{len(self):,} collectives, {len(self.members):,} members>"


class Run:
    """A run of a training job, recorded or simulated."""

    def __init__(self, native: _native.Run, paths: Sequence[str], keeps: Any = None) -> None:
        self._native = native
        self._keeps = keeps  # a temporary folder that the paths are in
        self.paths = list(paths)
        # The name under which commands find it; they show what follows the last slash.
        self._name = f"orrery-run:{next(_numbers)}/{os.path.basename(os.path.normpath(self.paths[0]))}"
        self._ranks: Optional[List[Rank]] = None

    @property
    def ranks(self) -> List[Rank]:
        if self._ranks is None:
            self._ranks = [Rank(rank) for rank in self._native.ranks]
        return self._ranks

    @property
    def steps(self) -> Table:
        """The steps of the first rank that has any."""
        if not self.ranks:
            raise _native.Error("the run has no rank, so it has no steps")
        for rank in self.ranks:
            if len(rank.steps):
                return rank.steps
        return self.ranks[0].steps

    @property
    def is_partial(self) -> bool:
        """True if something of the input is not in the run."""
        return self._native.is_partial

    @property
    def problems(self) -> List[Dict[str, Any]]:
        """The problems of the input, each kind once for each rank, and the files that were not read."""
        found = [{**problem, "rank": rank.rank} for rank in self.ranks for problem in rank.problems]
        found += [{"what": f"skipped: {why}", "first": file, "count": 1, "is_loss": True, "rank": None}
                  for file, why in self._native.skipped]
        return found

    def match(self) -> Matched:
        """The collectives of all ranks, matched when the run was read."""
        return Matched(self._native)

    def info(self) -> Result:
        """Ranks, counts and problems: `orrery info`."""
        return self._ask("info", {})

    def analyze(self, *, progress: bool = False, **options: Any) -> Result:
        """All metrics and findings: `orrery analyze`. Options are those of the command: `steps="3:5"`, `rank=[0, 1]`."""
        return self._ask("analyze", options, progress=progress)

    def metric(self, name: str, **options: Any) -> Any:
        """The value of one metric: `run.metric("mfu")`.

        None where it does not apply, with the reason as a warning (`orrery.NotApplicable`) and in `metric_detail`.
        """
        metric = self.metric_detail(name, **options)
        if metric["value"] is None:
            warnings.warn(f"{name} does not apply: {metric['reason']}", NotApplicable, stacklevel=2)
        return metric["value"]

    def metric_detail(self, name: str, **options: Any) -> Dict[str, Any]:
        """A metric with its unit, its detail and, where it does not apply, the reason."""
        if not isinstance(name, str):
            raise TypeError(f"name: the name of a metric is needed, not {type(name).__name__}")
        result = self._ask("analyze", {"metric": name, **options})
        return result["metrics"][name]

    def critical_path(self, **options: Any) -> Dict[str, Any]:
        """The chain of work that determined how long a step took."""
        return self.metric_detail("critical_path", **options)

    def what_if(self, changes: Union[Mapping[str, Any], Sequence[str]], **options: Any) -> Dict[str, Any]:
        """The step if something were different: `{"network": 4}`, `{"kernel:NAME": 2}`, `["rank:3"]`."""
        if isinstance(changes, str):
            raise TypeError("changes: a dict or a list is needed, not str")
        if isinstance(changes, Mapping):
            questions = [key if value is None or value is True else f"{key}={value}" for key, value in changes.items()]
        else:
            questions = list(changes)
        return self.metric_detail("what_if", what_if=questions, **options)

    def memory(self, tool: Optional[str] = None, **options: Any) -> Result:
        """A memory tool on the run's files: `orrery memory`."""
        return memory(self, tool, **options)

    def diff(self, other: "Run", **options: Any) -> Result:
        """The changes from this run to another: `orrery diff`."""
        return diff(self, other, **options)

    def view_words(self) -> List[str]:
        """The command that opens the run in a browser."""
        return ["orrery", "view", *self.paths]

    def _ask(self, verb: str, options: Mapping[str, Any], *, progress: bool = False) -> Result:
        return ask(verb, {"paths": self._name, **options}, runs={self._name: self._native}, progress=progress)

    def __repr__(self) -> str:
        num_rows = sum(len(rank.activities) for rank in self.ranks)
        problems = sum(1 for problem in self.problems if problem["is_loss"])
        losses = f", {problems} losses (see .problems)" if problems else ""
        return f"<run of {len(self.ranks)} rank{'' if len(self.ranks) == 1 else 's'}: {num_rows:,} kernels, memcpys and memsets{losses}>"

    def _repr_html_(self) -> str:
        return self.info()._repr_html_()


def read(paths: Union[PathLike, Sequence[PathLike]], *, threads: int = 0, step_marker: str = "",
         max_unpack_ratio: float = 250, align: str = "auto", progress: bool = False) -> Run:
    """Reads files and folders as one run: Kineto, execution traces, Nsight Systems, ROCm, XProf, .orr, …

    Clocks of ranks are aligned by the ends of collectives where it matters (`align`: auto, always or off), so that
    times of different ranks can be compared.

    >>> run = orrery.read("tests/data/h200/fake-tp8.kineto.json.gz")
    >>> len(run.ranks)
    1
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]  # type: ignore[list-item]
    names = path_texts(paths, "paths")
    if not names:
        raise _native.Error("paths: nothing to read")
    for argument, value, kind in (("threads", threads, int), ("step_marker", step_marker, str), ("align", align, str)):
        if not isinstance(value, kind):
            raise TypeError(f"{argument}: {kind.__name__} is needed, not {type(value).__name__}")
    with _progress.shown(progress) as report:
        return Run(_native.read(names, threads, step_marker, float(max_unpack_ratio), align, report), names)


def _named(run: Any, argument: str, runs: Dict[str, _native.Run]) -> str:
    if isinstance(run, Run):
        runs[run._name] = run._native
        return run._name
    return path_text(run, argument)


def diff(a: Union[Run, PathLike], b: Union[Run, PathLike], *, progress: bool = False, **options: Any) -> Result:
    """The changes between two runs: `orrery diff`.

    >>> changes = orrery.diff("tests/data/kineto/two_ranks", "tests/data/kineto/two_ranks")
    >>> changes["worse"]
    []
    """
    runs: Dict[str, _native.Run] = {}
    both = {"before": _named(a, "a", runs), "after": _named(b, "b", runs)}
    return ask("diff", {**both, **options}, runs=runs, progress=progress)


def memory(run: Union[Run, PathLike, Sequence[PathLike]], tool: Optional[str] = None, *, progress: bool = False,
           **options: Any) -> Result:
    """A memory tool on a recording: `orrery memory --tool`. Without a tool: what was recorded.

    >>> heat = orrery.memory("tests/data/orrs/memory_small.orrs", "heat")
    >>> heat["coverage_parts"][0]["launches"]
    3
    """
    if isinstance(run, Run):
        paths = run.paths
    elif isinstance(run, (str, bytes, os.PathLike)):
        paths = [path_text(run, "run")]
    else:
        paths = path_texts(run, "run")
    return ask("memory", {"paths": paths, "tool": tool, **options}, progress=progress)
