"""A script of the user's as one rank: steps end where its first optimizer steps."""

import os
import sys
import traceback

from tracer import exchanges, files, recorder, script_run, world
from tracer.rank_log import reason


class Enough(BaseException):
    """Ends the script when all is recorded; not an Exception, so that scripts do not catch it."""


class Steps:
    """Turns calls of a script into steps and phases of a recording."""

    def __init__(self, recording):
        self._recording = recording
        self._optimizer = None
        self._open = None
        self._backwards = 0  # of the step under way
        self._expected = 1  # of the step before

    def begin(self):
        self._recording.begin()
        self._enter("forward")

    def _enter(self, name):
        self._leave()
        self._open = name
        self._recording.phase_begins(name)

    def _leave(self):
        if self._open:
            self._recording.phase_ends(self._open)
        self._open = None

    def backward_begins(self):
        self._enter("backward")

    def backward_ends(self):
        self._leave()
        self._backwards += 1
        if self._backwards < self._expected:
            self._enter("forward")

    def optimizer_begins(self, optimizer):
        if self._optimizer is None:
            self._optimizer = optimizer
        if optimizer is self._optimizer:
            self._enter("optimizer")

    def optimizer_ends(self, optimizer):
        if optimizer is not self._optimizer:
            return
        self._leave()
        self._expected, self._backwards = max(1, self._backwards), 0
        self._recording.end_of_step()
        if self._recording.is_done:
            raise Enough
        self._enter("forward")


def _hook(steps):
    """Lets PyTorch report its calls."""
    import torch
    from torch.optim import optimizer as optimizers
    optimizers.register_optimizer_step_pre_hook(
        lambda optimizer, args, named: steps.optimizer_begins(optimizer))
    optimizers.register_optimizer_step_post_hook(
        lambda optimizer, args, named: steps.optimizer_ends(optimizer))
    backward = torch.autograd.backward

    def reported(*args, **named):
        steps.backward_begins()
        try:
            return backward(*args, **named)
        finally:
            steps.backward_ends()

    torch.autograd.backward = reported


def _ended(steps_done, name):
    if steps_done == 0:
        return f"{name} ended without a step of an optimizer"
    return (f"{name} ended after {steps_done} steps, before all was recorded: let it run longer, or "
            "say --steps with a smaller number")


def play(request, save_facts):
    """Records a script; returns the exit status."""
    log = exchanges.ExchangeLog()
    world.enter(request.rank, request.world, log)
    world.patch_for_scripts()
    recording = recorder.Recording(request, log)
    steps = Steps(recording)
    _hook(steps)
    name = os.path.basename(request.script[0])
    save_facts(request, recording, 0, [])
    try:
        steps.begin()
        said = script_run.run(request.script)
        why = f"{name} {said}" if said else _ended(recording.steps_done, name)
    except Enough:
        why = ""
    except BaseException as error:
        traceback.print_exc()
        why = f"{name} ended in step {recording.steps_done + 1} with {reason(error)}"
    if why:
        print(f"orrery-capture: {why}; what was recorded until then is kept", file=sys.stderr)
    recording.finish(why)
    save_facts(request, recording, 0, [])
    return files.INCOMPLETE if why else files.COMPLETE
