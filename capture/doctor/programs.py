"""Programs of the CUDA toolkit and their versions, and what doctor may ask of a machine; a test passes folders instead of the real ones."""

import glob
import os
import re
import shutil
import subprocess

_SECONDS = 60.0
_TOOLKIT = "usr/local/cuda/bin"
# Folders in which installers put programs that are often not in $PATH; a star stands for the version.
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
    """Returns the version that the program prints; "" if it does not run or prints none."""
    if not program:
        return ""
    said = output([program, "--version"])
    return version_in(said[1]) if said and said[0] == 0 else ""


_ASK_TORCH = (
    "import json, torch\n"
    "print(json.dumps({'torch': torch.__version__, 'cuda': torch.version.cuda or '',"
    " 'gpus': torch.cuda.device_count()}))\n")
_LIBRARIES = ("usr/local/cuda/lib64", "usr/local/cuda/extras/CUPTI/lib64",
              "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64")


class Machine:
    """Programs, libraries and files of the driver."""

    def __init__(self, python, path=None, root="/", is_root=None, library_path=None, variables=None):
        self._variables = os.environ if variables is None else variables
        self.python = python
        self.path = path
        self.root = root
        self.is_root = os.geteuid() == 0 if is_root is None else is_root
        self._library_path = os.environ.get("LD_LIBRARY_PATH", "") if library_path is None else (
            library_path)

    def find(self, program):
        return find(program, self.path, self.root)

    def output(self, *command):
        return output(list(command))

    def ask_torch(self):
        """(exit status, output) of a short program that imports PyTorch."""
        return output([self.python, "-c", _ASK_TORCH])

    def python_folders(self):
        """The folders in which the interpreter finds modules; wheels contain NVIDIA's libraries."""
        said = output([self.python, "-c", "import sys; print('\\n'.join(sys.path))"])
        return [line for line in said[1].splitlines() if line] if said and said[0] == 0 else []

    def find_library(self, pattern):
        """The first file that fits, in the search path, known places, and PyTorch's wheels."""
        folders = [folder for folder in self._library_path.split(os.pathsep) if folder]
        folders += [os.path.join(self.root, folder) for folder in _LIBRARIES]
        for folder in self.python_folders():
            folders += [os.path.join(folder, "nvidia", "*", "lib"),
                        os.path.join(folder, "torch", "lib")]
        for folder in folders:
            found = sorted(glob.glob(os.path.join(folder, pattern)))
            if found:
                return found[0]
        return None

    def exists(self, path):
        """Returns whether a file exists under the root."""
        return os.path.exists(os.path.join(self.root, path))

    @property
    def variables(self):
        return self._variables

    def variable(self, name):
        return self._variables.get(name, "")

    def read(self, path):
        """The text of a file under the root; None where there is none."""
        try:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None
