"""The environment of the recorded program, and the libraries that are built for it."""

import os
import pathlib
import re
import shutil
import sys

import building
from doctor import programs

FOLDER = pathlib.Path(__file__).resolve().parents[1]
STARTUP = FOLDER / "pytorch" / "startup"
_PREFIX = "ORRERY_CAPTURE_"
_KEPT = ("HOST", "ARENA_MB", "SHARDS", "MERGE", "EMPTY_PATCH")  # have no option


def library(options, build):
    """The library that the driver brings into the program."""
    return build / ("liborrery-sanitizer.so" if options.accesses else "liborrery-cupti.so")


def _numbers(options):
    return {"PAGE_BYTES": options.pages, "LAUNCH_SKIP": options.launch_skip,
            "LAUNCH_COUNT": options.launch_count, "BLOCK_PERIOD": options.block_period,
            "LIMIT_MB": options.limit_mb}


def _switches(options):
    return {"OPERATORS": options.operators, "LAYERS": options.layers, "API": options.api,
            "WHOLE_GRAPHS": options.whole_graphs, "MANAGED": options.managed, "STACKS": options.stacks}


def settings(options):
    """The variables of ours; see docs/formats/capture-environment.md."""
    found = {"OUT": str(pathlib.Path(options.out).absolute())}
    found.update({name: str(number) for name, number in _numbers(options).items() if number is not None})
    found.update({name: "1" for name, is_on in _switches(options).items() if is_on})
    if options.accesses:
        found["ANALYSIS"] = options.analysis
        found.update({name: text for name, text in (("KERNEL_NAME", options.kernel_name),
                                                    ("ACCESS_RECORDS", options.access_records)) if text})
    return {_PREFIX + name: text for name, text in found.items()}


def environment(options, before, build, hooks=None):
    """`before` and what recording adds; variables of ours that it holds already do not stay."""
    kept = {name: text for name, text in before.items() if not name.startswith(_PREFIX)
            or name.removeprefix(_PREFIX) in _KEPT}
    kept.update(settings(options))
    kept["CUDA_INJECTION64_PATH"] = str(library(options, build))
    if hooks:
        kept[_PREFIX + "HOOKS"] = str(hooks)
    users = before.get("PYTHONPATH", "")
    kept["PYTHONPATH"] = os.pathsep.join([str(STARTUP), users] if users else [str(STARTUP)])
    return kept


def interpreter(words):
    """The Python that the program runs with, as far as its first word says: a python, or a script of one (torchrun)."""
    found = shutil.which(words[0]) if words else None
    if not found or os.path.basename(words[0]).startswith("python"):
        return found or sys.executable
    with open(found, "rb") as file:
        line = file.readline(256).decode(errors="replace").split()
    named = line[0][2:] if line and line[0].startswith("#!") else ""
    return named if os.path.basename(named).startswith("python") and os.access(named, os.X_OK) else sys.executable


_FIND_TORCH = "import importlib.util as u; s = u.find_spec('torch'); print(s.origin if s and s.origin else '')"


def torch_version(python):
    """The version of PyTorch that this interpreter would import, read from its folder: importing it takes seconds."""
    said = programs.output([python, "-c", _FIND_TORCH])
    origin = said[1].strip() if said and said[0] == 0 else ""
    path = pathlib.Path(origin).parent / "version.py" if origin else None
    found = re.search(r"__version__ = '([^']+)'", path.read_text(encoding="utf-8")) if path and path.exists() else None
    return found[1] if found else ""


def build_library(options, build=building.build):
    """The folder of the library."""
    target = "sanitizer" if options.accesses else "cupti"
    try:
        return build(target)
    except building.BuildError as error:
        raise building.BuildError(
            f"the recording library could not be built: {error} (g++ and the CUDA toolkit with "
            f"{'the Compute Sanitizer' if options.accesses else 'CUPTI'} of version 13 are needed; "
            "`orrery doctor` says what is here)") from error


def build_hooks(words, build=building.build, version_of=torch_version):
    """(the library with the hooks or None, what goes missing without it or "")."""
    python = interpreter(words)
    version = version_of(python)
    if not version:
        return None, ""
    try:
        folder = build("pytorch-hooks", f"PYTHON={python}", name=f"torch-{version}", about=f"the hooks for PyTorch {version}")
    except building.BuildError as error:
        return None, f"no tensors and operators of PyTorch: its hooks could not be built ({error})"
    return folder / "liborrery-torch-hooks.so", ""
