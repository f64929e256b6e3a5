"""Training steps whose time measure_overhead compares with and without a recording. Prints one line of JSON.

    overhead_steps.py [--scale S] [--steps N] [--only NAME,NAME] [--idle]
    overhead_steps.py --switch ROUNDS [--parts] [--step-ms 18] [--only NAME,NAME]
    overhead_steps.py --profile --only NAME [--scale S]

The second form runs under `orrery capture --operators` and switches parts of the recording on and off between blocks of steps:
processes on one machine differ by more than a recording costs. `--idle`: under capture, with everything switched off.
`--profile`: under capture, two steps that PyTorch's own profiler records too; prints the operators that it saw. In the stream
they stand between steps 1 and 2.

convnet and transformer: many small kernels, batch 1, fp32, AdamW with foreach; the host binds them. autocast: a transformer of
medium size whose operators cast their inputs, AdamW one parameter after the other; the host binds it. gpt2: the GPU binds it."""

import argparse
import collections
import ctypes
import json
import os
import statistics
import time

import torch
from torch import nn


class _Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return torch.relu(x + self.inner(x))


def _convnet(scale):
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *[_Residual(32) for _ in range(round(36 * scale))],
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).cuda()
    images, labels = torch.randn(1, 3, 32, 32, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    return model, torch.optim.AdamW(model.parameters(), foreach=True), lambda: nn.functional.cross_entropy(model(images), labels)


def _layers(number, width, heads, dtype):
    return [nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, activation="gelu", device="cuda", dtype=dtype)
            for _ in range(number)]


def _language_model(layers, width, heads, batch, tokens, dtype, **optimizer):
    model = nn.Sequential(nn.Embedding(50257, width, device="cuda", dtype=dtype), *_layers(layers, width, heads, dtype),
                          nn.Linear(width, 50257, device="cuda", dtype=dtype))
    words = torch.randint(50257, (batch, tokens), device="cuda")
    return (model, torch.optim.AdamW(model.parameters(), **optimizer),
            lambda: nn.functional.cross_entropy(model(words).flatten(0, 1).float(), words.flatten()))


def _autocast(layers, width, heads, batch, tokens):
    model, optimizer, loss = _language_model(layers, width, heads, batch, tokens, torch.float32, foreach=False)

    def cast_loss():
        with torch.autocast("cuda", torch.bfloat16):
            return loss()

    return model, optimizer, cast_loss


_MODELS = {"convnet": _convnet,
           "transformer": lambda scale: _language_model(round(20 * scale), 128, 4, 1, 32, torch.float32, foreach=True),
           "autocast": lambda scale: _autocast(8, 512, 8, 4, 256),
           "gpt2": lambda scale: _language_model(12, 768, 12, 8, 1024, torch.bfloat16, fused=True)}


# Parts, as recorder_api.h and torch_hooks.cc have them.
_WORK, _CALLS, _MEMORY, _OPERATORS, _EMPTY, _INPUTS = 1, 2, 4, 8, 16, 32
_COARSE = _WORK | _CALLS | _MEMORY
_WAYS = {"capture": _COARSE, "capture --operators": _COARSE | _OPERATORS}
_PARTS = {"only GPU work": _WORK, "only calls": _CALLS, "only allocations": _MEMORY, "only operators": _OPERATORS,
          "callbacks that do nothing": _EMPTY, "the same, with inputs": _EMPTY | _INPUTS}
_FIRST_STEPS, _BLOCK_STEPS = 2, 6


class _Collection:
    """Selects the parts that the recording in this process collects."""

    def __init__(self):
        self._recorder = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
        self._hooks = ctypes.CDLL(os.environ["ORRERY_CAPTURE_HOOKS"])

    def set(self, parts):
        self._recorder.orrery_collect(parts)
        self._hooks.orrery_torch_collect(parts)

    def step(self, number):
        self._recorder.orrery_step(ctypes.c_uint64(number))


class _Training:
    """Steps that each end with a wait for the GPU, as reading the loss does."""

    def __init__(self, name, scale):
        self._model, self._optimizer, self._loss = _MODELS[name](scale)
        self.median_ms(10 if name != "gpt2" else 3)

    def median_ms(self, steps):
        times = []
        for _ in range(steps):
            begin = time.perf_counter()
            self._loss().backward()
            self._optimizer.step()
            self._optimizer.zero_grad()
            torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - begin))
        return statistics.median(times)


def step_ms(name, scale, steps):
    return _Training(name, scale).median_ms(steps if name != "gpt2" else max(steps // 5, 5))


def _block_ms(training, collection, parts):
    collection.set(parts)
    training.median_ms(_FIRST_STEPS)
    return training.median_ms(_BLOCK_STEPS)


def switched(name, target_ms, rounds, with_parts, collection):
    """The steps of blocks in ms, with everything off and each way, in turn."""
    collection.set(0)
    scale = 1.0 if name == "gpt2" else round(target_ms / step_ms(name, 1.0, 10), 2)
    training = _Training(name, scale)
    ways = {**_WAYS, **_PARTS} if with_parts and name != "gpt2" else _WAYS
    off, times = [], {way: [] for way in ways}
    for turn in range(rounds):
        for way, parts in ways.items():
            in_turn = [parts, 0] if turn % 2 else [0, parts]
            found = dict(zip(in_turn, [_block_ms(training, collection, one) for one in in_turn]))
            off.append(round(found[0], 4))
            times[way].append(round(found[parts], 4))
    return {"scale": scale, "off_ms": off, "ways_ms": times}


def profiled(name, scale, collection):
    """[name, count] of each operator of two steps, as PyTorch's profiler has them, which lists calls of the runtime among them."""
    collection.set(0)
    training = _Training(name, scale)
    with torch.autograd.profiler.profile() as profiler:
        collection.step(1)
        collection.set(_OPERATORS)
        training.median_ms(2)
        collection.set(0)
        collection.step(2)
    seen = collections.Counter(
        one.name() for one in profiler.kineto_results.events()
        if not one.name().startswith("cuda")
        and (not hasattr(one, "activity_type") or one.activity_type() in ("cpu_op", "user_annotation")))
    return list(seen.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="layers of the small models")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--only", default="convnet,transformer,gpt2")
    parser.add_argument("--idle", action="store_true", help="record, and collect nothing")
    parser.add_argument("--switch", type=int, metavar="ROUNDS", help="switch parts of the recording on and off so many times")
    parser.add_argument("--parts", action="store_true", help="with --switch: parts of the recording too")
    parser.add_argument("--profile", action="store_true", help="operators of two steps, as PyTorch's profiler has them")
    parser.add_argument("--step-ms", type=float, default=18.0, help="with --switch: scale the small models to such a step")
    options = parser.parse_args()
    torch.ones(1, device="cuda")  # the recording begins with CUDA
    collection = _Collection() if options.idle or options.switch or options.profile else None
    if options.profile:
        found = {options.only: profiled(options.only, options.scale, collection)}
    elif options.switch:
        found = {name: switched(name, options.step_ms, options.switch, options.parts, collection) for name in options.only.split(",")}
    else:
        if options.idle:
            collection.set(0)
        found = {name: step_ms(name, options.scale, options.steps) for name in options.only.split(",")}
    print(json.dumps({**found, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
