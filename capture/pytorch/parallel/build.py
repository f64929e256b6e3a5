"""Lays a plan over a model: what one rank holds, and its training step."""

import contextlib
import dataclasses
import inspect

import torch

from . import plan as plans, wrapping


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
        """Fills the receive buffers, since no neighbour sends data here. The buffers exist after a first
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


def make_stage(decoder, plan, settings, mesh, rank, vocabulary):
    """Returns PyTorch's stage and schedule of this rank; shapes are given, so that none are exchanged."""
    from torch.distributed import pipelining
    index = plan.stage_of(rank)
    taken, given = _examples(decoder, plan, settings, vocabulary)
    stage = pipelining.PipelineStage(decoder.wrapped, index, plan.pp, torch.device("cuda", torch.cuda.current_device()),
                                     input_args=taken, output_args=given, group=mesh["pp"].get_group())
    kind = {"1f1b": pipelining.Schedule1F1B, "gpipe": pipelining.ScheduleGPipe}[plan.schedule]
    return stage, kind(stage, plan.microbatches, loss_fn=wrapping.loss)


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


@dataclasses.dataclass(frozen=True)
class _Part:
    """The parts of a stage: the bare decoder, and the module that PyTorch wrapped around it."""

    decoder: wrapping.Decoder
    wrapped: torch.nn.Module
    hidden: int
    remarks: list

    @property
    def is_first(self):
        return self.decoder.embedding is not None

    @property
    def is_last(self):
        return self.decoder.head is not None


def build(description, plan, settings, rank, layers=None):
    """Returns the workload of a rank, with `parameters` (of the whole model), `remarks` and step(phase). The process
    group is initialised already; `layers` below those of the model builds a shorter one."""
    plans.check_model(description, plan, settings)
    torch.manual_seed(settings.seed)
    layers = layers or description.layers
    if plan.pp > 1 or plan.tp > 1:
        return _decoder(description, plan, settings, rank, layers)
    if plan.sharding == "full":
        return _sharded(description, plan, settings, layers)
    return _whole(description, plan, settings, layers)


def _whole(description, plan, settings, layers):
    device = _device()
    model = wrapping.on_device(description, settings, layers, device)
    alike = wrapping.find_layers(model, description, layers)
    parameters = _of_whole_model(model, alike, description)
    wrapping.mark_layers(alike)
    if plan.dp > 1:
        model = wrapping.wrap_ddp(model, wrapping.make_mesh(plan), settings)
    return _replica(description, settings, model, parameters, device, _computing(settings))


def _sharded(description, plan, settings, layers):
    device = _device()
    model = wrapping.without_parameters(description, settings, layers, device)
    alike = wrapping.find_layers(model, description, layers)
    parameters = _of_whole_model(model, alike, description)
    remarks = _uneven(model, plan)
    wrapping.shard_fsdp(model, alike, wrapping.make_mesh(plan), settings)
    wrapping.materialise(model, device, settings.seed)
    wrapping.mark_layers(alike)
    return _replica(description, settings, model, parameters, device, contextlib.nullcontext, remarks)


def _replica(description, settings, model, parameters, device, computing, remarks=()):
    side = description.torch_side()
    fields = side.batch(description, settings, device)
    model.train()

    def loss_of():
        with computing():
            return side.loss(model, fields)

    return wrapping.Replica(model, loss_of, wrapping.make_optimizer(model, settings), settings, parameters, remarks)


def _decoder(description, plan, settings, rank, layers):
    device, mesh = _device(), wrapping.make_mesh(plan)
    model = wrapping.without_parameters(description, settings, layers, device)
    parameters = _of_whole_model(model, wrapping.find_layers(model, description, layers), description)
    remarks = _untied(model, description)
    part = _spread(model, description, plan, settings, mesh, plan.layers_of(plan.stage_of(rank), layers))
    remarks += part.remarks
    samples = dataclasses.replace(settings, micro_batch=settings.micro_batch * plan.microbatches)
    ids = description.torch_side().batch(description, samples, device)["input_ids"]
    wanted = wrapping.labels(ids)
    optimizer = wrapping.make_optimizer(part.wrapped, settings)
    around = _around_loss(plan)
    if plan.pp > 1:
        words = description.torch_side().vocabulary(description)
        stage, schedule = make_stage(part, plan, settings, mesh, rank, words)
        inputs = {"ids": ids, "labels": wanted}
        return Stage(stage, schedule, inputs, optimizer, parameters, remarks, around)
    return wrapping.Replica(part.wrapped, lambda: wrapping.loss(part.wrapped(ids), wanted), optimizer, settings, parameters,
                   remarks, around)


def _around_loss(plan):
    if plan.tp == 1:
        return contextlib.nullcontext
    from .tensor_parallel import loss_parallel
    return loss_parallel


def _spread(model, description, plan, settings, mesh, layers):
    begin, end = layers
    computing = contextlib.nullcontext if plan.sharding == "full" else _computing(settings)
    decoder = wrapping.Decoder(model, description.trunk, begin, end, computing)
    decoder.sequence = settings.sequence
    hidden = model.get_submodule(description.trunk.embedding).embedding_dim
    if plan.tp > 1:
        from . import tensor_parallel
        tensor_parallel.apply(decoder, mesh, plan)
    remarks = _uneven(decoder, plan)
    if plan.sharding == "full":
        wrapping.shard_fsdp(decoder, list(decoder.layers), mesh, settings)
    wrapping.materialise(decoder, _device(), settings.seed)
    decoder.train()
    wrapping.mark_layers(decoder.layers, begin)
    is_replicated = plan.dp > 1 and plan.sharding == "none"
    wrapped = wrapping.wrap_ddp(decoder, mesh, settings) if is_replicated else decoder
    return _Part(decoder, wrapped, hidden, remarks)


def _of_whole_model(model, alike, description):
    left_out = max(0, description.layers - len(alike))
    return wrapping.count(model) + (left_out * wrapping.count(alike[0]) if alike else 0)


def _untied(model, description):
    path = description.trunk
    if model.get_submodule(path.embedding).weight is not model.get_submodule(path.head).weight:
        return []
    return ["embedding and head are one matrix in the model, but two where it is cut or split"]


def _uneven(model, plan):
    """On the parts of parameters that tensor parallelism left to this rank, if any, before they are sharded."""
    if plan.sharding != "full":
        return []
    parts = (getattr(parameter, "_local_tensor", parameter) for parameter in model.parameters())
    said = plans.uneven_shards_remark([tuple(part.shape) for part in parts], plan.dp)
    return [said] if said else []


def _computing(settings):
    if not settings.autocast:
        return contextlib.nullcontext
    return lambda: torch.autocast("cuda", dtype=settings.computed_type())


def _device():
    return torch.device("cuda", torch.cuda.current_device())
