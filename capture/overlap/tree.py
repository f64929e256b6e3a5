"""The tree of results, as users of Echo's slowdown module know it."""

import gzip
import json
import os

FOLDERS = ("raw", "processed", "datasets", "features", "models", "predictions", "evaluation")


class Tree:
    """Files of one run. Each raw document is written at once, so a killed run loses one kernel."""

    def __init__(self, folder):
        self.folder = folder
        for name in FOLDERS:
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def _raw(self, number):
        return self.path("raw", f"kernel-{number:05d}.json.gz")

    def has(self, number):
        return os.path.exists(self._raw(number))

    def write(self, number, document):
        path = self._raw(number)
        with gzip.open(path + ".part", "wt", encoding="utf-8", compresslevel=5) as file:
            json.dump(document, file, separators=(",", ":"))
        os.replace(path + ".part", path)

    def documents(self):
        """Reads what was measured, in order of numbers."""
        for name in sorted(os.listdir(self.path("raw"))):
            if name.endswith(".json.gz"):
                with gzip.open(self.path("raw", name), "rt", encoding="utf-8") as file:
                    yield json.load(file)
