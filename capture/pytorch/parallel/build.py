"""Lays a plan over a model: what one rank holds, and its training step."""

import contextlib
import dataclasses

import torch

from . import create, pipeline, plan as plans, trunk, wrapping


@dataclasses.dataclass(frozen=True)
class _Part:
    """What a stage is made of: the bare decoder, and what PyTorch wrapped it into."""

    decoder: trunk.Decoder
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
    model = create.on_device(description, settings, layers, device)
    alike = wrapping.find_layers(model, description, layers)
    parameters = _of_whole_model(model, alike, description)
    wrapping.mark_layers(alike)
    if plan.dp > 1:
        model = wrapping.wrap_ddp(model, wrapping.make_mesh(plan), settings)
    return _replica(description, settings, model, parameters, device, _computing(settings))


def _sharded(description, plan, settings, layers):
    device = _device()
    model = create.without_parameters(description, settings, layers, device)
    alike = wrapping.find_layers(model, description, layers)
    parameters = _of_whole_model(model, alike, description)
    remarks = _uneven(model, plan)
    wrapping.shard_fsdp(model, alike, wrapping.make_mesh(plan), settings)
    create.materialise(model, device, settings.seed)
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
    model = create.without_parameters(description, settings, layers, device)
    parameters = _of_whole_model(model, wrapping.find_layers(model, description, layers), description)
    remarks = _untied(model, description)
    part = _spread(model, description, plan, settings, mesh, plan.layers_of(plan.stage_of(rank), layers))
    remarks += part.remarks
    samples = dataclasses.replace(settings, micro_batch=settings.micro_batch * plan.microbatches)
    ids = description.torch_side().batch(description, samples, device)["input_ids"]
    wanted = trunk.labels(ids)
    optimizer = wrapping.make_optimizer(part.wrapped, settings)
    around = _around_loss(plan)
    if plan.pp > 1:
        words = description.torch_side().vocabulary(description)
        stage, schedule = pipeline.make(part, plan, settings, mesh, rank, words)
        inputs = {"ids": ids, "labels": wanted}
        return pipeline.Stage(stage, schedule, inputs, optimizer, parameters, remarks, around)
    return wrapping.Replica(part.wrapped, lambda: trunk.loss(part.wrapped(ids), wanted), optimizer, settings, parameters,
                   remarks, around)


def _around_loss(plan):
    if plan.tp == 1:
        return contextlib.nullcontext
    from .tensor_parallel import loss_parallel
    return loss_parallel


def _spread(model, description, plan, settings, mesh, layers):
    begin, end = layers
    computing = contextlib.nullcontext if plan.sharding == "full" else _computing(settings)
    decoder = trunk.Decoder(model, description.trunk, begin, end, computing)
    decoder.sequence = settings.sequence
    hidden = model.get_submodule(description.trunk.embedding).embedding_dim
    if plan.tp > 1:
        from . import tensor_parallel
        tensor_parallel.apply(decoder, mesh, plan)
    remarks = _uneven(decoder, plan)
    if plan.sharding == "full":
        wrapping.shard_fsdp(decoder, list(decoder.layers), mesh, settings)
    create.materialise(decoder, _device(), settings.seed)
    decoder.train()
    wrapping.mark_layers(decoder.layers, begin)
    is_replicated = plan.dp > 1 and plan.sharding == "none"
    wrapped = wrapping.wrap_ddp(decoder, mesh, settings) if is_replicated else decoder
    return _Part(decoder, wrapped, hidden, remarks)


def _of_whole_model(model, alike, description):
    left_out = max(0, description.layers - len(alike))
    return create.count(model) + (left_out * create.count(alike[0]) if alike else 0)


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
