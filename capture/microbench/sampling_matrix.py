"""Draws operators that multiply matrices: products, attention, convolution."""

from microbench import draw
from microbench.operator_text import make

MATRIX_DTYPES = {"bf16": 50, "fp16": 12, "fp32": 23, "tf32": 10}
PLAIN_DTYPES = {"bf16": 50, "fp16": 12, "fp32": 23}


def tokens(rng):
    """Draws batch·sequence of a training step."""
    if draw.chance(rng, 0.6):
        return 1 << rng.randrange(9, 16)
    return draw.size(rng, 256, 32768)


def _linear_of_a_model(rng):
    """Draws (in, out, has bias, stored transposed) of one layer of one rank."""
    if draw.chance(rng, 0.12):
        inputs, out = rng.choice(draw.OTHER_LINEARS)
        return inputs, out, True, False
    model = draw.draw_transformer(rng)
    shard = rng.choice((1, 1, 1, 2, 4, 8))
    if draw.chance(rng, 0.25):
        return model.hidden, -(-model.vocabulary // shard), False, False
    inputs, out = rng.choice(model.linears(shard))
    return inputs, out, model.bias, model.transposed


def _model_gemm(rng, dtype):
    inputs, out, bias, transposed = _linear_of_a_model(rng)
    rows = tokens(rng)
    step = rng.choice(("fwd", "dgrad", "wgrad"))
    if dtype == "fp8":
        inputs, out, rows = (-(-x // 16) * 16 for x in (inputs, out, rows))
    if step == "fwd":
        layout = "nn" if transposed else "nt"
        return rows, out, inputs, layout, int(bias and draw.chance(rng, 0.8))
    if step == "dgrad":
        return rows, inputs, out, "nt" if transposed else "nn", 0
    return (inputs, out, rows, "tn", 0) if transposed else (out, inputs, rows, "tn", 0)


def _free_gemm(rng):
    style = rng.random()
    low, high = (1, 1024) if style < 0.25 else (32, 16384)
    sizes = [draw.size(rng, low, high) for _ in range(3)]
    if style > 0.8:
        sizes[rng.randrange(3)] = draw.size(rng, 1, 96)
    layout = draw.weighted(rng, {"nn": 30, "nt": 40, "tn": 27, "tt": 3})
    bias = int(layout in ("nn", "nt") and draw.chance(rng, 0.2))
    return *sizes, layout, bias


def gemm(rng):
    dtype = "fp8" if draw.chance(rng, 0.15) else draw.weighted(rng, MATRIX_DTYPES)
    m, n, k, layout, bias = _model_gemm(rng, dtype) if draw.chance(rng, 0.5) else _free_gemm(rng)
    if dtype == "fp8":
        n, k, layout, bias = -(-n // 16) * 16, -(-k // 16) * 16, "nt", 0
    return make("gemm", dtype, m=m, n=n, k=k, layout=layout, bias=bias), {}


def bgemm(rng):
    dtype = draw.weighted(rng, MATRIX_DTYPES)
    style = rng.random()
    if style < 0.35:  # attention written out: scores and their product with the values
        heads = rng.choice((8, 12, 16, 20, 25, 32, 64)) * (1 << rng.randrange(0, 6))
        length = rng.choice((128, 197, 256, 384, 512, 1023, 1024, 2048))
        d = rng.choice((32, 64, 80, 128))
        m, n, k = rng.choice(((length, length, d), (length, d, length)))
        return make("bgemm", dtype, b=heads, m=m, n=n, k=k,
                    layout=rng.choice(("nn", "nt", "tn"))), {}
    if style < 0.5:  # DLRM's interaction of features
        features = rng.choice((9, 14, 27, 27, 40))
        d = rng.choice((16, 32, 64, 128))
        m, n, k, layout = rng.choice(((features, features, d, "nt"), (features, d, features, "nn"),
                                      (features, d, features, "tn")))
        return make("bgemm", dtype, b=draw.size(rng, 64, 16384), m=m, n=n, k=k, layout=layout), {}
    m, n, k = (draw.size(rng, 1, 4096) for _ in range(3))
    return make("bgemm", dtype, b=draw.size(rng, 2, 1024), m=m, n=n, k=k,
                layout=rng.choice(("nn", "nt", "tn"))), {}


def groupedgemm(rng):
    if draw.chance(rng, 0.5):
        hidden, width, g = rng.choice(((4096, 14336, 8), (2048, 1408, 64), (7168, 2048, 32),
                                       (4096, 1536, 16), (2048, 768, 128)))
        width //= rng.choice((1, 1, 2, 4))
        n, k = rng.choice(((2 * width, hidden), (width, hidden), (hidden, width)))
    else:
        g = rng.choice((2, 4, 8, 16, 32, 64, 128))
        n, k = (draw.size(rng, 128, 8192) // 16 * 16 for _ in range(2))
    return make("groupedgemm", "bf16", g=g, m=max(g, tokens(rng)), n=n, k=k,
                skew=rng.choice((0, 0, 25, 50, 100))), {}


def _heads(rng):
    if draw.chance(rng, 0.6):
        model = draw.draw_transformer(rng)
        shard = rng.choice((1, 1, 2, 4, 8))
        heads, kv = max(1, model.heads // shard), max(1, model.kv_heads // shard)
        return (heads, kv, model.head_size) if heads % kv == 0 else (heads, heads, 64)
    kv = rng.choice((1, 2, 4, 8, 12, 16, 32))
    return kv * rng.choice((1, 1, 1, 2, 4, 8)), kv, rng.choice((32, 64, 80, 96, 128, 128, 256))


def _sequence(rng):
    if draw.chance(rng, 0.65):
        return 1 << rng.randrange(7, 15)
    return draw.size(rng, 64, 8192)


def _attention_backend(rng, dtype):
    if dtype == "fp32":
        return draw.weighted(rng, {"auto": 70, "efficient": 25, "math": 5})
    return draw.weighted(rng, {"auto": 58, "flash": 15, "cudnn": 14, "efficient": 10, "math": 3})


def attention(rng):
    dtype = draw.weighted(rng, {"bf16": 70, "fp16": 16, "fp32": 14})
    h, kv, d = _heads(rng)
    backend = _attention_backend(rng, dtype)
    if backend == "efficient" or dtype == "fp32":
        kv = h  # the memory-efficient kernels know no grouped queries
    sq = _sequence(rng)
    sk = sq if draw.chance(rng, 0.85) else _sequence(rng)
    causal = int(sq == sk and draw.chance(rng, 0.65))
    dropout = 1 if backend != "math" and draw.chance(rng, 0.12) else 0
    window = 0
    if backend == "flash" and causal and dropout == 0 and draw.chance(rng, 0.35):
        window = rng.choice((128, 512, 1024, 4096))
    backward = window == 0 and draw.chance(rng, 0.5)
    operator = make("attention", dtype, b=draw.size(rng, 1, 64), h=h, kv=kv, sq=sq, sk=sk, d=d,
                    causal=causal, window=window, dropout=dropout, backend=backend,
                    pass_="bwd" if backward else "fwd")
    return operator, {"sequence_major": draw.chance(rng, 0.75)}


def flex(rng):
    """Draws FlexAttention, whose kernels torch.compile makes for each shape."""
    h, kv, d = _heads(rng)
    length = rng.choice((128, 256, 512, 1024, 2048, 4096))
    return make("attention", draw.weighted(rng, {"bf16": 85, "fp16": 15}),
                b=draw.log_uniform(rng, 1, 32), h=h, kv=kv, sq=length, sk=length,
                d=64 if d < 96 else 128, causal=int(draw.chance(rng, 0.6)), backend="flex",
                pass_=rng.choice(("fwd", "bwd"))), {}


def _conv_pass(rng):
    """Draws a pass; the whole backward pass is dgrad, then wgrad, and takes as long as both."""
    return draw.weighted(rng, {"fwd": 40, "dgrad": 30, "wgrad": 30})


def _batch(rng):
    return 1 << rng.randrange(0, 9) if draw.chance(rng, 0.7) else draw.log_uniform(rng, 1, 256)


def _channels(rng):
    """Draws channels as networks have them; one in six times any number."""
    if draw.chance(rng, 1 / 6):
        return draw.size(rng, 3, 2048)
    return rng.choice((3, 16, 24, 32, 40, 48, 64, 64, 80, 96, 112, 128, 128, 160, 192, 224, 256, 256,
                       320, 384, 448, 512, 512, 640, 768, 1024, 1280, 2048))


def _free_conv(rng, style):
    """Draws (channels, out channels, kernel, groups). Large kernels without groups are those of
    first layers and small branches, with few channels; groups are those of ResNeXt and RegNet."""
    if style > 0.92:
        c = _channels(rng)
        return c, c, rng.choice((3, 3, 5, 7)), c
    if style > 0.84:
        width, groups = rng.choice((4, 8, 16, 24, 32, 64)), rng.choice((2, 4, 8, 16, 32))
        return width * groups, width * groups, 3, groups
    kernel = draw.weighted(rng, {1: 38, 3: 46, 5: 8, 7: 8})
    if kernel > 3:
        return rng.choice((1, 3, 4, 16, 32, 48, 64)), rng.choice((16, 32, 64, 96, 128)), kernel, 1
    return _channels(rng), _channels(rng), kernel, 1


def conv(rng):
    dtype = draw.weighted(rng, MATRIX_DTYPES)
    style = rng.random()
    if style < 0.60:
        table = draw.weighted(rng, {draw.RESNET50: 50, draw.VGG16: 20,
                                    draw.MOBILENET: 30})
        c, oc, edge, kernel, stride, pad, groups = rng.choice(table)
    else:
        edge = rng.choice((7, 8, 13, 14, 16, 17, 28, 32, 35, 56, 64, 71, 112, 128, 224))
        c, oc, kernel, groups = _free_conv(rng, style)
        stride, pad = rng.choice((1, 1, 1, 2)), kernel // 2
    dilation = 2 if kernel == 3 and draw.chance(rng, 0.03) else 1
    pad = pad * dilation
    return make("conv", dtype, b=_batch(rng), c=c, oc=oc, h=edge, w=edge, kh=kernel, kw=kernel,
                stride=stride, pad=pad, dilation=dilation, groups=groups,
                nhwc=int(draw.chance(rng, 0.55)), pass_=_conv_pass(rng)), {}


def conv_of_few_channels(rng):
    """Draws layers of large images and few channels: U-Nets, neural operators, autoencoders."""
    c, oc = (rng.choice((1, 3, 4, 8, 16, 24, 32, 32, 48, 64, 64, 96, 128)) for _ in range(2))
    edge, kernel = rng.choice((64, 96, 128, 128, 192, 256, 256, 384, 512)), rng.choice((1, 1, 3, 3, 3, 5, 7))
    most = max(1, (1 << 27) // (edge * edge * max(c, oc)))
    return make("conv", draw.weighted(rng, MATRIX_DTYPES), b=min(_batch(rng), most), c=c, oc=oc, h=edge, w=edge, kh=kernel,
                kw=kernel, stride=rng.choice((1, 1, 1, 2)), pad=kernel // 2, groups=1,
                nhwc=int(draw.chance(rng, 0.35)), pass_=_conv_pass(rng)), {}


def conv1d(rng):
    dtype = draw.weighted(rng, MATRIX_DTYPES)
    kernel = rng.choice((1, 3, 3, 4, 5, 7, 10))
    c, oc, groups = _channels(rng), _channels(rng), 1
    if draw.chance(rng, 0.25):  # of Mamba and Conformer
        kernel = rng.choice((3, 4, 4, 7, 15, 31))
        oc = groups = c
    dilation = rng.choice((2, 4, 8)) if kernel == 3 and draw.chance(rng, 0.15) else 1
    return make("conv1d", dtype, b=_batch(rng), c=c, oc=oc, w=draw.size(rng, 16, 8192), kw=kernel,
                stride=rng.choice((1, 1, 2)), pad=kernel // 2 * dilation, dilation=dilation,
                groups=groups, pass_=_conv_pass(rng)), {}
