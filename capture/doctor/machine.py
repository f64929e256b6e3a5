"""What the doctor may ask a machine; a test hands in folders instead of the real ones."""

import glob
import os

from doctor import programs

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
        return programs.find(program, self.path, self.root)

    def output(self, *command):
        return programs.output(list(command))

    def ask_torch(self):
        """(exit status, output) of a short program that imports PyTorch."""
        return programs.output([self.python, "-c", _ASK_TORCH])

    def python_folders(self):
        """Where the interpreter finds modules; wheels bring NVIDIA's libraries along."""
        said = programs.output([self.python, "-c", "import sys; print('\\n'.join(sys.path))"])
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
        """Whether a file is there under the root."""
        return os.path.exists(os.path.join(self.root, path))

    def variable(self, name):
        return self._variables.get(name, "")

    def read(self, path):
        """The text of a file under the root; None where there is none."""
        try:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return None
