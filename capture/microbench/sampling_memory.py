"""Draws operators that move bytes: elementwise, copies, reductions, indexing."""

import math

from microbench import draw
from microbench.operator_text import DTYPE_BYTES, make
from microbench.sampling_matrix import PLAIN_DTYPES, tokens

# Function to the number of full-size operands it reads.
UNARY = ("sqrt", "rsqrt", "exp", "log", "neg", "abs", "relu", "clamp", "gelu", "gelu_tanh", "tanh",
         "sigmoid", "silu", "sin", "cos", "reciprocal", "pow", "other")
BINARY = ("add", "sub", "mul", "div")
BACKWARD = ("relu_backward", "gelu_backward", "gelu_tanh_backward", "tanh_backward",
            "sigmoid_backward", "silu_backward")
TERNARY = ("addcmul", "addcdiv", "lerp")


def elements(rng, low=1, high=1 << 30):
    """Draws an element count: of an activation of a model, or free."""
    if draw.chance(rng, 0.35):
        model = draw.draw_transformer(rng)
        count = tokens(rng) * rng.choice((model.hidden, model.feed_forward))
        return max(low, min(high, count))
    return draw.size(rng, low, high)


def _tensor_shape(rng):
    """Draws (b, s, h) of an activation."""
    if draw.chance(rng, 0.4):
        model = draw.draw_transformer(rng)
        hidden = model.hidden
    else:
        hidden = draw.size(rng, 8, 16384)
    return draw.log_uniform(rng, 1, 64), draw.size(rng, 16, 4096), hidden


def _contiguous(rng, dtype):
    e = DTYPE_BYTES[dtype]
    form = draw.weighted(rng, {"unary": 26, "binary": 18, "scalar": 14, "backward": 14,
                               "ternary": 7, "mixed": 8, "where": 4, "masked_fill": 4,
                               "compare": 5})
    count = elements(rng)
    inplace = draw.chance(rng, 0.3)
    detail = {"form": form, "inplace": inplace, "shape": (count,)}
    if form == "mixed":
        fn = rng.choice(("mul", "add"))
        other = rng.choice(("bf16", "bf16", "fp16"))
        detail["other"] = other
        return make("elementwise", "fp32", fn=fn, n=count, rb=4 + DTYPE_BYTES[other], wb=4), detail
    fn, rb, wb = {
        "unary": (rng.choice(UNARY), e, e), "binary": (rng.choice(BINARY), 2 * e, e),
        "scalar": (rng.choice(BINARY), e, e), "backward": (rng.choice(BACKWARD), 2 * e, e),
        "ternary": (rng.choice(TERNARY), 3 * e, e), "where": ("where", 2 * e + 1, e),
        "masked_fill": ("masked_fill", e + 1, e), "compare": ("compare", 2 * e, 1)}[form]
    if form == "compare" and draw.chance(rng, 0.5):
        detail["form"], rb = "compare_scalar", e
    return make("elementwise", dtype, fn=fn, n=count, rb=rb, wb=wb), detail


def _integers(rng):
    """Draws what index and mask arithmetic does: int64 and bool."""
    count = elements(rng, 1, 1 << 27)
    form = rng.choice(("binary", "scalar", "compare", "compare_scalar"))
    fn = "compare" if form.startswith("compare") else rng.choice(("add", "sub", "mul"))
    rb = 16 if form in ("binary", "compare") else 8
    return (make("elementwise", "int64", fn=fn, n=count, rb=rb, wb=1 if fn == "compare" else 8),
            {"form": form, "inplace": False, "shape": (count,)})


def _broadcast(rng, dtype):
    e = DTYPE_BYTES[dtype]
    b, s, h = _tensor_shape(rng)
    pattern = rng.choice(("last", "last", "row", "rope", "mask", "scalar_tensor"))
    if pattern == "rope":
        heads, d = rng.choice((8, 12, 16, 32)), rng.choice((64, 128))
        shape, other = (b, heads, s, d), (1, 1, s, d)
    elif pattern == "mask":
        heads, s = rng.choice((8, 12, 16)), min(s, 2048)
        shape, other = (b, heads, s, s), (1, 1, s, s) if draw.chance(rng, 0.5) else (b, 1, 1, s)
    else:
        shape = (b, s, h)
        other = {"last": (h,), "row": (b, s, 1), "scalar_tensor": ()}[pattern]
    count = math.prod(shape)
    fn = rng.choice(("mul", "mul", "add", "div", "sub"))
    detail = {"form": "broadcast", "shape": shape, "other": other,
              "inplace": draw.chance(rng, 0.2)}
    if pattern == "mask" and draw.chance(rng, 0.4):
        fn, detail["form"] = "masked_fill", "broadcast_mask"
    return make("elementwise", dtype, fn=fn, n=count, rb=e, wb=e, mode="broadcast"), detail


