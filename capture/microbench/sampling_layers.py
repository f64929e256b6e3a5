"""Draws layers and lists of tensors: norms, softmax, embeddings, optimizers, pooling."""

from microbench import draw
from microbench.operator_text import make
from microbench.sampling_matrix import PLAIN_DTYPES, tokens


def _pass(rng):
    return rng.choice(("fwd", "bwd"))


def _norm_shape(rng):
    if draw.chance(rng, 0.5):
        model = draw.draw_transformer(rng)
        return tokens(rng), model.hidden
    return draw.size(rng, 1, 65536), draw.size(rng, 16, 16384)


def batchnorm(rng):
    if draw.chance(rng, 0.6):
        _, c, edge, _, stride, _, _ = rng.choice(draw.RESNET50 + draw.MOBILENET)
        edge //= stride
    else:
        c, edge = draw.size(rng, 8, 2048), rng.choice((1, 4, 7, 14, 28, 35, 56, 112))
    return make("batchnorm", draw.weighted(rng, PLAIN_DTYPES), b=1 << rng.randrange(1, 9), c=c,
                hw=edge * edge, nhwc=int(draw.chance(rng, 0.55)), pass_=_pass(rng)), {}


def groupnorm(rng):
    groups = rng.choice((8, 16, 32, 32, 32))
    c = rng.choice((64, 128, 192, 256, 320, 384, 512, 640, 960, 1280, 1920))
    if draw.chance(rng, 0.25):
        groups = rng.choice((1, 2, 4, c))  # of whole images, and of single channels
    return make("groupnorm", draw.weighted(rng, PLAIN_DTYPES), b=draw.log_uniform(rng, 1, 128), c=c,
                hw=rng.choice((4, 7, 8, 14, 16, 28, 32, 56, 64, 96, 128)) ** 2, groups=groups,
                pass_=_pass(rng)), {}


def rnn(rng):
    dtype = draw.weighted(rng, {"tf32": 40, "fp16": 25, "bf16": 20, "fp32": 15})
    hidden = rng.choice((32, 64, 128, 200, 256, 256, 400, 512, 512, 650, 768, 1024, 1500, 2048))
    inputs = hidden if draw.chance(rng, 0.4) else draw.size(rng, 8, 2048)
    return make("rnn", dtype, fn=draw.weighted(rng, {"lstm": 55, "gru": 35, "tanh": 6, "relu": 4}),
                layers=rng.choice((1, 1, 2, 2, 3, 4)), b=draw.size(rng, 1, 512),
                s=draw.size(rng, 1, 512), input=inputs, hidden=hidden,
                bi=int(draw.chance(rng, 0.25)), pass_=_pass(rng)), {}


def loss(rng):
    fn = rng.choice(("mse", "mse", "l1", "smooth_l1", "huber", "bce", "bce_logits", "kl"))
    return make("loss", draw.weighted(rng, {"fp32": 55, "bf16": 35, "fp16": 10}), fn=fn,
                n=draw.size(rng, 1, 1 << 28),
                reduction=draw.weighted(rng, {"mean": 70, "none": 20, "sum": 10}),
                pass_=_pass(rng)), {}


def _logits(rng):
    if draw.chance(rng, 0.55):
        return draw.size(rng, 64, 16384), rng.choice(draw.VOCABULARIES)
    return draw.size(rng, 1, 65536), draw.size(rng, 2, 65536)


def _matrix(kind, shape):
    """A sampler of a layer over (rows, cols)."""
    def sampler(rng):
        rows, cols = shape(rng)
        return make(kind, draw.weighted(rng, PLAIN_DTYPES), rows=rows, cols=cols, pass_=_pass(rng)), {}

    return sampler


