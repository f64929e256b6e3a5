"""Builds what is compiled on the GPU machine, once for each version of the sources and of the toolkit, in the user's cache:
the program may be installed for all users, who cannot write there."""

import glob
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

from doctor import programs

FOLDER = pathlib.Path(__file__).resolve().parent
_SOURCES = (".cc", ".h", ".cu", ".cuh", ".S", ".map")
_DEVICES = ("nvidiactl", "nvidia[0-9]*", "nvhost-gpu", "dxg")


class BuildError(Exception):
    """A required program or library is missing and cannot be built."""


def has_gpu(root="/"):
    """Returns whether the driver shows a GPU, without loading a library, which may take seconds."""
    return any(glob.glob(os.path.join(glob.escape(root), "dev", name)) for name in _DEVICES)


NO_GPU = "no GPU: this machine has no /dev/nvidia… (the driver is not loaded, or the container was not given the GPUs)"


def _toolkit():
    nvcc = programs.find("nvcc")
    place = os.path.realpath(nvcc) if nvcc else ""
    return f"{platform.machine()} {place} {os.stat(place).st_mtime_ns if place else 0}"


def _digest(folder):
    """Of everything that is compiled."""
    seen = hashlib.sha256(_toolkit().encode())
    for path in sorted([*folder.rglob("*"), *folder.parent.glob("orrery/stream/*.h")]):
        if path.name == "Makefile" or (path.suffix in _SOURCES and not path.stem.endswith("_test")):
            seen.update(path.name.encode() + path.read_bytes())
    return seen.hexdigest()[:16]


def _is_writable(place):
    """Returns whether the folder can be written, or created."""
    while not place.exists() and place != place.parent:
        place = place.parent
    return place.is_dir() and os.access(place, os.W_OK)


def cache(variables=os.environ):
    """$XDG_CACHE_HOME/orrery, ~/.cache/orrery; a folder of the user's in /tmp where there is no home. Makes nothing."""
    room = variables.get("XDG_CACHE_HOME") or (f"{variables['HOME']}/.cache" if variables.get("HOME") else "")
    for place in (f"{room}/orrery" if room else "", f"{tempfile.gettempdir()}/orrery-{os.getuid()}"):
        if place and _is_writable(pathlib.Path(place)):
            return pathlib.Path(place)
    raise BuildError("neither ~/.cache nor /tmp can be written; set XDG_CACHE_HOME to a folder that can")


def folder_of(target, folder=FOLDER, variables=os.environ):
    """Returns the path of the target, which may not be built yet."""
    return cache(variables) / _digest(folder) / target


def _make(words, folder=FOLDER):
    """Why it failed; "" when it did not."""
    try:
        made = subprocess.run(["make", "-s", f"-j{os.cpu_count() or 1}", "-C", str(folder), *words], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except FileNotFoundError:
        return "make is not installed"
    lines = [line for line in made.stdout.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line]
    return "" if made.returncode == 0 else (errors or lines or [f"make ended with {made.returncode}"])[0].strip()


def build(target, *words, name=None, about="the recording library", make=_make, variables=os.environ):
    """The folder that holds the built target, named `name`; builds it where it is not there yet. `words` go to make."""
    place = folder_of(name or target, variables=variables)
    if place.is_dir():
        return place
    print(f"orrery-capture: building {about} for this machine, once, about 30 s", file=sys.stderr, flush=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        why = make([target, f"BUILD={work}", *words])
        if why:
            raise BuildError(why)
        for objects in work.glob("*-objects"):
            shutil.rmtree(objects)
        work.chmod(0o755)
        try:
            work.rename(place)
        except OSError:  # another process was faster
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return place
