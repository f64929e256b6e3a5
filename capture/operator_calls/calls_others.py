"""Operators that the other parts do not call: the estimates of classes are tested on their names."""

import torch
import torch.nn.functional as F

from .calls_places import images, volumes
from .calls_rows import SMALL, floats, plain, with_gradients

SPECIAL = ("entr log_ndtr ndtri i0e i1 i1e erfcx bessel_j0 bessel_j1 bessel_y0 modified_bessel_i0 modified_bessel_k0 "
           "spherical_bessel_j0").split()
PLAIN = {
    "nextafter": lambda x: torch.nextafter(x, x + 1), "fmod": lambda x: torch.fmod(x, 0.3), "remainder": lambda x: torch.remainder(x, 0.3),
    "ldexp": lambda x: torch.ldexp(x, torch.ones_like(x)), "nan_to_num": torch.nan_to_num, "logaddexp2": lambda x: torch.logaddexp2(x, x),
    "igamma": lambda x: torch.igamma(x, x), "polygamma": lambda x: torch.polygamma(1, x), "zeta": lambda x: torch.special.zeta(x + 1, x),
    "trunc": torch.trunc, "round": torch.round, "logical_xor": lambda x: torch.logical_xor(x, x), "bitwise_xor": lambda x: (x * 9).int() ^ 3,
    "lcm": lambda x: torch.lcm((x * 9).int(), (x * 5).int()), "gcd": lambda x: torch.gcd((x * 9).int(), (x * 5).int()),
    "isclose": lambda x: torch.isclose(x, x), "exp2": torch.exp2, "cosh": torch.cosh, "acos": torch.acos, "atanh": torch.atanh,
    "vander": lambda x: torch.vander(x[0], 64), "cov": lambda x: x[:512].cov(), "corrcoef": lambda x: x[:512].corrcoef(),
    "cross": lambda x: torch.linalg.cross(x[:, :3], x[:, 3:6]), "kron": lambda x: torch.kron(x[:32, :32], x[:32, :32]),
    "block_diag": lambda x: torch.block_diag(x[:64, :64], x[:64, :64]), "nanquantile": lambda x: x[:256].nanquantile(0.3, dim=-1),
    "std_mean": lambda x: torch.std_mean(x, 0), "var": lambda x: x.var(-1), "all": lambda x: (x > 0).all(), "any": lambda x: (x > 2).any(-1),
    "argmin": lambda x: x.argmin(0), "nanmean": lambda x: x.nanmean(-1), "cummin": lambda x: x.cummin(-1), "amin": lambda x: x.amin(-1),
    "min_dim": lambda x: x.min(0), "logcumsumexp0": lambda x: x.logcumsumexp(0), "cumsum0": lambda x: x.cumsum(0),
    "sum_to": lambda x: x.sum_to_size(1, x.shape[1]), "pdist": lambda x: F.pdist(x[:512]), "cdist1": lambda x: torch.cdist(x[:512], x[:512], p=1),
    "index_select": lambda x: x.index_select(1, torch.arange(0, 1024, 2, device="cuda")), "masked_fill": lambda x: x.masked_fill(x > 0.5, 0),
    "triu_indices": lambda x: torch.triu_indices(x.shape[0], 64, device="cuda"), "unfold_dim": lambda x: x.unfold(1, 16, 8).contiguous(),
    "diagonal_scatter": lambda x: x.diagonal_scatter(torch.zeros(min(x.shape), device="cuda")), "argwhere": lambda x: (x > 0.5).argwhere(),
    "scatter_add": lambda x: torch.zeros_like(x).scatter_add(1, (x * 1000).long(), x), "bucket_right": lambda x: torch.bucketize(x, torch.linspace(0, 1, 4000, device="cuda")),
    "random_": lambda x: x.random_(0, 9), "binomial": lambda x: torch.binomial(x * 0 + 9, x), "dirichlet": lambda x: torch._sample_dirichlet(x),
    "gamma": lambda x: torch._standard_gamma(x + 1), "addcmul": lambda x: torch.addcmul(x, x, x), "addcdiv": lambda x: torch.addcdiv(x, x, x),
    "dot_rows": lambda x: torch.linalg.vecdot(x, x), "matrix_power": lambda x: torch.linalg.matrix_power(x[:64, :64], 5),
    "foreach_exp": lambda x: torch._foreach_exp(list(x.chunk(16))), "foreach_sigmoid": lambda x: torch._foreach_sigmoid(list(x.chunk(16))),
    "foreach_neg": lambda x: torch._foreach_neg(list(x.chunk(16))), "foreach_max": lambda x: torch._foreach_max(list(x.chunk(16))),
    "foreach_copy": lambda x: torch._foreach_copy_(list(x.chunk(16)), list((x + 1).chunk(16))), "foreach_pow": lambda x: torch._foreach_pow(list(x.chunk(16)), 2.0),
    "int_repr": lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "view_copy": lambda x: torch.view_copy(x, (-1,)),
}
DIFFERENTIABLE = {
    "threshold": lambda x: F.threshold(x, 0.5, 0.0), "hardtanh": F.hardtanh, "relu6": F.relu6, "tanhshrink": F.tanhshrink, "softsign": F.softsign,
    "lerp": lambda x: torch.lerp(x, x * 2, 0.3), "cosh": torch.cosh, "cumsum": lambda x: x.cumsum(-1), "sort": lambda x: x.sort(-1)[0],
    "logit": lambda x: torch.special.logit(x, eps=1e-3), "var": lambda x: x.var(-1), "cross_entropy_ignored": lambda x: F.cross_entropy(
        x, torch.zeros(len(x), dtype=torch.long, device="cuda"), ignore_index=1), "smooth_l1_sum": lambda x: F.smooth_l1_loss(x, x.detach() + 1, reduction="sum"),
    "bce_none": lambda x: F.binary_cross_entropy(x, x.detach(), reduction="none"), "l1_none": lambda x: F.l1_loss(x, x.detach() + 1, reduction="none"),
    "cosh_log": lambda x: torch.log(torch.cosh(x)), "pdist": lambda x: F.pdist(x[:512]), "amin": lambda x: x.amin(-1), "cummax": lambda x: x.cummax(-1)[0],
}
PICTURES = {
    "fractional_max_pool": lambda x: F.fractional_max_pool2d(x, 3, output_ratio=0.5), "bicubic_antialias": lambda x: F.interpolate(
        x, scale_factor=0.5, mode="bicubic", antialias=True), "grid_nearest": lambda x: F.grid_sample(
        x, torch.rand(len(x), 64, 64, 2, device="cuda"), mode="nearest", align_corners=False), "affine": lambda x: F.grid_sample(
        x, torch.rand(len(x), 32, 32, 2, device="cuda"), padding_mode="reflection", align_corners=False),
    "adaptive_1d": lambda x: F.adaptive_avg_pool1d(x.flatten(2), 16), "local_norm": lambda x: F.local_response_norm(x, 3),
    "channel_dropout": lambda x: F.dropout2d(x), "instance": lambda x: F.instance_norm(x),
}


def calls():
    for name in SPECIAL:
        yield f"special {name}", SMALL, lambda n, name=name: plain(getattr(torch.special, name), floats(n))
    for name, function in PLAIN.items():
        yield f"other {name}", SMALL, lambda n, function=function: plain(function, floats(n))
    for name, function in DIFFERENTIABLE.items():
        yield f"other {name} backward", SMALL, lambda n, function=function: with_gradients(function, floats(n))
    for name, function in PICTURES.items():
        yield f"picture {name}", SMALL, lambda n, function=function: with_gradients(function, images(n))
    yield "volume fractional_max_pool", SMALL, lambda n: with_gradients(lambda x: F.fractional_max_pool3d(x, 2, output_ratio=0.5), volumes(n))
    yield "volume replication_pad", SMALL, lambda n: with_gradients(lambda x: F.pad(x, (1,) * 6, "replicate"), volumes(n))
