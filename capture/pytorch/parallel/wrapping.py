"""Builds models and what PyTorch wraps around them for a plan: device mesh, DDP, FSDP2, stages of a decoder, ranges of layers, optimizer, a rank's training step."""

import contextlib
import inspect

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel


def on_device(description, settings, layers, device):
    """Returns the model with its own random weights."""
    with _default_type(settings.parameter_type()), torch.device(device):
        model = description.torch_side().make(description, layers)
    model = model.to(device=device, dtype=settings.parameter_type())
    return model.to(memory_format=torch.channels_last) if settings.channels_last else model


def without_parameters(description, settings, layers, device):
    """Returns the model with buffers on the device and parameters on the meta device: see materialise()."""
    with _default_type(settings.parameter_type()), torch.device(device), _parameters_on_meta():
        model = description.torch_side().make(description, layers)
    return model.to(dtype=settings.parameter_type())


def materialise(model, device, seed):
    """Allocates the parameters, or the shards that are left of them, and fills them with random numbers."""
    tied = _tied(model)
    model._apply(lambda tensor: torch.empty_like(tensor, device=device) if tensor.device.type == "meta" else tensor)
    for places in tied:
        first, name = places[0]
        for module, other in places[1:]:
            module._parameters[other] = first._parameters[name]
    _fill(model, device, seed)
    return model


def count(model):
    """Returns the elements of all parameters, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())


@contextlib.contextmanager
def _default_type(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def _parameters_on_meta():
    register = nn.Module.register_parameter

    def register_on_meta(module, name, parameter):
        register(module, name, parameter)
        if parameter is not None and parameter.device.type != "meta":
            module._parameters[name] = nn.Parameter(parameter.detach().to("meta"), parameter.requires_grad)

    nn.Module.register_parameter = register_on_meta
    try:
        yield
    finally:
        nn.Module.register_parameter = register


def _tied(model):
    places = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                places.setdefault(id(parameter), []).append((module, name))
    return [each for each in places.values() if len(each) > 1]


@torch.no_grad()
def _fill(model, device, seed):
    generator = torch.Generator(device=device).manual_seed(seed)
    for name, parameter in model.named_parameters():
        local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
        if parameter.dim() > 1:
            local.normal_(0.0, 0.02, generator=generator)
        else:
            local.fill_(0.0 if name.endswith("bias") else 1.0)


IGNORED = -100  # label that the loss leaves out


class Decoder(nn.Module):
    """Layers `begin` to `end` of a Hugging Face decoder, with the embedding if they are the first and with norm and
    head if they are the last. Takes tokens or hidden states, gives hidden states or logits. Keeps no keys and
    values, has no mask besides the causal one."""

    def __init__(self, model, trunk, begin, end, computing):
        super().__init__()
        layers = model.get_submodule(trunk.layers)
        self.embedding = model.get_submodule(trunk.embedding) if begin == 0 else None
        self.positions = model.get_submodule(trunk.positions) if trunk.positions and begin == 0 else None
        self.rotary = _rotary(model, trunk)
        self.layers = nn.ModuleList(layers[begin:end])
        self.norm = model.get_submodule(trunk.norm) if end == len(layers) else None
        self.head = model.get_submodule(trunk.head) if end == len(layers) else None
        self.sequence = 0  # of the whole sample, which hidden states may have a part of
        self._computing = computing
        self._accepted = set(inspect.signature(self.layers[0].forward).parameters)

    def forward(self, states):
        with self._computing():
            positions = torch.arange(self.sequence, device=states.device).unsqueeze(0)
            if self.embedding is not None:
                states = self.embedding(states)
            if self.positions is not None:
                states = states + self.positions(positions)
            extra = self._extra(states, positions)
            for layer in self.layers:
                states = layer(states, **extra)
                states = states[0] if isinstance(states, tuple) else states
            return states if self.head is None else self.head(self.norm(states))

    def _extra(self, states, positions):
        known = {"position_ids": positions, "use_cache": False}
        if self.rotary is not None:
            known["position_embeddings"] = self.rotary(states, positions)
        return {name: value for name, value in known.items() if name in self._accepted}


def labels(ids):
    """Returns what follows each token."""
    return functional.pad(ids[:, 1:], (0, 1), value=IGNORED)


def loss(logits, wanted):
    """Returns the cross entropy in fp32, as Hugging Face's own loss has it."""
    return functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), ignore_index=IGNORED)


def _rotary(model, trunk):
    owner, _, name = trunk.rotary.rpartition(".")
    return getattr(model.get_submodule(owner), name, None) if name else None


def make_mesh(plan):
    """Returns the mesh of the dimensions that have more than one rank, None where there are none."""
    from torch.distributed.device_mesh import init_device_mesh
    used = [(name, size) for name, size, _ in plan.mesh if size > 1]
    if not used:
        return None
    return init_device_mesh("cuda", tuple(size for _, size in used), mesh_dim_names=tuple(name for name, _ in used))


