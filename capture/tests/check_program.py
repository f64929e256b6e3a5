"""A small PyTorch program with known work on the GPU, recorded by check_capture. It prints what it did as JSON."""

import ctypes
import json
import sys

import torch

import orrery

_ELEMENTS = 16 << 20
_RAW_BYTES = 3 << 20


def _cuda_malloc_and_free():
    """Memory that PyTorch does not know of."""
    runtime = ctypes.CDLL("libcudart.so.13") if torch.version.cuda.startswith("13") else ctypes.CDLL("libcudart.so")
    address = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(_RAW_BYTES)) == 0
    assert runtime.cudaFree(address) == 0
    return address.value


def _two_streams(x):
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    for stream in streams:
        with torch.cuda.stream(stream):
            torch.sin(x)
    torch.cuda.synchronize()


def _graph(x, replays):
    graph = torch.cuda.CUDAGraph()
    torch.cos(x)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        torch.cos(x)
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()


def main():
    torch.manual_seed(0)
    a, b = (torch.rand(_ELEMENTS, device="cuda") for _ in range(2))
    m = torch.rand(2048, 2048, device="cuda")
    torch.cuda.synchronize()
    orrery.step(1)
    with orrery.region("add"):
        c = a + b
    with orrery.region("gemm"):
        m @ m
    with orrery.region("norm"):
        torch.nn.functional.layer_norm(m, (2048,))
    a[:1024].cpu()
    raw = _cuda_malloc_and_free()
    _two_streams(m)
    _graph(m, replays=3)
    torch.cuda.synchronize()
    json.dump({"raw_address": raw, "raw_bytes": _RAW_BYTES, "add_address": c.data_ptr(),
               "add_bytes": _ELEMENTS * 4, "replays": 3}, sys.stdout)


if __name__ == "__main__":
    main()
