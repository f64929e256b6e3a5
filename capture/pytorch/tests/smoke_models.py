#!/usr/bin/env python3
"""Builds models and plans on a GPU without the tracer and runs two steps of each: what works here, what not.

  smoke_models.py                                   all of the list below, each in a process of its own
  smoke_models.py llama-1b world=64 fsdp=1 layers=4 rank=17
"""

import contextlib
import pathlib
import subprocess
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from models import catalogue  # noqa: E402
from parallel.plan import Plan, Settings  # noqa: E402

_CASES = [[name] for name in ("gpt2", "llama-1b", "bert-large", "opt-350m", "mixtral-small", "resnet50", "vit_b_16",
                              "alexnet", "vgg19", "dlrm", "ncf", "deepfm")]
_CASES += [["resnet50", "dtype=fp32"], ["gpt2", "accumulation=2"],
           ["llama-1b", "world=64", "fsdp=1", "layers=4"], ["llama-8b", "world=64", "fsdp=1"],
           ["gpt2", "world=64", "fsdp=1"], ["resnet50", "world=8", "fsdp=1"], ["mixtral-small", "world=8", "fsdp=1"],
           ["llama-1b", "world=8", "tp=8", "layers=4"],
           ["llama-1b", "world=8", "tp=8", "layers=4", "sequence_parallel=1"],
           ["llama-1b", "world=64", "tp=8", "fsdp=1", "layers=4"], ["gpt2", "world=64", "ddp=1"],
           ["gpt2", "world=64", "ddp=1", "ddp_hook=1"], ["gpt2", "pp=4"], ["gpt2", "pp=4", "rank=1"],
           ["gpt2", "pp=4", "rank=3"], ["gpt2", "pp=4", "rank=3", "schedule=gpipe"],
           ["llama-1b", "pp=4", "world=16", "fsdp=1", "rank=15"], ["gpt2", "pp=2", "world=8", "ddp=1", "rank=7"]]
_OF_SETTINGS = ("batch", "sequence", "dtype", "accumulation", "optimizer", "ddp_hook")


def main(arguments):
    if arguments:
        return _run(arguments[0], dict(each.split("=") for each in arguments[1:]))
    failed = 0
    for case in _CASES:
        done = subprocess.run([sys.executable, __file__, *case], capture_output=True, text=True, check=False)
        failed += done.returncode != 0
        print(" ".join(case), done.stdout.strip() if done.returncode == 0 else f"FAILED\n{done.stderr[-3000:]}",
              flush=True)
    return 1 if failed else 0


def _run(name, options):
    values = {key: int(value) if value.isdigit() else value for key, value in options.items()}
    rank, layers = values.pop("rank", 0), values.pop("layers", None)
    description = catalogue.find(name)
    settings = Settings.from_options(description, **{key: values.pop(key) for key in _OF_SETTINGS if key in values})
    plan = Plan.from_options(layers=description.layers, **values)
    try:
        print(_two_steps(description, plan, settings, rank, layers))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _two_steps(description, plan, settings, rank, layers):
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    from parallel.build import build
    torch.cuda.set_device(0)
    if plan.world > 1:
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=plan.world)
    workload = build(description, plan, settings, rank, layers)
    seen = []

    @contextlib.contextmanager
    def phase(named):
        seen.append(named)
        yield

    for _ in range(3):
        seen.clear()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        workload.step(phase)
        end.record()
        torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() / 2**30
    return (f"ok: {workload.parameters} parameters, {begin.elapsed_time(end):.1f} ms, {peak:.1f} GiB, "
            f"{len(seen)} phases {workload.remarks}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