def _strided(rng, dtype):
    e = DTYPE_BYTES[dtype]
    b, s, h = _tensor_shape(rng)
    d = rng.choice((32, 64, 128))
    heads = max(1, h // d)
    pattern = rng.choice(("transposed", "chunk", "chunks", "half"))
    if pattern in ("transposed", "half"):
        shape = (b, heads, s, d if pattern == "transposed" else d // 2)
    else:
        shape = (b, s, h)
    count = math.prod(shape)
    if pattern in ("chunk", "half"):
        fn, rb = rng.choice(("neg", "silu", "gelu", "sigmoid", "tanh")), e
    else:
        fn, rb = rng.choice(("mul", "add")), 2 * e
    return (make("elementwise", dtype, fn=fn, n=count, rb=rb, wb=e, mode="strided"),
            {"form": "strided_" + pattern, "shape": shape, "inplace": False})


def elementwise(rng):
    if draw.chance(rng, 0.05):
        return _integers(rng)
    dtype = draw.weighted(rng, PLAIN_DTYPES)
    mode = draw.weighted(rng, {"contiguous": 64, "broadcast": 20, "strided": 16})
    draw_mode = {"contiguous": _contiguous, "broadcast": _broadcast, "strided": _strided}[mode]
    return draw_mode(rng, dtype)


def triton(rng):
    """Draws loops as torch.compile writes them; a row of up to 1,024 elements stays in registers."""
    dtype = draw.weighted(rng, PLAIN_DTYPES)
    e = DTYPE_BYTES[dtype]
    if draw.chance(rng, 0.5):
        inputs, outputs = rng.choice((1, 1, 2, 2, 3, 4)), rng.choice((1, 1, 1, 2))
        count = elements(rng, 256, 1 << 28)
        return make("triton", dtype, rows=1, cols=count, tensors=inputs + outputs,
                    bytes=e * count * (inputs + outputs)), {"inputs": inputs, "outputs": outputs}
    rows, cols = draw.size(rng, 512, 65536), draw.size(rng, 32, 16384)
    form = rng.choice(("sum", "rmsnorm", "softmax", "rmsnorm_add"))
    tensors = {"sum": 2, "rmsnorm": 3, "softmax": 2, "rmsnorm_add": 4}[form]
    full = {"sum": 1, "rmsnorm": 2, "softmax": 2, "rmsnorm_add": 3}[form]
    small = {"sum": rows, "softmax": 0}.get(form, cols)
    return make("triton", dtype, fn="persistent" if cols <= 1024 else "reduction", rows=rows,
                cols=cols, tensors=tensors, bytes=e * (full * rows * cols + small)), {"form": form}


def copy(rng):
    dtype = draw.weighted(rng, {"bf16": 42, "fp16": 8, "fp32": 40, "int64": 6, "bool": 4})
    to = "same"
    if draw.chance(rng, 0.55):
        to = rng.choice([x for x in ("bf16", "fp16", "fp32", "fp32") if x != dtype])
    mode = draw.weighted(rng, {"contiguous": 50, "strided": 35, "broadcast": 15})
    if mode == "contiguous":
        count = elements(rng)
        return make("copy", dtype, n=count, to=to), {"form": "contiguous", "shape": (count,)}
    b, s, h = _tensor_shape(rng)
    d = rng.choice((32, 64, 128))
    heads = max(1, h // d)
    form = "repeat" if mode == "broadcast" else rng.choice(("transposed", "chunk", "permuted"))
    shape = {"repeat": (b, heads, 4, s, d), "transposed": (b, heads, s, d), "chunk": (b, s, h),
             "permuted": (b, h, s)}[form]
    count = math.prod(shape)
    mode = "transposed" if form == "permuted" else mode
    return make("copy", dtype, n=count, to=to, mode=mode), {"form": form, "shape": shape}


def fill(rng):
    dtype = draw.weighted(rng, {"bf16": 40, "fp16": 10, "fp32": 40, "int64": 10})
    return make("fill", dtype, n=elements(rng)), {"zero": draw.chance(rng, 0.7)}


def arange(rng):
    return make("arange", rng.choice(("int64", "int64", "fp32")), n=elements(rng, 1, 1 << 26)), {}


def reduce(rng):
    dtype = draw.weighted(rng, PLAIN_DTYPES)
    fn = draw.weighted(rng, {"sum": 55, "mean": 20, "max": 15, "norm": 10})
    style = rng.random()
    if style < 0.30:    # a bias gradient: over all rows
        outer, r, inner = 1, tokens(rng), draw.size(rng, 1, 16384)
    elif style < 0.55:  # over the last dimension
        outer, r, inner = draw.size(rng, 1, 65536), draw.size(rng, 2, 65536), 1
    elif style < 0.75:  # of everything
        outer, r, inner = 1, elements(rng, 2), 1
    else:
        outer, r, inner = (draw.size(rng, low, 4096) for low in (1, 2, 1))
    return make("reduce", dtype, fn=fn, outer=outer, r=r, inner=inner), {}


def cat(rng):
    dtype = draw.weighted(rng, PLAIN_DTYPES)
    if draw.chance(rng, 0.5):
        return _strided_cat(rng, dtype)
    parts = draw.log_uniform(rng, 1, 64)
    rows = draw.size(rng, 1, 16384) if draw.chance(rng, 0.8) else 1
    run = draw.size(rng, 1, 4096) if rows > 1 else draw.size(rng, 64, 1 << 22)
    return make("cat", dtype, n=rows * run * parts, parts=parts, run=run), {"shape": None}


def _strided_cat(rng, dtype):
    """Draws what attention code concatenates: keys of one step seen by heads, rotated halves."""
    b, s, h = _tensor_shape(rng)
    d = rng.choice((32, 64, 64, 80, 128))
    shape = (b, max(1, h // d), s, d)
    count = math.prod(shape)
    if draw.chance(rng, 0.5):
        return make("cat", dtype, n=count, parts=1, run=s * d, mode="strided"), {"shape": shape}
    return make("cat", dtype, n=count, parts=2, run=d // 2, mode="strided"), {"shape": shape}


def transpose(rng):
    dtype = draw.weighted(rng, PLAIN_DTYPES)
    m, n = (draw.size(rng, 2, 8192) for _ in range(2))
    return make("transpose", dtype, b=draw.log_uniform(rng, 1, 1024), m=m, n=n), {}


def tril(rng):
    m = rng.choice((9, 14, 27, 27, 32, 40)) if draw.chance(rng, 0.7) else draw.size(rng, 4, 128)
    return make("tril", draw.weighted(rng, PLAIN_DTYPES), b=draw.size(rng, 16, 16384), m=m, n=m,
                diag=rng.choice((-1, -1, 0)), pass_=rng.choice(("fwd", "bwd"))), {}


def index(rng):
    dtype = draw.weighted(rng, PLAIN_DTYPES)
    sizes = {"rows": draw.size(rng, 16, 1 << 20), "dim": draw.size(rng, 1, 4096),
             "lookups": draw.size(rng, 1, 1 << 17)}
    step = rng.choice(("fwd", "bwd"))
    put = int(draw.chance(rng, 0.4) and step == "bwd")
    return make("index", dtype, **sizes, put=put, pass_=step), {"by_put": bool(put)}


def scatter(rng):
    count = elements(rng, 16, 1 << 26)
    dtype, lookups = draw.weighted(rng, PLAIN_DTYPES), draw.log_uniform(rng, 1, count)
    gather = draw.chance(rng, 0.5)
    return make("scatter", dtype, n=count, lookups=lookups, put=int(not gather)), {"gather": gather}


def sort(rng):
    return make("sort", rng.choice(("int64", "fp32", "bf16")), n=draw.size(rng, 16, 1 << 25)), {}


def cumsum(rng):
    return make("cumsum", rng.choice(("int64", "fp32", "fp32", "bf16")),
                rows=draw.size(rng, 1, 16384), cols=draw.size(rng, 2, 65536)), {}


def topk(rng):
    if draw.chance(rng, 0.6):  # a mixture's router
        return make("topk", rng.choice(("fp32", "fp32", "bf16")), rows=tokens(rng),
                    cols=rng.choice((8, 16, 64, 128, 256)), k=rng.choice((1, 2, 4, 8))), {}
    cols = draw.size(rng, 8, 131072)
    return make("topk", rng.choice(("fp32", "bf16")), rows=draw.size(rng, 1, 4096), cols=cols,
                k=min(cols, rng.choice((1, 5, 50, 64)))), {}


def memcpy(rng):
    direction = draw.weighted(rng, {"h2d": 45, "d2h": 40, "d2d": 15})
    pinned = 0 if direction == "d2d" else int(draw.chance(rng, 0.6))
    top = 1 << 30 if pinned or direction == "d2d" else 1 << 28
    return make("memcpy", "int8", bytes=draw.size(rng, 4, top), dir=direction, pinned=pinned), {}
