"""Convolutions over volumes and in groups, small linear algebra, optimizers."""

import torch
import torch.nn.functional as F
from torch import nn

from .calls_rows import SMALL, floats, plain, with_gradients

BF16, FP32 = torch.bfloat16, torch.float32


def volume_convolution(channels, outputs, kernel, frames, edge, batch, dtype, stride=1):
    def make(_):
        x = torch.rand(batch, channels, frames, edge, edge, device="cuda", dtype=dtype)
        w = torch.rand(outputs, channels, *kernel, device="cuda", dtype=dtype)
        padding = [size // 2 for size in kernel]
        return with_gradients(lambda x, w: F.conv3d(x, w, stride=stride, padding=padding), x, w)
    return make


def grouped_convolution(channels, groups, kernel, length, batch, dtype):
    def make(_):
        x = torch.rand(batch, channels, length, device="cuda", dtype=dtype)
        w = torch.rand(channels, channels // groups, kernel, device="cuda", dtype=dtype)
        return with_gradients(lambda x, w: F.conv1d(x, w, padding=kernel // 2, groups=groups), x, w)
    return make


VOLUME_CONVOLUTIONS = [
    (16, 32, (3, 3, 3), 16, 56, 4), (64, 64, (3, 3, 3), 8, 28, 4), (32, 64, (1, 3, 3), 16, 56, 4), (64, 64, (3, 1, 1), 16, 56, 4),
    (128, 128, (3, 3, 3), 8, 14, 8), (64, 128, (1, 1, 1), 8, 28, 8), (3, 32, (3, 7, 7), 16, 112, 2), (128, 256, (1, 3, 3), 8, 28, 8),
    (256, 256, (3, 1, 1), 8, 14, 16), (32, 32, (3, 3, 3), 32, 32, 4), (8, 16, (3, 3, 3), 32, 64, 2), (144, 64, (3, 1, 1), 16, 56, 8),
]
GROUPED_CONVOLUTIONS = [
    (768, 16, 128, 500, 8), (512, 512, 31, 400, 16), (256, 256, 15, 1000, 8), (512, 16, 3, 1000, 8), (1024, 16, 128, 250, 8),
    (768, 768, 4, 2048, 4), (2048, 2048, 4, 1024, 8), (256, 4, 9, 2000, 8), (512, 8, 5, 512, 32),
]
def spd(batch, edge):
    x = torch.rand(batch, edge, edge, device="cuda")
    return x @ x.mT + edge * torch.eye(edge, device="cuda")


ALGEBRA = {
    "cholesky": lambda: plain(torch.linalg.cholesky, spd(16, 256)), "inv": lambda: plain(torch.linalg.inv, spd(16, 256)),
    "solve": lambda: plain(torch.linalg.solve, spd(16, 256), torch.rand(16, 256, 8, device="cuda")),
    "qr": lambda: plain(torch.linalg.qr, spd(8, 128)), "eigh": lambda: plain(torch.linalg.eigh, spd(4, 64)),
    "det": lambda: plain(torch.linalg.det, spd(64, 32)), "slogdet": lambda: plain(torch.linalg.slogdet, spd(64, 64)),
    "matrix_exp": lambda: plain(torch.matrix_exp, spd(16, 64) * 1e-3), "svd": lambda: plain(torch.linalg.svdvals, spd(2, 64)),
    "triangular": lambda: plain(lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), spd(16, 256), torch.rand(16, 256, 64, device="cuda")),
    "cholesky_solve": lambda: plain(torch.cholesky_solve, torch.rand(16, 256, 8, device="cuda"), spd(16, 256)),
    "pinv": lambda: plain(torch.linalg.pinv, spd(2, 64)), "dot": lambda: plain(torch.dot, torch.rand(1 << 24, device="cuda"), torch.rand(1 << 24, device="cuda")),
    "outer": lambda: plain(torch.outer, torch.rand(4096, device="cuda"), torch.rand(4096, device="cuda")),
    "addr": lambda: plain(torch.addr, torch.rand(4096, 4096, device="cuda"), torch.rand(4096, device="cuda"), torch.rand(4096, device="cuda")),
    "addbmm": lambda: plain(torch.addbmm, torch.rand(512, 512, device="cuda"), torch.rand(8, 512, 512, device="cuda"), torch.rand(8, 512, 512, device="cuda")),
    "addmv": lambda: plain(torch.addmv, torch.rand(4096, device="cuda"), torch.rand(4096, 4096, device="cuda"), torch.rand(4096, device="cuda")),
    "bilinear_form": lambda: with_gradients(F.bilinear, torch.rand(4096, 64, device="cuda"), torch.rand(4096, 64, device="cuda"), torch.rand(32, 64, 64, device="cuda")),
    "complex_mm": lambda: plain(torch.bmm, torch.rand(16, 256, 256, device="cuda", dtype=torch.complex64), torch.rand(16, 256, 256, device="cuda", dtype=torch.complex64)),
    "einsum_complex": lambda: with_gradients(lambda a, b: torch.einsum("bixy,ioxy->boxy", a, b),
                                             torch.rand(8, 32, 32, 32, device="cuda", dtype=torch.complex64), torch.rand(32, 32, 32, 32, device="cuda", dtype=torch.complex64)),
    "double_mm": lambda: plain(torch.mm, torch.rand(1024, 1024, device="cuda", dtype=torch.float64), torch.rand(1024, 1024, device="cuda", dtype=torch.float64)),
    "int_mm": lambda: plain(torch._int_mm, torch.ones(2048, 2048, device="cuda", dtype=torch.int8), torch.ones(2048, 2048, device="cuda", dtype=torch.int8)),
}


def grouped(groups, m, n, k):
    def make(_):
        rows = torch.rand(groups * m, k, device="cuda", dtype=BF16)
        weights = torch.rand(groups, n, k, device="cuda", dtype=BF16).transpose(1, 2)
        ends = torch.arange(m, groups * m + 1, m, device="cuda", dtype=torch.int32)
        return with_gradients(lambda r, w: torch._grouped_mm(r, w, offs=ends), rows, weights)
    return make


def distances(n):
    rows = max(64, int(n ** 0.5))
    return with_gradients(torch.cdist, torch.rand(rows, 64, device="cuda"), torch.rand(rows, 64, device="cuda"))


def scaled(rows_of_scales):
    def make(_):
        a = torch.rand(4096, 2048, device="cuda").to(torch.float8_e4m3fn)
        b = torch.rand(4096, 2048, device="cuda").to(torch.float8_e4m3fn).t()
        sizes = ((4096, 1), (1, 4096)) if rows_of_scales else ((), ())
        scales = [torch.ones(size, device="cuda") for size in sizes]
        return plain(lambda: torch._scaled_mm(a, b, *scales, out_dtype=BF16))
    return make


OPTIMIZERS = {
    "SGD": {"momentum": 0.9}, "Adam": {}, "AdamW": {}, "RMSprop": {"momentum": 0.9}, "Adagrad": {}, "Adadelta": {}, "NAdam": {},
    "RAdam": {}, "Adamax": {}, "Rprop": {}, "ASGD": {}, "Adafactor": {}, "Muon": {},
}


def optimizer(name, settings):
    def make(n):
        parameters = [nn.Parameter(floats(n // 16)) for _ in range(16)]
        for parameter in parameters:
            parameter.grad = torch.rand_like(parameter)
        return getattr(torch.optim, name)(parameters, lr=1e-3, **settings).step
    return make


def averages(n):
    averaged, current = ([floats(n // 16) for _ in range(16)] for _ in range(2))
    return lambda: torch._foreach_lerp_(averaged, current, 0.01)


def clipped(n):
    parameters = [nn.Parameter(floats(n // 16)) for _ in range(16)]
    for parameter in parameters:
        parameter.grad = torch.rand_like(parameter)
    return lambda: nn.utils.clip_grad_norm_(parameters, 1.0)


ONE = (1,)


def calls():
    for shape in VOLUME_CONVOLUTIONS:
        for dtype in (BF16, FP32):
            yield f"conv3d {shape} {dtype}", ONE, volume_convolution(*shape, dtype)
    for shape in GROUPED_CONVOLUTIONS:
        for dtype in (BF16, FP32):
            yield f"conv1d {shape} {dtype}", ONE, grouped_convolution(*shape, dtype)
    for name, make in ALGEBRA.items():
        yield name, ONE, lambda _, make=make: make()
    for shape in ((8, 512, 2048, 1024), (64, 128, 512, 1024), (16, 1024, 4096, 2048)):
        yield f"grouped_mm {shape}", ONE, grouped(*shape)
    yield "scaled_mm", ONE, scaled(False)
    yield "scaled_mm_rows", ONE, scaled(True)
    yield "cdist", (1 << 16, 1 << 22), distances
    for name, settings in OPTIMIZERS.items():
        yield f"optimizer {name}", SMALL, optimizer(name, settings)
    for name in ("SGD", "Adam", "Adagrad"):
        yield f"fused {name}", SMALL, optimizer(name, {"fused": True})
    yield "averages", SMALL, averages
    yield "clipped", SMALL, clipped
    yield "depthwise", ONE, lambda _: with_gradients(
        lambda x, w: F.conv2d(x, w, padding=1, groups=256), torch.rand(16, 256, 56, 56, device="cuda"), torch.rand(256, 1, 3, 3, device="cuda"))
    yield "conv_transpose3d", ONE, lambda _: with_gradients(
        lambda x, w: F.conv_transpose3d(x, w, stride=2), torch.rand(4, 64, 8, 16, 16, device="cuda"), torch.rand(64, 32, 2, 2, 2, device="cuda"))
    yield "conv_transpose1d", ONE, lambda _: with_gradients(
        lambda x, w: F.conv_transpose1d(x, w, stride=4), torch.rand(8, 128, 1000, device="cuda"), torch.rand(128, 64, 8, device="cuda"))
