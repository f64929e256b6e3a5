"""The result of a command: a mapping with a representation for notebooks and terminals."""
from __future__ import annotations

import html
import json
import shutil
from typing import Any, Dict, Iterator, List, Mapping

from . import _native

_LEAST_WIDTH, _MOST_WIDTH = 80, 120


class Result(Mapping[str, Any]):
    """The document of a command: `result["step_time_s"]`, `print(result)`, a page in a notebook.

    Keys are those that the command prints with `--json`; where it prints a list, that is `result["entries"]`.
    """

    def __init__(self, delivered: _native.Delivered) -> None:
        self._delivered = delivered
        data = json.loads(delivered.json)
        if isinstance(data, list):  # of several things asked for at once
            data = {"entries": data}
        self._data: Dict[str, Any] = data

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    @property
    def problems(self) -> List[str]:
        """Sentences about what was not read, not modelled or left out."""
        found = list(self._delivered.notices)
        for key in ("notes", "not_modelled", "left_out"):
            value = self._data.get(key)
            if isinstance(value, list):
                found += [one if isinstance(one, str) else json.dumps(one) for one in value]
        return found

    @property
    def is_partial(self) -> bool:
        """True if something of the input is missing (exit status 3 of the command)."""
        return self._delivered.status == 3

    @property
    def status(self) -> int:
        """The exit status of the command."""
        return self._delivered.status

    def to_dict(self) -> Dict[str, Any]:
        return dict(self._data)

    def to_html(self) -> str:
        """A page that fetches nothing."""
        return self._delivered.html()

    def __str__(self) -> str:
        width = min(max(shutil.get_terminal_size().columns, _LEAST_WIDTH), _MOST_WIDTH)
        return self._delivered.text(width).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        # A frame of its own, so that the page's styles stay inside.
        return ('<iframe sandbox="allow-scripts" style="width:100%;height:640px;border:0" '
                f'srcdoc="{html.escape(self.to_html(), quote=True)}"></iframe>')
