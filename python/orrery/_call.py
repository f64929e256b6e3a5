"""Verbs of the library, called in this process: the names of the program's options, the same numbers."""
from __future__ import annotations

import functools
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Union

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


def _value_texts(name: str, value: Any) -> List[str]:
    """`{"plan.tp": 4}` is `["plan.tp=4"]`; a single value is a list of one."""
    if isinstance(value, Mapping):
        return [f"{key}={_value_text(name, one)}" for key, one in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_value_text(name, one) for one in value]
    return [_value_text(name, value)]


def _number(name: str, value: Any) -> Union[int, float]:
    text = _value_text(name, value)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise TypeError(f"{name}: a number is needed, not {text!r}") from None


@functools.lru_cache(maxsize=None)
def _types(verb: str) -> Dict[str, str]:
    """The types of the fields of a request: string, integer, number, boolean, or array of one of them."""
    types: Dict[str, str] = {}
    for name, schema in json.loads(_native.request_schema(verb))["properties"].items():
        known = schema.get("type", "string")
        if isinstance(known, list):  # or null
            known = next(one for one in known if one != "null")
        types[name] = f"array of {schema['items']['type']}" if known == "array" else known
    return types


def request_of(verb: str, options: Mapping[str, Any]) -> Dict[str, Any]:
    """Keyword arguments as fields of a request, each in the type that its field has."""
    request: Dict[str, Any] = {}
    for keyword, value in options.items():
        name = keyword.rstrip("_")
        if value is None:
            continue
        known = _types(verb).get(name)
        if known == "boolean":
            request[name] = bool(value)
        elif known in ("integer", "number"):
            request[name] = _number(name, value)
        elif known in ("array of integer", "array of number"):
            request[name] = [_number(name, one) for one in (value if isinstance(value, (list, tuple, set)) else [value])]
        elif known == "array of string":
            request[name] = _value_texts(name, value)
        elif value is not False:
            request[name] = _value_text(name, value)  # an unknown name is refused with a suggestion
    return request


def ask(verb: str, options: Mapping[str, Any], *, runs: Optional[Mapping[str, _native.Run]] = None,
        trace: Optional[PathLike] = None, progress: bool = False) -> Result:
    """Calls a verb of the library: `ask("simulate", {"jobs": ["job.yaml"]})`. `trace` and the option `html` name files to write."""
    own = dict(options)
    html = own.pop("html", None)
    with _progress.shown(progress) as report:
        result = Result(_native.call(verb, request_of(verb, own), dict(runs or {}),
                                     path_text(trace, "trace") if trace else "", bool(html), report))
    if html:
        with open(path_text(html, "html"), "w", encoding="utf-8") as file:
            file.write(result.to_html())
    return result


def job_fields(job: Any, file_field: str) -> Dict[str, Any]:
    """A job as fields of a request: a path as it is, a dict or YAML as text."""
    if isinstance(job, Mapping):
        try:
            return {"job_yaml": json.dumps(job)}  # JSON is YAML
        except TypeError as error:
            raise TypeError(f"job: {error}") from None
    if isinstance(job, str) and ("\n" in job or ": " in job):
        return {"job_yaml": job}
    return {file_field: path_text(job, "job")}
