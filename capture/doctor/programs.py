"""Finds programs of the CUDA toolkit and asks them for their versions."""

import glob
import os
import re
import shutil
import subprocess

_SECONDS = 60.0
_TOOLKIT = "usr/local/cuda/bin"
# Where installers put what is often not in $PATH, by program; a star stands for the version.
_PLACES = {
    "nvcc": (_TOOLKIT,),
    "ncu": (_TOOLKIT, "opt/nvidia/nsight-compute", "opt/nvidia/nsight-compute/*"),
    "nsys": (_TOOLKIT, "opt/nvidia/nsight-systems/bin", "opt/nvidia/nsight-systems/*/bin"),
    "compute-sanitizer": (_TOOLKIT,),
}


def _numbers(path):
    return [int(digits) for digits in re.findall(r"\d+", path)]


def find(name, path=None, root="/"):
    """The program's path in $PATH (or `path`) or in a known place; None where it is absent."""
    found = shutil.which(name, path=path)
    if found:
        return found
    for folder in _PLACES.get(name, ()):
        candidates = glob.glob(os.path.join(glob.escape(root), folder, name))
        usable = [one for one in candidates if os.access(one, os.X_OK)]
        if usable:
            return max(usable, key=_numbers)  # the newest version
    return None


def output(command):
    """(exit status, what it printed on both streams); None where it cannot be run."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True,
                              errors="replace", timeout=_SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode, done.stdout + done.stderr


def version_in(text):
    """"2025.3.1.0" of "Version 2025.3.1.0 (build …)", "13.0" of "release 13.0, V13.0.88"."""
    match = re.search(r"\b(?:[Vv]ersion|release) (\d+(?:\.\d+)*)", text)
    return match[1] if match else ""


def version(program):
    """What the program says of its version; "" where it does not run or does not say."""
    if not program:
        return ""
    said = output([program, "--version"])
    return version_in(said[1]) if said and said[0] == 0 else ""
