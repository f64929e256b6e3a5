"""The progress of long work: a bar of tqdm where it is installed, else a line on standard error."""
from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Callable, Iterator, Optional

Report = Callable[[int, int, str], None]
_SECONDS_BETWEEN_LINES = 0.2


class _Line:
    """One line that overwrites itself."""

    def __init__(self) -> None:
        self._shown_at = 0.0
        self._width = 0

    def __call__(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self._shown_at < _SECONDS_BETWEEN_LINES and done != total:
            return
        self._shown_at = now
        text = f"[{done}/{total}] {what}" if total else f"[{done}] {what}"
        text = text[:100]
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


class _Bar:
    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(leave=False)

    def __call__(self, done: int, total: int, what: str) -> None:
        self._bar.total = total or None
        self._bar.n = done
        self._bar.set_description(what[:40], refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


@contextlib.contextmanager
def shown(wanted: bool) -> Iterator[Optional[Report]]:
    """Yields the function that receives progress; None if progress is not wanted."""
    if not wanted:
        yield None
        return
    try:
        from tqdm.auto import tqdm
        shower: Any = _Bar(tqdm)
    except ImportError:
        shower = _Line()
    try:
        yield shower
    finally:
        shower.close()
