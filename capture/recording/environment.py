"""What the recorded program finds in its environment, and the libraries that are built for it."""

import os
import pathlib
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1]
STARTUP = FOLDER / "pytorch" / "startup"
_PREFIX = "ORRERY_CAPTURE_"
_KEPT = ("HOST", "ARENA_MB", "SHARDS", "MERGE", "EMPTY_PATCH")  # have no option


def library(options, build=FOLDER / "build"):
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


def environment(options, before, build=FOLDER / "build"):
    """`before` and what recording adds; variables of ours that it holds already do not stay."""
    kept = {name: text for name, text in before.items() if not name.startswith(_PREFIX)
            or name.removeprefix(_PREFIX) in _KEPT}
    kept.update(settings(options))
    kept["CUDA_INJECTION64_PATH"] = str(library(options, build))
    users = before.get("PYTHONPATH", "")
    kept["PYTHONPATH"] = os.pathsep.join([str(STARTUP), users] if users else [str(STARTUP)])
    return kept


class BuildError(Exception):
    """What is needed is not there and cannot be built."""


def _make(words):
    try:
        made = subprocess.run(["make", "-s", f"-j{os.cpu_count() or 1}", "-C", str(FOLDER), *words], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except FileNotFoundError:
        return "make is not installed"
    lines = [line for line in made.stdout.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line]
    return "" if made.returncode == 0 else (errors or lines or [f"make ended with {made.returncode}"])[0].strip()


def interpreter(words):
    """The Python that the program runs with, as far as its first word says."""
    name = os.path.basename(words[0]) if words else ""
    found = shutil.which(words[0]) if name.startswith("python") else None
    return found or sys.executable


def build_library(options, make=_make):
    target = "sanitizer" if options.accesses else "cupti"
    why = make([target])
    if why:
        raise BuildError(f"the recording library could not be built: {why} (g++ and the CUDA toolkit with "
                         f"{'the Compute Sanitizer' if options.accesses else 'CUPTI'} of version 13 are needed; "
                         "`orrery doctor` says what is here)")


def build_hooks(words, make=_make):
    """What goes missing when the hooks cannot be built; "" when nothing does."""
    why = make(["pytorch-hooks", f"PYTHON={interpreter(words)}"])
    return f"no tensors and operators of PyTorch: its hooks could not be built ({why})" if why else ""
