"""Calls each collective of the stand-in once: which work with this version of PyTorch."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from tracer import exchanges, world
from tracer.rank_log import reason

_WORLD = 4


def _floats(count):
    return torch.ones(count, device="cuda")


def _message(operation, peer):
    for work in dist.batch_isend_irecv([dist.P2POp(operation, _floats(8), peer)]):
        work.wait()


def _gathered_whole(value):
    return value.wait() if hasattr(value, "wait") else value


def _ddp():
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(torch.nn.Linear(16, 16, device="cuda"), device_ids=[0])
    for _ in range(2):
        model(_floats(16)).sum().backward()


def _fsdp():
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        from torch.distributed._composable.fsdp import fully_shard
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)).cuda()
    mesh = dist.init_device_mesh("cuda", (_WORLD,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model(_floats(16)).sum().backward()


def _tensor_parallel():
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   parallelize_module)
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)).cuda()
    mesh = dist.init_device_mesh("cuda", (_WORLD,))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
    model(_floats(16).view(1, 16)).sum().backward()


_CALLS = {
    "all_reduce": lambda: dist.all_reduce(_floats(8)),
    "all_reduce, asynchronous": lambda: dist.all_reduce(_floats(8), async_op=True).wait(),
    "all_gather": lambda: dist.all_gather([_floats(8) for _ in range(_WORLD)], _floats(8)),
    "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(_floats(8 * _WORLD), _floats(8)),
    "reduce_scatter": lambda: dist.reduce_scatter(_floats(8), [_floats(8)] * _WORLD),
    "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(_floats(8), _floats(8 * _WORLD)),
    "all_to_all": lambda: dist.all_to_all([_floats(8) for _ in range(_WORLD)],
                                          [_floats(8) for _ in range(_WORLD)]),
    "all_to_all_single": lambda: dist.all_to_all_single(_floats(8), _floats(8)),
    "broadcast": lambda: dist.broadcast(_floats(8), 1),
    "reduce": lambda: dist.reduce(_floats(8), 0),
    "gather": lambda: dist.gather(_floats(8), [_floats(8) for _ in range(_WORLD)], 0),
    "scatter": lambda: dist.scatter(_floats(8), [_floats(8) for _ in range(_WORLD)], 0),
    "send": lambda: dist.send(_floats(8), 1),
    "receive": lambda: dist.recv(_floats(8), 1),
    "batch of sends": lambda: _message(dist.isend, 1),
    "batch of receives": lambda: _message(dist.irecv, 1),
    "barrier": dist.barrier,
    "all_gather_object": lambda: dist.all_gather_object([None] * _WORLD, {"seed": 1}),
    "new_group": lambda: dist.all_reduce(_floats(8), group=dist.new_group([0, 1])),
    "functional all_reduce": lambda: _gathered_whole(
        functional.all_reduce(_floats(8), "sum", dist.group.WORLD)),
    "functional all_gather": lambda: _gathered_whole(
        functional.all_gather_tensor(_floats(8), 0, dist.group.WORLD)),
    "functional reduce_scatter": lambda: _gathered_whole(
        functional.reduce_scatter_tensor(_floats(8), "sum", 0, dist.group.WORLD)),
    "functional all_to_all": lambda: _gathered_whole(
        functional.all_to_all_single(_floats(8), None, None, dist.group.WORLD)),
    "DDP": _ddp,
    "FSDP2": _fsdp,
    "tensor parallel": _tensor_parallel,
}


def run():
    """Prints a line for each; returns 0 when all work, 3 when some, 2 when none."""
    log = exchanges.ExchangeLog()
    world.enter(0, _WORLD, log)
    works = 0
    for name, call in _CALLS.items():
        log.begin_step()
        try:
            call()
            torch.cuda.synchronize()
            log.end_step()
            kinds = ", ".join(one["kind"] for one in log.last)
            print(f"works          {name:26} {kinds}")
            works += 1
        except Exception as error:
            print(f"does not work  {name:26} {reason(error)}")
    return 0 if works == len(_CALLS) else 3 if works else 2
