"""The speed of the host: what a step's Python, dispatcher, allocator, autograd and launches take on this machine.

Each cost is the time of one call in a loop. A loop runs in chunks; a cost is the median over the chunks, since neighbours and
clocks disturb some of them."""

import gc
import hashlib
import statistics
import time

_CHUNK_S = 0.01
_QUEUED = 200  # launches in flight, well below the queue's length


class _Point:
    def __init__(self):
        self.total = 0

    def add(self, number, scale=1):
        self.total = self.total + number * scale & 0xffff
        return self.total


def _python():
    point, found = _Point(), {"a": 1, "b": 2}
    def call():
        point.add(found["a"], scale=found["b"])
    return call


def _hash():
    data = bytes(4096)
    return lambda: hashlib.sha256(data).digest()


def _memory():
    """Jumps through a list that no cache holds."""
    length = 1 << 22
    following = [(1664525 * at + 1013904223) % length for at in range(length)]  # a generator of full period
    place = [0]
    def call():
        at = place[0]
        for _ in range(16):
            at = following[at]
        place[0] = at
    return call


def _tensors(device):
    import torch
    return torch.ones(16, device=device), torch.ones(16, device=device, requires_grad=True)


def _view(device):
    tensor, _ = _tensors(device)
    return lambda: tensor.view(4, 4)


def _empty(device):
    import torch
    return lambda: torch.empty(16, device=device)


def _operator(device):
    tensor, _ = _tensors(device)
    return lambda: tensor.add(1)


def _module(device):
    import torch
    tensor, _ = _tensors(device)
    identity = torch.nn.Identity()
    return lambda: identity(tensor)


def _backward(device):
    _, parameter = _tensors(device)
    def call():
        (parameter * 2).sum().backward()
        parameter.grad = None
    return call


def _chunks(call, seconds, between=None):
    """Nanoseconds of one call, for each chunk."""
    count, most = 1, _QUEUED if between else 1 << 22
    while True:
        begin = time.perf_counter_ns()
        for _ in range(count):
            call()
        taken = time.perf_counter_ns() - begin
        if between:
            between()
        if taken > _CHUNK_S * 1e9 or count >= most:
            break
        count = min(2 * count, most)
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter_ns()
        for _ in range(count):
            call()
        found.append((time.perf_counter_ns() - begin) / count)
        if between:
            between()
    return found


def costs(seconds, device):
    """{name: (calls that launch, builder)} measured for `seconds` in all; a launch needs a GPU."""
    wanted = {"hash": _hash, "python": _python, "memory": _memory}
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None:
        torch.set_num_threads(1)
        wanted |= {"view": lambda: _view("cpu"), "empty": lambda: _empty("cpu"), "operator": lambda: _operator("cpu"),
                   "module": lambda: _module("cpu"), "backward": lambda: _backward("cpu")}
        if device == "cuda":
            wanted |= {"empty_gpu": lambda: _empty("cuda"), "launch": lambda: _operator("cuda"),
                       "backward_gpu": lambda: _backward("cuda")}
    found = {}
    gc.collect()
    gc.disable()
    try:
        for name, build in wanted.items():
            call = build()
            call()
            between = torch.cuda.synchronize if name.endswith("gpu") or name == "launch" else None
            chunks = sorted(_chunks(call, seconds / len(wanted), between))
            found[name] = {"ns": round(statistics.median(chunks), 1),
                           "p10": round(chunks[len(chunks) // 10], 1), "p90": round(chunks[len(chunks) * 9 // 10], 1)}
    finally:
        gc.enable()
    return found
