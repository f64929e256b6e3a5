"""The tree of results, as users of Echo's slowdown module know it, and processed/run.json: what it was measured with."""

import datetime
import gzip
import json
import os
import platform

from doctor import programs

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


LAUNCH_DATA = "cupti launch data only"


class OtherRun(Exception):
    """The tree holds a run that this one cannot continue."""


def utc_text(seconds):
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).isoformat()


class RunRecord:
    """Read when a run begins, written when something of it changes."""

    def __init__(self, tree, seed):
        self._path = tree.path("processed", "run.json")
        self.content = self._read()
        if self.content.get("seed", seed) != seed:
            raise OtherRun(f"{tree.folder} was measured with seed {self.content['seed']}; go on "
                           f"with --seed {self.content['seed']}, or give another --out")
        self.content["seed"] = seed
        self.content.setdefault("counters", {"source": LAUNCH_DATA, "reason": "not asked for yet"})
        self.content.setdefault("runs", [])

    def _read(self):
        try:
            with open(self._path, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise OtherRun(f"{self._path} is not JSON ({error}); remove it, the rest of the tree "
                           "is kept") from error

    def note_machine(self, machine, tools):
        """`machine` as rows name it; `tools` maps names to paths of programs."""
        self.content.update(machine, python=platform.python_version())
        self.content.update({name: programs.version(path) for name, path in tools.items()})

    def note_counters(self, found):
        """Counters of an earlier run stay when they could not be read again."""
        counters = self.content["counters"]
        if found["source"] == LAUNCH_DATA and counters["source"] != LAUNCH_DATA:
            counters["last_try"] = found["reason"]
        else:
            self.content["counters"] = found

    def note_run(self, began, ended, **what):
        self.content["runs"].append({"began": utc_text(began), "ended": utc_text(ended), **what})

    def write(self):
        with open(self._path + ".part", "w", encoding="utf-8") as file:
            json.dump(self.content, file, indent=2, sort_keys=True)
            file.write("\n")
        os.replace(self._path + ".part", self._path)
