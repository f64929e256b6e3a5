#!/usr/bin/env python3
"""Trains a small transformer for a few steps, alone or in a wrapper that spreads it over ranks, and prints the losses as JSON.

  wrapped_pass.py plain
  wrapped_pass.py ddp            DistributedDataParallel; one rank is enough
  wrapped_pass.py fsdp           fully_shard
  wrapped_pass.py plain --snapshot snapshot.pickle --memory-timeline timeline.json

The last form leaves what PyTorch itself records of its memory, which `orrery memory` reads.
"""

import argparse
import contextlib
import json
import os

_STEPS, _WIDTH, _LAYERS, _TOKENS = 3, 256, 2, 512


def _model(torch):
    layers = [torch.nn.TransformerEncoderLayer(_WIDTH, 4, 4 * _WIDTH, dropout=0.0, batch_first=True)
              for _ in range(_LAYERS)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(_WIDTH, 1)).cuda()


def _join_ranks(torch):
    """A torchrun job, or a world of one."""
    for name, value in (("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29531"), ("RANK", "0"), ("WORLD_SIZE", "1")):
        os.environ.setdefault(name, value)
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    torch.distributed.init_process_group("nccl")


def _wrapped(torch, model, wrapper):
    if wrapper == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    if wrapper == "fsdp":
        from torch.distributed.fsdp import fully_shard
        for layer in model:
            fully_shard(layer)
        return fully_shard(model)
    return model


def _steps(torch, model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randn(8, _TOKENS, _WIDTH, generator=torch.Generator().manual_seed(1)).cuda()
    losses = []
    for _ in range(_STEPS):
        loss = model(tokens).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@contextlib.contextmanager
def _snapshot(torch, path):
    if path:
        torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=4000)
    yield
    if path:
        torch.cuda.memory._dump_snapshot(path)


@contextlib.contextmanager
def _memory_timeline(torch, path):
    if not path:
        yield
        return
    with torch.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
        yield
    profile.export_memory_timeline(path, device="cuda:0")


def main():
    import torch
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wrapper", choices=("plain", "ddp", "fsdp"))
    parser.add_argument("--snapshot")
    parser.add_argument("--memory-timeline")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    if options.wrapper != "plain":
        _join_ranks(torch)
    model = _wrapped(torch, _model(torch), options.wrapper)
    with _snapshot(torch, options.snapshot), _memory_timeline(torch, options.memory_timeline):
        losses = _steps(torch, model)
    if options.wrapper != "plain":
        torch.distributed.destroy_process_group()
    print(json.dumps({"wrapper": options.wrapper, "losses": losses}))


if __name__ == "__main__":
    main()
