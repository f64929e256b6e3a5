"""Plays ranks one after another, each in a process of its own, into one folder."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

from tracer import files, rank_log, request as requests, step_file

RECORDED = (requests.COMPLETE, requests.INCOMPLETE)
PROGRAM = pathlib.Path(__file__).resolve().parent / "rank_process.py"
_LOG = "log.txt"


def run_process(request_path, log_path):
    """The status of the process that plays a rank; all it prints goes into the log."""
    with open(log_path, "wb") as log:
        return subprocess.run([sys.executable, str(PROGRAM), request_path], stdout=log,
                              stderr=subprocess.STDOUT, check=False).returncode


def remove_if_empty(folder):
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _remove_if_there(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def _text(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


class Driver:
    """The folder of a traced job. `run` plays the rank of a request file, `show` prints a line.
    Raises FolderInUse where another run writes there."""

    def __init__(self, out, run=run_process, show=print):
        self._out = out
        self._run = run
        self._show = show
        self._lock = files.lock_folder(out)
        self.facts = {}  # of ranks that were recorded

    def release(self):
        """Lets other runs write there."""
        self._lock.release()

    def play(self, request, timing_runs=0):
        """Plays one rank into its folder, which appears when it is whole. Returns the status."""
        folder = os.path.join(self._out, f"rank-{request.rank}")
        request = dataclasses.replace(request, folder=f"{folder}.part")
        shutil.rmtree(request.folder, ignore_errors=True)
        _remove_if_there(f"{folder}.{_LOG}")
        status = self._kept(request, self._process(request))
        self._report(request.folder, folder, status)
        if status == requests.COMPLETE:
            self._time_again(request, timing_runs)
        if status in RECORDED:
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(request.folder, folder)
        else:
            shutil.rmtree(request.folder, ignore_errors=True)
        return status

    def _process(self, request):
        os.makedirs(request.folder)
        asked = os.path.join(request.folder, "request.json")
        request.write(asked)
        try:
            return self._run(asked, os.path.join(request.folder, _LOG))
        finally:
            os.remove(asked)

    def _kept(self, request, status):
        """A process that was ended from outside may have left a recording all the same."""
        if status in (requests.REFUSED, requests.OUT_OF_MEMORY):
            return status
        steps = os.path.join(request.folder, "steps.json")
        facts = os.path.join(request.folder, "facts.json")
        if not os.path.exists(steps) or not os.path.exists(facts):
            self._show(f"{rank_log.OURS}rank {request.rank} cannot be played: its process ended "
                       f"with status {status}")
            return requests.REFUSED
        found = files.read_json(facts)
        os.remove(facts)
        self.facts[found.pop("rank")] = found
        document = files.read_json(steps)
        if document["why"] != step_file.UNDER_WAY:
            return status
        document.update(complete=False, why=f"the process ended with status {status}")
        files.write_json(steps, document)
        return requests.INCOMPLETE

    def _report(self, part, folder, status):
        """Shows what the process said; its log is kept where something went wrong."""
        log = os.path.join(part, _LOG)
        text = _text(log)
        is_failed = status not in (requests.COMPLETE, requests.OUT_OF_MEMORY)
        error = rank_log.error_end(text) if is_failed else []
        for line in [*error, *rank_log.sentences(text)]:
            self._show(line)
        if error and status == requests.REFUSED:
            os.replace(log, f"{folder}.{_LOG}")
        elif not error:
            _remove_if_there(log)

    def _time_again(self, request, runs):
        """Plays the rank for its times alone, and adds them to its steps.json."""
        for number in range(1, runs + 1):
            again = dataclasses.replace(request, is_timing_only=True,
                                        folder=os.path.join(request.folder, f"run-{number}"))
            status = self._process(again)
            steps = os.path.join(again.folder, "steps.json")
            if status == requests.COMPLETE:
                step_file.add_run(os.path.join(request.folder, "steps.json"),
                                  step_file.times(steps))
            else:
                self._show(f"{rank_log.OURS}rank {request.rank}: a further run for times ended "
                           f"with status {status} and is left out")
            shutil.rmtree(again.folder)


def summary(folder):
    """One line on a rank that was recorded."""
    steps = files.read_json(os.path.join(folder, "steps.json"))
    times = steps["without_profiler"]["step_ms"]
    if not times:
        return f"no step was timed: {steps['why']}"
    text = f"step {statistics.median(times):.2f} ms"
    for run in steps["other_runs"]:
        text += f" and {statistics.median(run['step_ms']):.2f} ms"
    profiled = steps["with_profiler"]["step_ms"]
    if profiled:
        text += f", {statistics.median(profiled):.2f} ms with the profiler"
    text += f", {steps['peak_allocated_bytes'] / 1e9:.1f} GB"
    exchanged = files.read_json(os.path.join(folder, "collectives.json"))["collectives"]
    return f"{text}, {len(exchanged)} exchanges" + ("" if steps["complete"] else " (not complete)")
