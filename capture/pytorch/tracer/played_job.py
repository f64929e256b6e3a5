"""A job whose ranks are played one after another into a folder."""

import os
import sys

from tracer import driver, fewer_layers, files, rank_log, request as requests, step_file


def _show(line):
    print(line, file=sys.stderr, flush=True)


def say(sentence):
    _show(f"trace: {sentence}")


def outcome(statuses, ranks):
    """How many of the ranks are recorded, in words."""
    statuses = list(statuses)
    text = f"{statuses.count(requests.COMPLETE)} of {ranks} ranks complete"
    partial = statuses.count(requests.INCOMPLETE)
    return f"{text}, {partial} in part" if partial else text


class PlayedJob:
    """The words of the command line, the ranks to play, and what came of them."""

    def __init__(self, options, name, world, classes, words=None):
        self.out = options.out or f"trace-{name}"
        self._options = options
        self._name = name
        self._world = world
        self._classes = classes
        self._words = words or {}
        self._driver = driver.Driver(self.out, show=_show)

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
        return fewer_layers.play_all([rank for rank, _ in self._classes], layers, fewest,
                                     self._play_rank, say)

    def _play_rank(self, rank, layers):
        text = dict(self._classes)[rank]
        say(f"rank {rank} of {self._world} (stands for {text})"
             + (f", {layers} layers" if layers else ""))
        status = self._driver.play(self._request(rank, layers), self._options.timing_runs)
        if status in driver.RECORDED:
            say(f"rank {rank}: " + driver.summary(os.path.join(self.out, f"rank-{rank}")))
        return status

    def _request(self, rank, layers):
        options = self._options
        return requests.Request(
            folder="", rank=rank, world=self._world, steps=options.steps,
            profiled_steps=options.profiled_steps, layers=layers, options=self._words,
            script=options.script)

    def finish(self, statuses, plan, training, model, remarks):
        """Writes trace.json; returns the exit status."""
        if requests.OUT_OF_MEMORY in statuses.values():
            driver.remove_if_empty(self.out)
            _show(f"{rank_log.OURS}{self._name} does not fit into the GPU's memory, not even with "
                  "fewer layers: say a smaller --batch or --sequence, or more ranks that share it")
            return 2
        listed = step_file.ranks(self._classes, statuses, driver.RECORDED)
        if not listed or not self._facts:
            driver.remove_if_empty(self.out)
            return 2
        told = [one for facts in self._driver.facts.values() for one in facts["remarks"]]
        remarks = list(dict.fromkeys(one for one in [*remarks, *told] if one))
        files.write_json(os.path.join(self.out, "trace.json"), step_file.document(
            self._name, ["orrery", *sys.argv[1:]], self._facts, self._world, plan, training, model,
            listed, remarks))
        for sentence in remarks:
            say(sentence)
        say(f"{self.out}: {outcome(statuses.values(), len(self._classes))}")
        is_whole = all(statuses.get(rank) == requests.COMPLETE for rank, _ in self._classes)
        return 0 if is_whole else 3
