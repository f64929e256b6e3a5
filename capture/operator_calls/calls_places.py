"""Operators that move elements: indexing, padding, sampling, pooling, transforms, sparse tensors, copies."""

import torch
import torch.nn.functional as F

from .calls_rows import SIZES, SMALL, floats, plain, with_gradients


def rows_of(n, count=None):
    return torch.randint(0, n // 1024, (count or n // 1024,), device="cuda")


def images(n, channels=16, dtype=torch.float32):
    edge = 64
    return torch.rand(max(1, n // (channels * edge * edge)), channels, edge, edge, device="cuda", dtype=dtype)


def volumes(n, channels=8):
    return torch.rand(max(1, n // (channels * 4096)), channels, 16, 16, 16, device="cuda")


INDEXING = {
    "index_copy": lambda x, i: x.index_copy(0, i, x), "index_fill": lambda x, i: x.index_fill(0, i, 1.0),
    "index_add": lambda x, i: x.index_add(0, i, x), "index_reduce": lambda x, i: x.index_reduce(0, i, x, "amax"),
    "masked_select": lambda x, i: x.masked_select(x > 0.5), "masked_scatter": lambda x, i: x.masked_scatter(x > 0.5, x),
    "nonzero": lambda x, i: (x > 0.5).nonzero(), "boolean_index": lambda x, i: x[x > 0.5], "take": lambda x, i: x.take(i),
    "put": lambda x, i: x.clone().put_(i, x.flatten()[:len(i)]), "take_along_dim": lambda x, i: x.take_along_dim(x.argsort(-1), -1),
    "gather": lambda x, i: x.gather(0, i[:, None].expand(-1, 1024)), "roll": lambda x, i: x.roll((3, 5), (0, 1)),
    "flip": lambda x, i: x.flip(0, 1), "repeat_interleave": lambda x, i: x.repeat_interleave(2, 0), "repeat": lambda x, i: x.repeat(2, 2),
    "repeat_interleave_counts": lambda x, i: x.repeat_interleave(torch.ones_like(i), 0), "diag_embed": lambda x, i: x[:64].diag_embed(),
    "tril": lambda x, i: x.tril(), "triu": lambda x, i: x.triu(), "one_hot": lambda x, i: F.one_hot(i % 128, 128),
    "rot90": lambda x, i: x.rot90(), "scatter_value": lambda x, i: x.scatter(1, x.argmax(-1, True), 1.0),
    "embedding_max_norm": lambda x, i: F.embedding(i, x, max_norm=1.0), "meshgrid": lambda x, i: torch.cartesian_prod(i[:512], i[:512]),
    "slice_scatter": lambda x, i: x.slice_scatter(x[:, :512], 1, 512), "select_scatter": lambda x, i: x.select_scatter(x[:, 0], 1, 7),
    "index_put": lambda x, i: x.index_put((i,), x), "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[:, None].expand(-1, 1024), x, "mean"),
    "segment_reduce": lambda x, i: torch.segment_reduce(x, "sum", lengths=torch.full((len(x) // 4,), 4, device="cuda")),
    "embedding_bag_max": lambda x, i: F.embedding_bag(i.view(-1, 4), x, mode="max"), "pad2": lambda x, i: F.pad(x, (1, 1, 1, 1)),
}
DIFFERENTIABLE = ("index_copy index_add take gather roll flip repeat_interleave repeat tril boolean_index scatter_reduce masked_scatter "
                  "index_reduce take_along_dim slice_scatter segment_reduce embedding_bag_max").split()
IMAGES = {
    "reflection_pad": lambda x: F.pad(x, (2, 2, 2, 2), "reflect"), "replication_pad": lambda x: F.pad(x, (2, 2, 2, 2), "replicate"),
    "circular_pad": lambda x: F.pad(x, (2, 2, 2, 2), "circular"), "unfold": lambda x: F.unfold(x, 3, padding=1),
    "grid_sample": lambda x: F.grid_sample(x, F.affine_grid(torch.eye(2, 3, device="cuda").repeat(len(x), 1, 1), x.shape, False), align_corners=False),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), "bicubic": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
    "antialias": lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True), "area": lambda x: F.interpolate(x, scale_factor=0.5, mode="area"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2), "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2), "channel_shuffle": lambda x: F.channel_shuffle(x, 4),
    "adaptive_max_pool": lambda x: F.adaptive_max_pool2d(x, 7), "adaptive_avg_pool": lambda x: F.adaptive_avg_pool2d(x, 7),
    "lp_pool": lambda x: F.lp_pool2d(x, 2, 2), "nearest_exact": lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    "max_unpool": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "fold": lambda x: F.fold(x.flatten(1).view(len(x), 16 * 4, -1), (64, 64), 2, stride=2),
}
VOLUMES = {
    "max_pool3d": lambda x: F.max_pool3d(x, 2), "avg_pool3d": lambda x: F.avg_pool3d(x, 2), "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x, 4),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(x, 4), "trilinear": lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
    "nearest3d": lambda x: F.interpolate(x, scale_factor=2), "avg_pool1d": lambda x: F.avg_pool1d(x.flatten(2), 4),
    "max_pool1d": lambda x: F.max_pool1d(x.flatten(2), 4), "linear1d": lambda x: F.interpolate(x.flatten(2), scale_factor=2, mode="linear"),
    "reflection_pad1d": lambda x: F.pad(x.flatten(2), (8, 8), "reflect"), "reflection_pad3d": lambda x: F.pad(x, (1,) * 6, "reflect"),
    "grid_sample3d": lambda x: F.grid_sample(x, torch.rand(len(x), 16, 16, 16, 3, device="cuda"), align_corners=False),
}
TRANSFORMS = {
    "rfft": lambda x: torch.fft.rfft(x), "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x)), "fft": lambda x: torch.fft.fft(x).real,
    "fft2": lambda x: torch.fft.fft2(x.view(-1, 64, 64)).real, "rfft2": lambda x: torch.fft.irfft2(torch.fft.rfft2(x.view(-1, 64, 64))),
    "fftn": lambda x: torch.fft.fftn(x.view(-1, 16, 16, 16), dim=(1, 2, 3)).real, "fft_long": lambda x: torch.fft.rfft(x.view(-1, 1 << 16)),
    "fft_odd": lambda x: torch.fft.rfft(x[:, :1000].contiguous()), "fft_columns": lambda x: torch.fft.rfft(x, dim=0),
    "fftshift": lambda x: torch.fft.fftshift(x), "stft": lambda x: torch.stft(x.view(-1, 1 << 14), 512, 128, window=torch.ones(512, device="cuda"),
                                                                           return_complex=True).abs(),
}


def sparse_of(n):
    rows, cols = 100_000, 64
    lookups = max(64, n // cols)
    return torch.sparse_coo_tensor(torch.randint(0, rows, (1, lookups), device="cuda"), torch.rand(lookups, cols, device="cuda"), (rows, cols))


SPARSE = {
    "coalesce": lambda n: plain(lambda s: s.coalesce(), sparse_of(n)), "to_dense": lambda n: plain(lambda s: s.to_dense(), sparse_of(n)),
    "sparse_sum": lambda n: plain(lambda s: torch.sparse.sum(s, 0), sparse_of(n)),
    "sparse_add": lambda n: plain(lambda s, d: d.add_(s), sparse_of(n), torch.rand(100_000, 64, device="cuda")),
    "sparse_mask": lambda n: plain(lambda s, d: d.sparse_mask(s), sparse_of(n).coalesce(), torch.rand(100_000, 64, device="cuda")),
    "to_sparse": lambda n: plain(lambda d: d.to_sparse(), (torch.rand(n // 1024, 1024, device="cuda") > 0.9).float()),
}


def calls():
    for name, function in INDEXING.items():
        yield name, SIZES, lambda n, function=function: plain(function, floats(n), rows_of(n))
    for name in DIFFERENTIABLE:
        yield f"{name}_backward", SMALL, lambda n, name=name: with_gradients(INDEXING[name], floats(n), rows_of(n))
    yield "trapezoid", SIZES, lambda n: plain(torch.trapezoid, floats(n))
    for name, function in IMAGES.items():
        yield name, SMALL, lambda n, function=function: with_gradients(function, images(n))
    for name in ("bilinear", "reflection_pad", "grid_sample", "adaptive_avg_pool", "pixel_shuffle"):
        yield f"{name}_bf16", SMALL, lambda n, name=name: with_gradients(IMAGES[name], images(n, dtype=torch.bfloat16)) \
            if name != "grid_sample" else with_gradients(IMAGES[name], images(n))
    for name, function in VOLUMES.items():
        yield name, SMALL, lambda n, function=function: with_gradients(function, volumes(n))
    for name, function in TRANSFORMS.items():
        yield name, SMALL, lambda n, function=function: with_gradients(function, floats(n))
    for name, make in SPARSE.items():
        yield name, SMALL, make
    yield "pageable_to_gpu", SMALL, lambda n: plain(lambda x: x.to("cuda"), torch.rand(n))
    yield "to_pageable", SMALL, lambda n: plain(lambda x: x.to("cpu"), floats(n))
    yield "pinned_to_gpu", SMALL, lambda n: plain(lambda x: x.to("cuda", non_blocking=True), torch.rand(n).pin_memory())
    yield "to_half", SIZES, lambda n: plain(lambda x: x.half(), floats(n))
    yield "to_double", SIZES, lambda n: plain(lambda x: x.double(), floats(n))
