"""The tree of results, as users of Echo's slowdown module know it."""

import gzip
import json
import os

FOLDERS = ("raw", "processed", "datasets", "features", "models", "predictions", "evaluation")
COMPUTE, NCCL = "kernel", "nccl"


class Tree:
    """Files of one run. Each raw document is written at once, so a killed run loses one kernel."""

    def __init__(self, folder):
        self.folder = folder
        for name in FOLDERS:
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def _raw(self, number, kind=COMPUTE):
        return self.path("raw", f"{kind}-{number:05d}.json.gz")

    def _left_out(self, number):
        return self.path("raw", f"{COMPUTE}-{number:05d}.left-out")

    def has(self, number, kind=COMPUTE):
        return os.path.exists(self._raw(number, kind))

    def write(self, number, document, kind=COMPUTE):
        path = self._raw(number, kind)
        with gzip.open(path + ".part", "wt", encoding="utf-8", compresslevel=5) as file:
            json.dump(document, file, separators=(",", ":"))
        os.replace(path + ".part", path)

    def leave_out(self, number, reason):
        """Notes a kernel that is not fit, so that a run that goes on does not try it again."""
        with open(self._left_out(number), "w", encoding="utf-8") as file:
            file.write(reason + "\n")

    def was_left_out(self, number):
        return os.path.exists(self._left_out(number))

    def documents(self, kind=COMPUTE):
        """Reads what was measured, in order of numbers."""
        for name in sorted(os.listdir(self.path("raw"))):
            if name.startswith(kind + "-") and name.endswith(".json.gz"):
                with gzip.open(self.path("raw", name), "rt", encoding="utf-8") as file:
                    yield json.load(file)
