"""steps.json: times of steps without and with the profiler, and whether all was recorded."""

from tracer import files

UNDER_WAY = "the recording is under way"
_TIMES = ("step_ms", "issue_ms", "alone_ms")


class StepFile:
    """Kept on disk as it grows, so that what was measured before a crash is there."""

    def __init__(self, path):
        self._path = path
        self.without_profiler = {**{name: [] for name in _TIMES}, "gpu_ms": {}}
        self.with_profiler = {"step_ms": []}
        self.warmup_steps = 0
        self.peak_allocated_bytes = 0
        self.peak_reserved_bytes = 0

    def document(self, is_complete, why):
        return {"complete": is_complete, "why": why,
                "without_profiler": self.without_profiler, "with_profiler": self.with_profiler,
                "other_runs": [], "warmup_steps": self.warmup_steps,
                "peak_allocated_bytes": self.peak_allocated_bytes,
                "peak_reserved_bytes": self.peak_reserved_bytes}

    def write(self, is_complete=False, why=UNDER_WAY):
        files.write_json(self._path, self.document(is_complete, why))


def times(path):
    """What another run of the same rank adds to `other_runs`."""
    found = files.read_json(path)["without_profiler"]
    return {name: found[name] for name in _TIMES}


def add_run(path, measured):
    """Writes the times of another run into the file of the first."""
    document = files.read_json(path)
    document["other_runs"].append(measured)
    files.write_json(path, document)
