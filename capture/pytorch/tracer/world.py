"""A world of many ranks with one of them in it."""

import os

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from parallel import plan as plans
from tracer import stand_in_group

_RANKS_OF_A_NODE = 8


def set_environment(rank, world):
    """Sets the variables that torchrun would set, except that this rank has the only GPU."""
    node = min(world, _RANKS_OF_A_NODE)
    os.environ.update({
        "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": str(node), "GROUP_RANK": str(rank // node),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "TORCH_DIST_INIT_BARRIER": "0"})
    os.environ.pop("TORCH_DISTRIBUTED_DEBUG", None)


def enter(rank, world, log):
    """Makes this process that rank."""
    set_environment(rank, world)
    torch.cuda.set_device(0)
    stand_in_group.register(log)
    _name_batches(log)
    dist.init_process_group(stand_in_group.BACKEND, store=dist.HashStore(), rank=rank,
                            world_size=world)


def groups():
    """The groups of this process as collectives.json has them."""
    return [{"name": group.group_name, "description": group.group_desc,
             "ranks": plans.ranks_to_text(ranks)}
            for group, ranks in distributed_c10d._world.pg_group_ranks.items()
            if isinstance(group, stand_in_group.StandInGroup)]


def _name_batches(log):
    """Lets the log know which messages are issued together."""
    issue = distributed_c10d.batch_isend_irecv

    def batch_isend_irecv(operations):
        with log.batch():
            return issue(operations)

    _replace("batch_isend_irecv", batch_isend_irecv)


def _replace(name, function):
    setattr(distributed_c10d, name, function)
    setattr(dist, name, function)


def patch_for_scripts():
    """A script's own calls that would look for peers, other GPUs or another backend."""
    _replace("init_process_group", lambda *_, **__: None)
    _replace("destroy_process_group", lambda *_, **__: None)
    _replace("is_nccl_available", lambda: True)
    _replace("new_group", _with_our_backend(distributed_c10d.new_group))
    _replace("broadcast_object_list", _from_root(distributed_c10d.broadcast_object_list))
    torch.cuda.set_device = lambda device: None


def _with_our_backend(new_group):
    def made(ranks=None, timeout=None, backend=None, pg_options=None, *rest, **named):
        named.pop("device_id", None)
        return new_group(ranks, timeout, None, None, *rest, **named)

    return made


def _from_root(broadcast):
    """Objects stay what they are on ranks that would receive them."""
    def broadcast_object_list(objects, src=None, *rest, **named):
        if dist.get_rank() == (src or 0):
            broadcast(objects, src, *rest, **named)

    return broadcast_object_list
