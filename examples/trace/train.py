"""An example training script, as torchrun would start it: a small transformer under FSDP2 or DDP.

orrery trace --world 64 -- examples/trace/train.py --layers 8
torchrun --nproc-per-node 8 examples/trace/train.py     (the same file, on eight real GPUs)
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel


def make_model(layers, width):
    block = lambda: nn.TransformerEncoderLayer(width, width // 64, 4 * width, dropout=0.0, batch_first=True,
                                               norm_first=True)
    return nn.Sequential(nn.Embedding(32000, width), *[block() for _ in range(layers)], nn.Linear(width, 32000))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--ddp", action="store_true")
    parser.add_argument("--crash-in-step", type=int, default=-1, help="raise an error there, to see what is kept")
    options = parser.parse_args()

    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = make_model(options.layers, options.width).to(device, torch.bfloat16)
    if options.ddp:
        model = DistributedDataParallel(model, device_ids=[device.index])
    else:
        for layer in model[1:-1]:
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, 32000, (4, 1025), device=device)
    for step in range(options.steps):
        if step == options.crash_in_step:
            raise RuntimeError("the data of this step is damaged")
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
