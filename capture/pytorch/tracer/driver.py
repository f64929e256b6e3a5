"""Plays ranks one after another, each in a process of its own, into one folder."""

import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

from tracer import files, request as requests

RECORDED = (requests.COMPLETE, requests.INCOMPLETE)
PROGRAM = pathlib.Path(__file__).resolve().parent / "rank_process.py"


def run_process(request_path):
    """The status of the process that plays a rank."""
    return subprocess.run([sys.executable, str(PROGRAM), request_path], check=False).returncode


def remove_if_empty(folder):
    with contextlib.suppress(OSError):
        os.rmdir(folder)


class Driver:
    """The folder of a traced job; `run` plays the rank of a request file."""

    def __init__(self, out, run=run_process):
        self._out = out
        self._run = run
        self.facts = {}  # of ranks that were recorded
        os.makedirs(out, exist_ok=True)

    def play(self, request):
        """Plays one rank into its folder, which appears when it is whole. Returns the status."""
        folder = os.path.join(self._out, f"rank-{request.rank}")
        part = f"{folder}.part"
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        request.folder = part
        asked = os.path.join(self._out, "request.json.part")
        request.write(asked)
        status = self._run(asked)
        os.remove(asked)
        status = self._kept(part, status)
        if status in RECORDED:
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(part, folder)
        else:
            shutil.rmtree(part, ignore_errors=True)
        return status

    def _kept(self, part, status):
        """A process that was ended from outside may have left a recording all the same."""
        if status in (requests.REFUSED, requests.OUT_OF_MEMORY):
            return status
        facts = os.path.join(part, "facts.json")
        if os.path.exists(facts):
            found = files.read_json(facts)
            os.remove(facts)
            self.facts[found.pop("rank")] = found
            return status
        return self._rescued(part, status)

    def _rescued(self, part, status):
        steps = os.path.join(part, "steps.json")
        if not os.path.exists(steps):
            return requests.REFUSED
        document = files.read_json(steps)
        document.update(complete=False, why=f"the process ended with status {status}")
        files.write_json(steps, document)
        return requests.INCOMPLETE


def summary(folder):
    """One line on a rank that was recorded."""
    steps = files.read_json(os.path.join(folder, "steps.json"))
    times = steps["without_profiler"]["step_ms"]
    if not times:
        return f"no step was timed: {steps['why']}"
    profiled = steps["with_profiler"]["step_ms"]
    text = f"step {statistics.median(times):.2f} ms"
    if profiled:
        text += f", {statistics.median(profiled):.2f} ms with the profiler"
    text += f", {steps['peak_allocated_bytes'] / 1e9:.1f} GB"
    exchanged = files.read_json(os.path.join(folder, "collectives.json"))["collectives"]
    return f"{text}, {len(exchanged)} exchanges" + ("" if steps["complete"] else " (not complete)")
