"""Sets the hooks in PyTorch once CUDA is initialised."""

import ctypes
import os
import pathlib
import sys

_OPERATORS, _STACKS = 1, 2  # as torch_hooks.cc has them
_LOST = "the recording has no tensors and no operators"


def _is_set(name):
    return os.environ.get(name, "0") not in ("", "0")


def _attach(path, torch_version, variables=os.environ, loads=ctypes.CDLL):
    """Why the hooks in C++ are not set; "" when they are. They are built for one version, which their folder names."""
    hooks = variables.get("ORRERY_CAPTURE_HOOKS", "")
    built_for = pathlib.Path(hooks).parent.name.removeprefix("torch-")
    if not hooks:
        return "they were not built: `orrery capture` found no PyTorch in the Python it was started with"
    if built_for != torch_version:
        return f"they were built for PyTorch {built_for}, this is {torch_version}: start capture with this Python"
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