def register_ddp_hook(model, group):
    """Replaces DDP's own reduction of a bucket, for process groups whose work DDP's C++ side refuses.

    DDP waits for the future of each bucket's all-reduce, and since PyTorch 2.11 refuses a group without one. The hook
    calls the all-reduce and returns a completed future. Unlike DDP, which divides gradients while copying them into a
    bucket, it divides the bucket: one more small kernel per bucket."""
    model.register_comm_hook(_HookState(group), _reduce_bucket)


class _HookState:
    def __init__(self, group):
        self.group = group
        self.stream = torch.cuda.Stream()


def _reduce_bucket(state, bucket):
    buffer = bucket.buffer()
    buffer.div_(dist.get_world_size(state.group))
    work = dist.all_reduce(buffer, group=state.group, async_op=True)
    future = torch.futures.Future(devices=[torch.device("cuda", torch.cuda.current_device())])
    state.stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(state.stream):
        if work is not None:
            work.wait()
        future.set_result(buffer)
    return future


def wrap_ddp(model, mesh, settings):
    """Returns the wrapped model; replicas are not compared with each other first, there is only this one."""
    group = mesh["dp"].get_group() if mesh is not None and mesh.ndim > 1 else None
    options = {"device_ids": [torch.cuda.current_device()], "process_group": group}
    if "init_sync" in inspect.signature(DistributedDataParallel.__init__).parameters:
        options["init_sync"] = False
    wrapped = DistributedDataParallel(model, **options)
    if settings.ddp_hook:
        register_ddp_hook(wrapped, group)
    return wrapped


try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:  # PyTorch 2.5 and older
    from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard


def shard_fsdp(model, layers, mesh, settings):
    """Shards each layer, then what is left of the model as one unit, as PyTorch's own examples do."""
    options = {"mesh": mesh["dp"]}
    if settings.autocast:
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=settings.computed_type(), reduce_dtype=torch.float32)
    for unit in layers or _children(model):
        fully_shard(unit, **options)
    fully_shard(model, **options)


def _children(model):
    units = []
    for child in model.children():
        units += list(child.children()) if isinstance(child, nn.ModuleList) else [child]
    return [unit for unit in units if next(unit.parameters(), None) is not None]


def find_layers(model, description, layers):
    """Returns them as a list, empty where the model has none."""
    if not description.layers:
        return []
    if description.layers_path:
        return list(model.get_submodule(description.layers_path))
    lists = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) == layers]
    return list(lists[0]) if lists else []


def mark_layers(layers, first=0):
    """Puts a range around each layer's call; outside a recording it costs two calls that do nothing. To be
    called after FSDP's own hooks are in place, so that gathering a layer belongs to the layer."""
    for index, layer in enumerate(layers, first):
        marker = _Marker(f"layer#{index}")
        layer.register_forward_pre_hook(marker.enter, prepend=True)
        layer.register_forward_hook(marker.leave)


class _Marker:
    def __init__(self, name):
        self._name = name
        self._open = []

    def enter(self, module, inputs):
        if torch._C._autograd._profiler_enabled():
            self._open.append(torch.profiler.record_function(self._name))
            self._open[-1].__enter__()

    def leave(self, module, inputs, output):
        if self._open:
            self._open.pop().__exit__(None, None, None)


def make_optimizer(model, settings):
    """Returns fused AdamW, or SGD with momentum. Parameters on different meshes are groups of their own, since one
    fused call cannot mix them."""
    groups = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            groups.setdefault(getattr(parameter, "device_mesh", None), []).append(parameter)
    parts = [{"params": parameters} for parameters in groups.values()]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(parts, lr=1e-3, momentum=0.9)
    return torch.optim.AdamW(parts, lr=1e-4, fused=True)


class Replica:
    """Forward and backward pass of each accumulated micro-batch, then the optimizer."""

    def __init__(self, model, loss_of, optimizer, settings, parameters, remarks=(), around=contextlib.nullcontext):
        self.parameters = parameters
        self.remarks = list(remarks)
        self._model = model
        self._loss_of = loss_of
        self._optimizer = optimizer
        self._accumulation = settings.accumulation
        self._around = around

    def step(self, phase):
        """Runs one step; each part under phase("forward"), phase("backward"), phase("optimizer")."""
        for index in range(self._accumulation):
            with self._around(), self._reducing(index == self._accumulation - 1):
                with phase("forward"):
                    loss = self._loss_of()
                    loss = loss / self._accumulation if self._accumulation > 1 else loss
                with phase("backward"):
                    loss.backward()
        with phase("optimizer"):
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)

    def _reducing(self, is_last):
        # DDP reduces once a step; FSDP2 reduces each micro-batch, so that no whole gradients are kept.
        hold = getattr(self._model, "no_sync", None)
        return hold() if hold and not is_last else contextlib.nullcontext()
