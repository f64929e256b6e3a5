"""steps.json: times of steps without and with the profiler, and whether all was recorded."""

from tracer import files


class StepFile:
    """Kept on disk as it grows, so that what was measured before a crash is there."""

    def __init__(self, path):
        self._path = path
        self.without_profiler = {"step_ms": [], "issue_ms": [], "alone_ms": [], "gpu_ms": {}}
        self.with_profiler = {"step_ms": []}
        self.warmup_steps = 0
        self.peak_allocated_bytes = 0
        self.peak_reserved_bytes = 0

    def document(self, is_complete, why):
        return {"complete": is_complete, "why": why,
                "without_profiler": self.without_profiler, "with_profiler": self.with_profiler,
                "warmup_steps": self.warmup_steps,
                "peak_allocated_bytes": self.peak_allocated_bytes,
                "peak_reserved_bytes": self.peak_reserved_bytes}

    def write(self, is_complete=False, why="the recording is under way"):
        files.write_json(self._path, self.document(is_complete, why))
