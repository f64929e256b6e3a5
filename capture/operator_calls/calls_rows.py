"""Element-wise operators, reductions, scans, sorts, losses and random numbers, each for a number of elements."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = (1 << 16, 1 << 21, 1 << 25)
SMALL = (1 << 16, 1 << 20, 1 << 23)


def floats(n, cols=1024, dtype=torch.float32):
    return torch.rand(n // cols, cols, device="cuda", dtype=torch.float32).mul_(0.9).add_(0.05).to(dtype)


def with_gradients(function, *inputs):
    """Runs a function and its backward pass."""
    leaves = [x.detach().requires_grad_(x.is_floating_point() or x.is_complex()) for x in inputs]

    def call():
        result = function(*leaves)
        result = result[0] if isinstance(result, (tuple, list)) else result
        wanted = [x for x in leaves if x.requires_grad]
        torch.autograd.grad(result, wanted, torch.ones_like(result), allow_unused=True)

    return call


def plain(function, *inputs):
    return lambda: function(*inputs)


UNARY = ("erfinv digamma lgamma sinh asin atan expm1 sgn frac logit log10 square rad2deg isposinf signbit positive "
         "erfc i0 sinc deg2rad acosh tan").split()
BINARY = "atan2 hypot xlogy copysign logaddexp fmin fmax heaviside float_power minimum".split()
ACTIVATIONS = {"mish": F.mish, "celu": F.celu, "selu": F.selu, "hardshrink": F.hardshrink, "softshrink": F.softshrink,
               "glu": F.glu, "hardswish": F.hardswish, "rrelu": lambda x: F.rrelu(x, training=True), "logsigmoid": F.logsigmoid,
               "hardsigmoid": F.hardsigmoid, "elu": F.elu, "softplus": F.softplus}
REDUCTIONS = {
    "median": lambda x: x.median(dim=-1), "mode": lambda x: x[:64].mode(dim=-1), "kthvalue": lambda x: x.kthvalue(100, dim=-1),
    "logsumexp": lambda x: x.logsumexp(-1), "logsumexp0": lambda x: x.logsumexp(0), "nansum": lambda x: x.nansum(-1),
    "prod": lambda x: x.prod(-1), "std": lambda x: x.std(-1), "var_mean": lambda x: torch.var_mean(x, 0),
    "norm1": lambda x: torch.linalg.vector_norm(x, 1, -1), "aminmax": lambda x: torch.aminmax(x), "amax": lambda x: x.amax(0),
    "max": lambda x: x.max(-1), "count_nonzero": lambda x: x.count_nonzero(), "argmax": lambda x: x.argmax(-1),
    "cummax": lambda x: x.cummax(-1), "logcumsumexp": lambda x: x.logcumsumexp(-1), "cumprod": lambda x: x.cumprod(-1),
    "trace": lambda x: x[:1024].trace(), "dist": lambda x: torch.dist(x, x + 1), "equal": lambda x: torch.equal(x, x.clone()),
    "nanmedian": lambda x: x.nanmedian(), "quantile": lambda x: x[:1024].quantile(0.5, dim=-1),
    "allclose": lambda x: torch.allclose(x, x), "norm0": lambda x: x.norm(2, 0), "renorm": lambda x: x.renorm(2, 0, 1.0),
    "normalize": lambda x: F.normalize(x, dim=-1), "cosine": lambda x: F.cosine_similarity(x, x + 1), "diff": torch.diff,
}
SORTS = {
    "sort_all": lambda x: x.flatten().sort(), "sort_rows": lambda x: x.sort(-1), "argsort": lambda x: x.argsort(dim=0, stable=True),
    "unique": lambda x: (x * 1000).long().unique(), "unique_inverse": lambda x: (x * 1000).long().unique(return_inverse=True),
    "unique_consecutive": lambda x: (x * 4).long().flatten().unique_consecutive(), "msort": lambda x: x.msort(),
    "searchsorted": lambda x: torch.searchsorted(torch.linspace(0, 1, 256, device="cuda"), x),
    "bucketize": lambda x: torch.bucketize(x, torch.linspace(0, 1, 64, device="cuda")),
    "histc": lambda x: torch.histc(x, 100, 0, 1), "bincount": lambda x: torch.bincount((x.flatten() * 500).long()),
    "isin": lambda x: torch.isin((x * 100).long(), torch.arange(20, device="cuda")), "topk": lambda x: x.flatten().topk(100),
    "randperm": lambda x: torch.randperm(x.numel(), device="cuda"),
}
RANDOM = {
    "bernoulli": torch.bernoulli, "bernoulli_": lambda x: x.clone().bernoulli_(0.3), "poisson": torch.poisson,
    "multinomial": lambda x: torch.multinomial(x, 8), "normal": lambda x: torch.normal(x, x),
    "exponential_": lambda x: x.exponential_(), "gumbel": lambda x: F.gumbel_softmax(x, hard=True),
    "alpha_dropout": lambda x: F.alpha_dropout(x, training=True), "feature_dropout": lambda x: F.dropout1d(x),
    "randint": lambda x: torch.randint(0, 9, x.shape, device="cuda"), "rand_like": torch.rand_like, "randn_like": torch.randn_like,
    "cauchy_": lambda x: x.cauchy_(), "geometric_": lambda x: x.geometric_(0.4), "log_normal_": lambda x: x.log_normal_(),
}


def two_labels(x):
    return (x > 0.5).float() * 2 - 1


LOSSES = {
    "soft_margin": lambda x: F.soft_margin_loss(x, two_labels(x)), "hinge": lambda x: F.hinge_embedding_loss(x, two_labels(x)),
    "poisson_nll": lambda x: F.poisson_nll_loss(x, x.detach()), "gaussian_nll": lambda x: F.gaussian_nll_loss(x, x.detach(), x.detach()),
    "multi_margin": lambda x: F.multi_margin_loss(x, torch.zeros(len(x), dtype=torch.long, device="cuda")),
    "multilabel_margin": lambda x: F.multilabel_margin_loss(x[:4096], torch.zeros(x[:4096].shape, dtype=torch.long, device="cuda")),
    "multilabel_soft": lambda x: F.multilabel_soft_margin_loss(x, two_labels(x)), "kl_div": lambda x: F.kl_div(x.log(), x.detach()),
    "triplet": lambda x: F.triplet_margin_loss(x, x.detach() + 1, x.detach() - 1),
    "cosine_embedding": lambda x: F.cosine_embedding_loss(x, x.detach() + 1, torch.ones(len(x), device="cuda")),
    "margin_ranking": lambda x: F.margin_ranking_loss(x, x.detach(), two_labels(x)),
    "label_smoothing": lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.long, device="cuda"), label_smoothing=0.1),
    "soft_targets": lambda x: F.cross_entropy(x, x.detach()), "bce_weight": lambda x: F.binary_cross_entropy(x, x.detach(), weight=x.detach()),
    "huber": lambda x: F.huber_loss(x, x.detach() + 1),
}


def ctc(n):
    time, classes = 256, 32
    batch = max(1, min(n // (time * classes), 256))
    scores = torch.randn(time, batch, classes, device="cuda")
    targets = torch.randint(1, classes, (batch, 40), device="cuda")
    lengths, sizes = (torch.full((batch,), length, dtype=torch.long, device="cuda") for length in (time, 40))
    return with_gradients(lambda x: F.ctc_loss(x.log_softmax(-1), targets, lengths, sizes), scores)


def calls():
    for name in UNARY:
        yield name, SIZES, lambda n, name=name: plain(getattr(torch, name), floats(n))
    for name in BINARY:
        yield name, SIZES, lambda n, name=name: plain(getattr(torch, name), floats(n), floats(n))
    for name, function in ACTIVATIONS.items():
        yield name, SIZES, lambda n, function=function: with_gradients(function, floats(n))
        yield f"{name}_bf16", SIZES, lambda n, function=function: with_gradients(function, floats(n, dtype=torch.bfloat16))
    for name, function in {**REDUCTIONS, **SORTS, **RANDOM}.items():
        sizes = SMALL if name in SORTS else SIZES
        yield name, sizes, lambda n, function=function: plain(function, floats(n))
    for name in ("logsumexp", "std", "prod", "norm1", "logcumsumexp", "normalize", "max", "cosine", "amax"):
        yield f"{name}_backward", SMALL, lambda n, name=name: with_gradients(REDUCTIONS[name], floats(n))
    for name, function in LOSSES.items():
        yield name, SMALL, lambda n, function=function: with_gradients(function, floats(n))
    yield "ctc", SMALL, ctc
    yield "prelu", SIZES, lambda n: with_gradients(F.prelu, floats(n), torch.rand(1024, device="cuda"))
    yield "bitwise", SIZES, lambda n: plain(torch.bitwise_left_shift, (floats(n) * 9).int(), (floats(n) * 3).int())
    yield "instance_norm", SIZES, lambda n: with_gradients(F.instance_norm, floats(n).view(-1, 16, 1024))
    yield "weight_norm", SMALL, lambda n: with_gradients(
        lambda v, g: torch._weight_norm(v, g, 0), floats(n), torch.rand(n // 1024, 1, device="cuda"))
    yield "local_response", SMALL, lambda n: with_gradients(lambda x: F.local_response_norm(x, 5), floats(n).view(-1, 16, 64, 64))
    yield "batch_norm3d", SIZES, lambda n: with_gradients(nn.BatchNorm3d(64).cuda(), torch.rand(n // (64 * 512), 64, 8, 8, 8, device="cuda"))
    yield "rms_norm", SIZES, lambda n: with_gradients(lambda x, w: F.rms_norm(x, (1024,), w), floats(n), torch.rand(1024, device="cuda"))
    for cols in (96, 128, 256, 768, 1024):
        for dtype in (torch.float32, torch.bfloat16):
            yield f"layer_norm{cols}", SIZES, lambda n, cols=cols, dtype=dtype: with_gradients(
                lambda x, w, b: F.layer_norm(x, (cols,), w, b), floats(n // 3072 * 3072, cols, dtype),
                torch.rand(cols, device="cuda", dtype=dtype), torch.rand(cols, device="cuda", dtype=dtype))
    yield "complex_mul", SMALL, lambda n: with_gradients(torch.mul, torch.complex(floats(n), floats(n)), torch.complex(floats(n), floats(n)))
    yield "complex_abs", SMALL, lambda n: with_gradients(torch.abs, torch.complex(floats(n), floats(n)))
    yield "polar", SMALL, lambda n: plain(torch.polar, floats(n), floats(n))
    yield "angle", SMALL, lambda n: plain(torch.angle, torch.complex(floats(n), floats(n)))
    yield "fake_quantize", SIZES, lambda n: with_gradients(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127), floats(n))
    yield "fake_quantize_rows", SIZES, lambda n: with_gradients(lambda x: torch.fake_quantize_per_channel_affine(
        x, torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda", dtype=torch.int32), 1, -128, 127), floats(n))
