"""Regions, steps and details of a recording, from Python.

    import orrery

    orrery.step(17)
    with orrery.region("attention"):
        y = layer(x)

    @orrery.region("optimizer")
    def update(): ...

    with orrery.detail(kernels="layer_norm", launches=100):
        train_step()

Without a recording (`orrery capture -- python3 train.py`) every call does nothing. Importing changes nothing, and what
is recorded does not depend on regions: they label.
"""

import functools

from .library import Library

_library = Library()


class region:
    """A part of the program with a name; a context manager and a decorator. Nests, on any thread."""

    def __init__(self, name):
        self._name = str(name).encode()
        self._open = []

    def __enter__(self):
        library = _library.get()
        self._open.append((library, library.orrery_region_begin(self._name)) if library else None)
        return self

    def __exit__(self, *error):
        opened = self._open.pop()
        if opened:
            opened[0].orrery_region_end(opened[1])
        return False

    def __call__(self, function):
        name = self._name.decode()

        @functools.wraps(function)
        def inside(*words, **named):
            with region(name):
                return function(*words, **named)
        return inside


class detail:
    """Selects launches that are recorded access by access, where the recording can do that."""

    def __init__(self, kernels=None, launches=0):
        self._kernels = kernels.encode() if kernels else None
        self._launches = int(launches)
        self._opened = None

    def __enter__(self):
        library = _library.get()
        if library:
            self._opened = library, library.orrery_detail_begin(self._kernels, self._launches)
        return self

    def __exit__(self, *error):
        if self._opened:
            self._opened[0].orrery_detail_end(self._opened[1])
            self._opened = None
        return False


def step(number):
    """A training step begins."""
    library = _library.get()
    if library:
        library.orrery_step(int(number))


def flush():
    """Brings what was recorded so far to the disk."""
    library = _library.get()
    if library:
        library.orrery_flush()


def name_layers(model, name=""):
    """Opens a region named by its path around the forward of every module; returns what takes the hooks off again."""
    from . import layers
    return layers.name_layers(model, name, region)
