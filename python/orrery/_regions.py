"""Regions and steps of a recording by `orrery capture`, which brings them along; without a recording they do nothing."""
from __future__ import annotations

import contextlib
from typing import Any, Optional

try:
    from orrery_recording import detail, flush, name_layers, region, step  # type: ignore[import-not-found]
except ImportError:

    class region(contextlib.ContextDecorator):  # type: ignore[no-redef] # noqa: N801
        """A part of the program with a name; a context manager and a decorator.

        >>> with orrery.region("attention"):
        ...     pass
        """

        def __init__(self, name: str) -> None:
            pass

        def __enter__(self) -> "region":
            return self

        def __exit__(self, *_: Any) -> None:
            pass

    class detail(region):  # type: ignore[no-redef] # noqa: N801
        """Selects launches that are recorded access by access, where the recording can do that."""

        def __init__(self, kernels: Optional[str] = None, launches: int = 0) -> None:
            pass

    def step(number: int) -> None:  # type: ignore[no-redef]
        """A training step begins.

        >>> orrery.step(17)
        """

    def flush() -> None:  # type: ignore[no-redef]
        """Brings what was recorded so far to the disk.

        >>> orrery.flush()
        """

    class _NoHooks:
        def remove(self) -> None:
            pass

    def name_layers(model: Any, name: str = "") -> Any:  # type: ignore[no-redef]
        """Opens a region named by its path around the forward of every module; returns what takes the hooks off again.

        >>> hooks = orrery.name_layers(model=None)
        >>> hooks.remove()
        """
        return _NoHooks()
