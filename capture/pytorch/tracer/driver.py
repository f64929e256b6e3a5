"""Traces ranks one after another, each in a process of its own, into one folder, with fewer layers if memory does not suffice."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

from tracer import files, rank_log, step_file

FEWEST = 2


def counts(layers, fewest=FEWEST):
    """Yields the numbers of layers to try, one after the other; 0 means all, of whatever kind."""
    yield layers
    while layers // 2 >= max(fewest, 1):
        layers //= 2
        yield layers


def play_all(ranks, layers, fewest, play, say):
    """Traces every rank with the same number of layers, the highest that fits.

    play(rank, layers) returns a status. Returns ({rank: status}, layers)."""
    for count in counts(layers, fewest):
        statuses = _statuses(ranks, count, play)
        if files.OUT_OF_MEMORY not in statuses.values():
            break
        say(f"the GPU's memory does not suffice for {_layers_text(count)}")
    return statuses, count


def _statuses(ranks, layers, play):
    statuses = {}
    for rank in ranks:
        statuses[rank] = play(rank, layers)
        if statuses[rank] == files.OUT_OF_MEMORY or _is_refused(statuses):
            break
    return statuses


def _is_refused(statuses):
    """Returns whether the first rank could not be traced: then none can."""
    return list(statuses.values()) == [files.REFUSED]


def _layers_text(count):
    return f"{count} layers" if count else "the model"


def remark(layers, traced):
    """For trace.json; empty where all layers were traced."""
    if traced == layers:
        return ""
    return (f"{traced} of {layers} layers were traced; layers are alike, and the inner ones are to "
            "be repeated.")


RECORDED = (files.COMPLETE, files.INCOMPLETE)
PROGRAM = pathlib.Path(__file__).resolve().parent / "rank_process.py"
_LOG = "log.txt"


def run_process(request_path, log_path):
    """Runs the process of a rank and returns its status; all it prints goes into the log."""
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
    """The folder of a traced job. `run` traces the rank of a request file, `show` prints a line.
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
        """Traces one rank into its folder, which appears when it is complete. Returns the status."""
        folder = os.path.join(self._out, f"rank-{request.rank}")
        request = dataclasses.replace(request, folder=f"{folder}.part")
        shutil.rmtree(request.folder, ignore_errors=True)
        _remove_if_there(f"{folder}.{_LOG}")
        status = self._kept(request, self._process(request))
        self._report(request.folder, folder, status)
        if status == files.COMPLETE:
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
        if status in (files.REFUSED, files.OUT_OF_MEMORY):
            return status
        steps = os.path.join(request.folder, "steps.json")
        facts = os.path.join(request.folder, "facts.json")
        if not os.path.exists(steps) or not os.path.exists(facts):
            self._show(f"{rank_log.OURS}rank {request.rank} cannot be traced: its process ended "
                       f"with status {status}")
            return files.REFUSED
        found = files.read_json(facts)
        os.remove(facts)
        self.facts[found.pop("rank")] = found
        document = files.read_json(steps)
        if document["why"] != step_file.UNDER_WAY:
            return status
        document.update(complete=False, why=f"the process ended with status {status}")
        files.write_json(steps, document)
        return files.INCOMPLETE

    def _report(self, part, folder, status):
        """Shows what the process said; its log is kept where something went wrong."""
        log = os.path.join(part, _LOG)
        text = _text(log)
        is_failed = status not in (files.COMPLETE, files.OUT_OF_MEMORY)
        error = rank_log.error_end(text) if is_failed else []
        for line in [*error, *rank_log.sentences(text)]:
            self._show(line)
        if error and status == files.REFUSED:
            os.replace(log, f"{folder}.{_LOG}")
        elif not error:
            _remove_if_there(log)

    def _time_again(self, request, runs):
        """Runs the rank for its times alone, and adds them to its steps.json."""
        for number in range(1, runs + 1):
            again = dataclasses.replace(request, is_timing_only=True,
                                        folder=os.path.join(request.folder, f"run-{number}"))
            status = self._process(again)
            steps = os.path.join(again.folder, "steps.json")
            if status == files.COMPLETE:
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


def _show(line):
    print(line, file=sys.stderr, flush=True)


def say(sentence):
    _show(f"trace: {sentence}")


def outcome(statuses, ranks):
    """Returns a text with the number of recorded ranks."""
    statuses = list(statuses)
    text = f"{statuses.count(files.COMPLETE)} of {ranks} ranks complete"
    partial = statuses.count(files.INCOMPLETE)
    return f"{text}, {partial} in part" if partial else text


class PlayedJob:
    """The words of the command line, the ranks to trace, and their results."""

    def __init__(self, options, name, world, classes, words=None):
        self.out = options.out = options.out or f"trace-{name}"
        self._options = options
        self._name = name
        self._world = world
        self._classes = classes
        self._words = words or {}
        self._driver = Driver(self.out, show=_show)

    @property
    def _facts(self):
        return next(iter(self._driver.facts.values()), {})

    @property
    def parameters(self):
        return self._facts.get("parameters", 0)

    @property
    def device(self):
        return self._facts.get("device", {}).get("name", "")

    def play(self, layers, fewest):
        """({rank: status}, layers)."""
        return play_all([rank for rank, _ in self._classes], layers, fewest,
                                     self._play_rank, say)

    def _play_rank(self, rank, layers):
        text = dict(self._classes)[rank]
        say(f"rank {rank} of {self._world} (stands for {text})"
             + (f", {layers} layers" if layers else ""))
        status = self._driver.play(self._request(rank, layers), self._options.timing_runs)
        if status in RECORDED:
            say(f"rank {rank}: " + summary(os.path.join(self.out, f"rank-{rank}")))
        return status

    def _request(self, rank, layers):
        options = self._options
        return files.Request(
            folder="", rank=rank, world=self._world, steps=options.steps,
            profiled_steps=options.profiled_steps, layers=layers, options=self._words,
            script=options.script)

    def finish(self, statuses, plan, training, model, remarks):
        """Writes trace.json; returns the exit status."""
        if files.OUT_OF_MEMORY in statuses.values():
            remove_if_empty(self.out)
            _show(f"{rank_log.OURS}{self._name} does not fit into the GPU's memory, not even with "
                  "fewer layers: say a smaller --batch or --sequence, or more ranks that share it")
            return 2
        listed = step_file.ranks(self._classes, statuses, RECORDED)
        if not listed or not self._facts:
            remove_if_empty(self.out)
            return 2
        told = [one for facts in self._driver.facts.values() for one in facts["remarks"]]
        remarks = list(dict.fromkeys(one for one in [*remarks, *told] if one))
        files.write_json(os.path.join(self.out, "trace.json"), step_file.document(
            self._name, ["orrery", *sys.argv[1:]], self._facts, self._world, plan, training, model,
            listed, remarks))
        for sentence in remarks:
            say(sentence)
        say(f"{self.out}: {outcome(statuses.values(), len(self._classes))}")
        is_whole = all(statuses.get(rank) == files.COMPLETE for rank, _ in self._classes)
        return 0 if is_whole else 3
