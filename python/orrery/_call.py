"""Commands of the program, called in this process: the same words, the same numbers."""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _native, _progress
from ._result import Result

Error = _native.Error
PathLike = Union[str, "os.PathLike[str]"]


def path_text(path: Any, argument: str) -> str:
    """A path as text; the error names the argument."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise TypeError(f"{argument}: a path is needed, not {type(path).__name__}") from None
    return os.fsdecode(text)


def path_texts(paths: Any, argument: str) -> List[str]:
    """Several paths as texts."""
    try:
        listed = list(paths)
    except (TypeError, ValueError):  # a closed file raises the latter
        raise TypeError(f"{argument}: a path or a list of paths is needed, not {type(paths).__name__}") from None
    return [path_text(path, argument) for path in listed]


def _value_text(name: str, value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    if hasattr(value, "__fspath__"):
        return os.fsdecode(os.fspath(value))
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return str(value.item())  # a number of NumPy
    raise TypeError(f"{name}: text or a number is needed, not {type(value).__name__}")


def option_words(options: Mapping[str, Any]) -> List[str]:
    """`{"gpus_per_node": 4, "sustained": True}` as the words of a command line."""
    words: List[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple, set, frozenset)):
            for one in value:
                words += [flag, _value_text(name, one)]
        elif isinstance(value, Mapping):
            for key, one in value.items():
                words += [flag, f"{key}={_value_text(name, one)}"]
        else:
            words += [flag, _value_text(name, value)]
    return words


def call(words: Sequence[str], options: Mapping[str, Any], *, runs: Optional[Mapping[str, _native.Run]] = None,
         progress: bool = False, has_page: bool = False) -> Result:
    """Runs a command. `has_page`: its document for people is another one than that for programs (`analyze`)."""
    spoken = [*words, *option_words(options)]
    given: Dict[str, _native.Run] = dict(runs or {})

    def run(extra: Sequence[str]) -> _native.Delivered:
        with _progress.shown(progress) as report:
            return _native.run_verb([*spoken, *extra], given, report)

    return Result(run(["--json"]), for_people=(lambda: run([])) if has_page else None)


class JobFile:
    """A job as a file: a path as it is, a dict or YAML in a temporary file while the block runs."""

    def __init__(self, job: Any) -> None:
        self._job = job
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None

    def __enter__(self) -> str:
        text = self._text()
        if text is None:
            return path_text(self._job, "job")
        # Beside nothing else: names of files in the job are looked up from the working directory.
        self._folder = tempfile.TemporaryDirectory(prefix="orrery-")
        path = os.path.join(self._folder.name, "job.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def __exit__(self, *_: Any) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def _text(self) -> Optional[str]:
        if isinstance(self._job, Mapping):
            try:
                return json.dumps(self._job)  # JSON is YAML
            except TypeError as error:
                raise TypeError(f"job: {error}") from None
        if isinstance(self._job, str) and ("\n" in self._job or ": " in self._job):
            return self._job
        return None
