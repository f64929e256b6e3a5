"""One stage of a pipeline under PyTorch's schedules."""

import contextlib
import inspect

import torch

from . import trunk


class Stage:
    """A step of one stage: what its schedule runs, then the optimizer."""

    def __init__(self, stage, schedule, inputs, optimizer, parameters, remarks, around=contextlib.nullcontext):
        self.parameters = parameters
        self.remarks = list(remarks)
        self._stage = stage
        self._schedule = schedule
        self._inputs = inputs
        self._optimizer = optimizer
        self._around = around
        self._phases = _Phases(stage, schedule)
        self._has_numbers = False
        options = inspect.signature(schedule.step).parameters
        self._options = {"return_outputs": False} if "return_outputs" in options else {}

    def step(self, phase):
        """Runs one step; each pass of each micro-batch is under its phase."""
        if not self._has_numbers:
            self._fill_buffers()
        self._run(phase)
        with phase("optimizer"):
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)

    def _run(self, phase):
        self._phases.phase = phase
        with self._around():
            if self._stage.is_first:
                self._schedule.step(self._inputs["ids"], **self._options)
            elif self._stage.is_last:
                self._schedule.step(target=self._inputs["labels"], losses=[], **self._options)
            else:
                self._schedule.step(**self._options)

    def _fill_buffers(self):
        """Puts numbers where neighbours would have put theirs: nobody sends here. The buffers exist after a first
        run, whose gradients may be anything and are dropped."""
        self._run(lambda name: contextlib.nullcontext())
        self._optimizer.zero_grad(set_to_none=True)
        for received in (self._stage.args_recv_info, self._stage.grad_recv_info):
            for info in (info for infos in received.values() for info in infos):
                buffer = getattr(info, "buffer", None)
                if buffer is not None and buffer.is_floating_point():
                    with torch.no_grad():
                        buffer.normal_(0.0, 0.02)
        self._has_numbers = True


def make(decoder, plan, settings, mesh, rank, vocabulary):
    """Returns PyTorch's stage and schedule of this rank; shapes are given, so that none are exchanged."""
    from torch.distributed import pipelining
    index = plan.stage_of(rank)
    taken, given = _examples(decoder, plan, settings, vocabulary)
    stage = pipelining.PipelineStage(decoder.wrapped, index, plan.pp, torch.device("cuda", torch.cuda.current_device()),
                                     input_args=taken, output_args=given, group=mesh["pp"].get_group())
    kind = {"1f1b": pipelining.Schedule1F1B, "gpipe": pipelining.ScheduleGPipe}[plan.schedule]
    return stage, kind(stage, plan.microbatches, loss_fn=trunk.loss)


def _examples(decoder, plan, settings, vocabulary):
    samples, tokens = settings.micro_batch, settings.sequence
    kept = tokens // plan.tp if plan.sequence_parallel else tokens
    hidden_type = settings.computed_type() if plan.sharding == "full" else settings.parameter_type()
    ids = torch.empty(samples, tokens, dtype=torch.int64, device="meta")
    hidden = torch.empty(samples, kept, decoder.hidden, dtype=hidden_type, device="meta", requires_grad=True)
    logits = torch.empty(samples, tokens, vocabulary, dtype=settings.computed_type(), device="meta",
                         requires_grad=True)
    return (ids if decoder.is_first else hidden), (logits if decoder.is_last else hidden)


class _Phases:
    """Puts the passes of a stage under the phases of the step at hand. The last stage's forward phase ends with the
    loss, which the schedule computes after the stage's own call."""

    def __init__(self, stage, schedule):
        self.phase = None
        self._open = contextlib.ExitStack()
        self._has_loss = stage.is_last
        forward, backward, loss = stage.forward_one_chunk, stage.backward_one_chunk, schedule._loss_fn

        def run_forward(*arguments, **names):
            self._open.enter_context(self.phase("forward"))
            try:
                return forward(*arguments, **names)
            finally:
                if not self._has_loss:
                    self._open.close()

        def run_backward(*arguments, **names):
            with self.phase("backward"):
                return backward(*arguments, **names)

        def run_loss(*arguments):
            try:
                return loss(*arguments)
            finally:
                self._open.close()

        stage.forward_one_chunk, stage.backward_one_chunk = run_forward, run_backward
        schedule._loss_fn = run_loss
