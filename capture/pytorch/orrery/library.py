"""The recording library in this process: found once it is loaded, called through ctypes."""

import ctypes
import os

_VERSION = 1


_NUMBER, _TEXT = ctypes.c_uint64, ctypes.c_char_p
# The functions of capture/recorder/recorder_api.h that Python calls: result, arguments.
_FUNCTIONS = {"orrery_region_begin": (_NUMBER, [_TEXT]), "orrery_region_end": (None, [_NUMBER]),
              "orrery_step": (None, [_NUMBER]), "orrery_detail_begin": (_NUMBER, [_TEXT, _NUMBER]),
              "orrery_detail_end": (None, [_NUMBER]), "orrery_setting": (None, [_TEXT, _TEXT]),
              "orrery_flush": (None, [])}


def _declared(library):
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def load(path):
    """The library if it is in the process already; None otherwise. It is never brought in."""
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        return _declared(library) if library.orrery_recorder_version() >= _VERSION else None
    except (OSError, AttributeError):
        return None


class Library:
    """Looks for the library until it is there; without a recording it never is, and nothing is looked for."""

    def __init__(self, path=None, loads=load):
        self._path = os.environ.get("CUDA_INJECTION64_PATH") if path is None else path
        self._loads = loads
        self._found = None

    @property
    def path(self):
        return self._path

    def get(self):
        if self._found is None and self._path:
            self._found = self._loads(self._path)
        return self._found
