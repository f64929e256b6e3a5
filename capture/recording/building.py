"""Builds the libraries that recording needs, where they are missing or old."""

import os
import shutil
import subprocess
import sys

from recording.environment import FOLDER


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
