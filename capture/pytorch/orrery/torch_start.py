"""Sets the hooks in PyTorch once CUDA is initialised."""

import ctypes
import os
import pathlib
import sys

_BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
_OPERATORS, _STACKS = 1, 2  # as torch_hooks.cc has them
_LOST = "the recording has no tensors and no operators"


def _is_set(name):
    return os.environ.get(name, "0") not in ("", "0")


def _attach(path, torch_version, build=_BUILD, loads=ctypes.CDLL):
    """Why the hooks in C++ are not set; "" when they are."""
    hooks = build / "liborrery-torch-hooks.so"
    version = build / "torch-hooks-version"
    if not hooks.exists() or not version.exists():
        return f"make -C {build.parent} pytorch-hooks builds what is missing"
    if version.read_text().strip() != torch_version:
        return f"they were built for PyTorch {version.read_text().strip()}, this is {torch_version}"
    try:
        library = loads(str(hooks))
    except OSError as error:
        return str(error)
    library.orrery_torch_attach.restype = ctypes.c_char_p
    library.orrery_torch_attach.argtypes = [ctypes.c_char_p, ctypes.c_int]
    wanted = _OPERATORS * _is_set("ORRERY_CAPTURE_OPERATORS") | _STACKS * _is_set("ORRERY_CAPTURE_STACKS")
    why = library.orrery_torch_attach(path.encode(), wanted)
    return why.decode() if why else ""


def begin(torch, orrery, attach=_attach):
    """CUDA is initialised now, so the recording library is in the process."""
    library = orrery._library.get()
    if library is None:
        return
    library.orrery_setting(b"torch", torch.__version__.encode())
    why = attach(orrery._library.path, torch.__version__)
    if why:
        library.orrery_setting(b"torch hooks", why.encode())
        print(f"orrery: PyTorch's allocator is not hooked ({why}): {_LOST}", file=sys.stderr)
    if _is_set("ORRERY_CAPTURE_LAYERS"):
        from . import layers
        layers.name_all_layers(torch, orrery.region)


def when_cuda_is_ready(torch, orrery):
    torch.cuda._lazy_call(lambda: begin(torch, orrery))