def _many_rows(rng):
    cols = rng.choice((16, 32, 48, 64, 96, 128, 128, 192, 256, 256, 384, 512, 768, 1024))
    return draw.size(rng, 8192, min(1 << 22, (1 << 28) // cols)), cols


layernorm_of_many_rows = _matrix("layernorm", _many_rows)
layernorm, rmsnorm = (_matrix(kind, _norm_shape) for kind in ("layernorm", "rmsnorm"))
nll, crossentropy = (_matrix(kind, _logits) for kind in ("nll", "crossentropy"))


def softmax(rng):
    if draw.chance(rng, 0.35):  # attention scores
        length = rng.choice((128, 197, 256, 512, 1024, 2048))
        rows, cols = length * draw.size(rng, 1, 1024), length
    else:
        rows, cols = _logits(rng)
    return make("softmax", draw.weighted(rng, PLAIN_DTYPES), rows=rows, cols=cols,
                log=int(draw.chance(rng, 0.5)), pass_=_pass(rng)), {}


def dropout(rng):
    return make("dropout", draw.weighted(rng, PLAIN_DTYPES), n=draw.size(rng, 16, 1 << 29),
                pass_=_pass(rng)), {}


def embedding(rng):
    dtype = draw.weighted(rng, PLAIN_DTYPES)
    if draw.chance(rng, 0.6):
        model = draw.draw_transformer(rng)
        rows = model.vocabulary if draw.chance(rng, 0.7) else rng.choice((2, 512, 1024, 2048))
        dim, lookups = model.hidden, tokens(rng)
    else:
        rows, dim = draw.size(rng, 2, 1 << 22), draw.size(rng, 4, 2048)
        lookups = draw.size(rng, 1, 1 << 17)
    return make("embedding", dtype, rows=rows, dim=dim, lookups=lookups,
                zipf=rng.choice((0, 0, 80, 100, 120)), pass_=_pass(rng)), {}


def embeddingbag(rng):
    dtype = draw.weighted(rng, {"fp32": 70, "bf16": 20, "fp16": 10})
    return make("embeddingbag", dtype, rows=draw.size(rng, 4, 1 << 24),
                dim=rng.choice((16, 32, 64, 64, 128, 128, 256)), bags=draw.size(rng, 16, 16384),
                pool=rng.choice((1, 1, 1, 2, 4, 8, 10, 20, 38, 64, 128)),
                zipf=rng.choice((0, 0, 80, 105)), pass_=_pass(rng)), {}


def tensor_sizes(rng, total, count):
    """Splits `total` elements over `count` tensors, log-normally, as the layers of a model."""
    weights = [rng.lognormvariate(0.0, 1.8) for _ in range(count)]
    scale = total / sum(weights)
    sizes = [max(1, int(weight * scale)) for weight in weights]
    sizes[0] = max(1, sizes[0] + total - sum(sizes))
    return sizes


def _tensor_list(rng, largest):
    count = rng.choice((1, 2, 3, 5, 8, 14, 26, 50, 75, 100, 148, 161, 200, 292, 400, 500))
    sizes = tensor_sizes(rng, draw.log_uniform(rng, max(count, 256), largest), count)
    return sizes, {"sizes": sizes}


def _pieces(sizes):
    """Says how PyTorch's kernels over lists cut tensors: chunks of 64 Ki elements, and the share of
    the elements whose tensors divide into vectors of four."""
    aligned = sum(size for size in sizes if size % 4 == 0)
    return {"chunks": sum(-(-size // 65536) for size in sizes),
            "aligned": round(100 * aligned / sum(sizes))}


def optimizer(rng):
    fn = draw.weighted(rng, {"adamw": 55, "adam": 15, "sgd": 15, "adamw_foreach": 15})
    sizes, detail = _tensor_list(rng, 1_000_000_000)
    return make("optimizer", draw.weighted(rng, {"bf16": 45, "fp32": 50, "fp16": 5}), fn=fn,
                n=sum(sizes), tensors=len(sizes), **_pieces(sizes)), detail


def gradnorm(rng):
    sizes, detail = _tensor_list(rng, 2_000_000_000)
    return make("gradnorm", draw.weighted(rng, PLAIN_DTYPES), n=sum(sizes),
                tensors=len(sizes), **_pieces(sizes)), detail


def foreach(rng):
    sizes, detail = _tensor_list(rng, 1_000_000_000)
    detail["scalar"] = draw.chance(rng, 0.5)
    dtype, fn = draw.weighted(rng, PLAIN_DTYPES), rng.choice(("add", "mul", "norm"))
    lists = 1 if detail["scalar"] or fn == "norm" else 2
    return make("foreach", dtype, fn=fn, n=sum(sizes), tensors=len(sizes), lists=lists,
                **_pieces(sizes)), detail


def rope(rng):
    return make("rope", draw.weighted(rng, PLAIN_DTYPES), b=draw.log_uniform(rng, 1, 32),
                s=draw.size(rng, 16, 8192), h=rng.choice((1, 2, 4, 8, 12, 16, 24, 32, 64)),
                d=rng.choice((64, 64, 128, 128, 80)), pass_=_pass(rng)), {}


def moepermute(rng):
    return make("moepermute", "bf16", tokens=tokens(rng), k=rng.choice((1, 2, 2, 4, 6, 8)),
                hidden=rng.choice((1024, 2048, 4096, 7168)),
                experts=rng.choice((8, 16, 64, 128, 256)), skew=rng.choice((0, 50, 100)),
                pass_=_pass(rng)), {}


def _pool(rng, kind, kernel, stride, pad):
    return make(kind, draw.weighted(rng, PLAIN_DTYPES), b=1 << rng.randrange(0, 9),
                c=draw.size(rng, 3, 1024), h=(edge := rng.choice((7, 14, 28, 56, 112, 224))),
                w=edge, kernel=min(kernel, edge), stride=stride, pad=pad,
                nhwc=int(draw.chance(rng, 0.55)), pass_=_pass(rng)), {}


def maxpool(rng):
    return _pool(rng, "maxpool", *rng.choice(((3, 2, 1), (2, 2, 0), (3, 1, 1))))


def avgpool(rng):
    return _pool(rng, "avgpool", *rng.choice(((2, 2, 0), (3, 2, 1), (7, 1, 0), (3, 1, 1))))


def upsample(rng):
    edge = rng.choice((7, 14, 28, 32, 56, 64, 112))
    return make("upsample", draw.weighted(rng, PLAIN_DTYPES), b=1 << rng.randrange(0, 7),
                c=draw.size(rng, 3, 1024), h=edge, w=edge, scale=rng.choice((2, 2, 4)),
                nhwc=int(draw.chance(rng, 0.5)), pass_=_pass(rng)), {}


def quantize(rng):
    rows, cols = _norm_shape(rng)
    return make("quantize", rng.choice(("bf16", "bf16", "fp32")), rows=rows, cols=cols), {}
