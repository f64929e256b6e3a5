"""The recording of one rank: goes from stage to stage as steps end, and keeps what it has."""

import contextlib
import os

from tracer import files, stages, world
from tracer.step_file import StepFile

WARMUP_STEPS = 5
_PHASE_STEPS = 3
_ALONE_STEPS = 5


class Recording:
    """The recording of a rank. The code that runs the steps calls begin(), then end_of_step() after each, until is_done."""

    def __init__(self, request, log):
        os.makedirs(request.folder, exist_ok=True)
        self.log = log
        self.file = StepFile(os.path.join(request.folder, "steps.json"))
        self.estimated_step_s = 0.0
        self.steps_done = 0
        self.remarks = []
        self._folder = request.folder
        self._exchanges = None
        self._done = 0  # steps of the stage
        self._stages = [stages.WarmUp(self, WARMUP_STEPS), stages.Running(self, request.steps),
                        stages.Alone(self, _ALONE_STEPS)]
        if not request.is_timing_only:
            self._stages += self._recording_stages(request.profiled_steps)

    def _recording_stages(self, profiled_steps):
        return [stages.Phases(self, _PHASE_STEPS), stages.Profile(self, profiled_steps),
                stages.ExecutionTrace(self, 1), stages.Memory(self, 1)]

    @property
    def is_done(self):
        return not self._stages

    @property
    def stage(self):
        return self._stages[0]

    def path(self, name):
        return os.path.join(self._folder, name)

    def begin(self):
        self._write_exchanges()
        self.file.write()
        self.stage.begin()
        self._begin_step()

    def end_of_step(self):
        self.log.end_step()
        self.steps_done += 1
        self._done += 1
        self.stage.after_step()
        if self._done == self.stage.steps:
            self._next_stage()
        if not self.is_done:
            self._begin_step()

    def note_exchanges(self):
        """Of the step that just ended; steps of one recording should not differ."""
        if self._exchanges is not None and self._exchanges != self.log.last:
            self.remark("The recorded steps do not exchange the same; the last one is kept.")
        self._exchanges = self.log.last

    @contextlib.contextmanager
    def phase(self, name):
        self.phase_begins(name)
        try:
            yield
        finally:
            self.phase_ends(name)

    def phase_begins(self, name):
        if not self.is_done:
            self.stage.phase_begins(name)

    def phase_ends(self, name):
        if not self.is_done:
            self.stage.phase_ends(name)

    def finish(self, why=""):
        """Writes what is known; `why` says what ended a recording that is not complete."""
        self.file.write(self.is_done and not why, why)
        self._write_exchanges()
        if self.log.on_host:
            self.remark("Exchanges of tensors in the host's memory are not recorded.")

    def _write_exchanges(self):
        exchanges = self.log.last if self._exchanges is None else self._exchanges
        files.write_json(self.path("collectives.json"),
                         {"groups": world.groups(), "collectives": exchanges})

    def _begin_step(self):
        self.log.begin_step()
        self.stage.before_step()

    def _next_stage(self):
        self.stage.end()
        self._stages.pop(0)
        self._done = 0
        self._write_exchanges()
        self.file.write()
        if self._stages:
            self.stage.begin()

    def remark(self, sentence):
        if sentence not in self.remarks:
            self.remarks.append(sentence)
