"""The recording library in this process: found once it is loaded, called through ctypes."""

import ctypes
import os

_VERSION = 1


def _declared(library):
    """The functions of capture/recorder/recorder_api.h that Python calls."""
    library.orrery_region_begin.restype = ctypes.c_uint64
    library.orrery_region_begin.argtypes = [ctypes.c_char_p]
    library.orrery_region_end.restype = None
    library.orrery_region_end.argtypes = [ctypes.c_uint64]
    library.orrery_step.restype = None
    library.orrery_step.argtypes = [ctypes.c_uint64]
    library.orrery_detail_begin.restype = ctypes.c_uint64
    library.orrery_detail_begin.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    library.orrery_detail_end.restype = None
    library.orrery_detail_end.argtypes = [ctypes.c_uint64]
    library.orrery_setting.restype = None
    library.orrery_setting.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.orrery_flush.restype = None
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
