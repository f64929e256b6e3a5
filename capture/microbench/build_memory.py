"""Builds calls of the operators that move bytes."""

import torch

from microbench.operands import DTYPES, indices, scratch

aten = torch.ops.aten

_UNARY = {
    "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "exp": torch.exp, "log": torch.log,
    "neg": torch.neg, "abs": torch.abs, "relu": torch.relu, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "silu": aten.silu.default, "sin": torch.sin, "cos": torch.cos,
    "reciprocal": torch.reciprocal, "other": torch.erf,
    "gelu": lambda x: aten.gelu.default(x),
    "gelu_tanh": lambda x: aten.gelu.default(x, approximate="tanh"),
    "clamp": lambda x: torch.clamp(x, -1.0, 1.0), "pow": lambda x: torch.pow(x, 2.0),
}
_UNARY_IN_PLACE = {
    "sqrt": torch.sqrt_, "rsqrt": torch.rsqrt_, "exp": torch.exp_, "neg": torch.neg_,
    "relu": torch.relu_, "tanh": torch.tanh_, "sigmoid": torch.sigmoid_, "sin": torch.sin_,
    "cos": torch.cos_, "clamp": lambda x: torch.clamp_(x, -1.0, 1.0),
}
_BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
_BINARY_IN_PLACE = {"add": torch.Tensor.add_, "sub": torch.Tensor.sub_, "mul": torch.Tensor.mul_,
                    "div": torch.Tensor.div_}
_BACKWARD = {
    "relu_backward": lambda g, x: aten.threshold_backward.default(g, x, 0),
    "gelu_backward": lambda g, x: aten.gelu_backward.default(g, x),
    "gelu_tanh_backward": lambda g, x: aten.gelu_backward.default(g, x, approximate="tanh"),
    "tanh_backward": lambda g, x: aten.tanh_backward.default(g, x),
    "sigmoid_backward": lambda g, x: aten.sigmoid_backward.default(g, x),
    "silu_backward": lambda g, x: aten.silu_backward.default(g, x),
}
_TERNARY = {"addcmul": torch.addcmul, "addcdiv": torch.addcdiv, "lerp": torch.lerp}


def elementwise(o, detail, operands):
    form = detail["form"]
    if form in _RIGHT:
        return _with_left(o, detail, operands, _RIGHT[form](o, detail, operands))
    if form in _STRIDED:
        functions, views_of = _STRIDED[form]
        views = views_of(lambda shape: operands.get(shape, o.dtype), *detail["shape"])
        function = functions[o["fn"]]
        return lambda: function(*views)
    return _FORMS[form](o, detail, operands)


def _unary(o, detail, operands):
    if detail["inplace"] and o["fn"] in _UNARY_IN_PLACE:
        function, x = _UNARY_IN_PLACE[o["fn"]], scratch(detail["shape"], o.dtype)
    else:
        function, x = _UNARY[o["fn"]], operands.get(detail["shape"], o.dtype)
    return lambda: function(x)


def _with_left(o, detail, operands, y):
    """Applies a function of two operands, the left one in place where the detail asks for it."""
    if detail["inplace"]:
        function, x = _BINARY_IN_PLACE[o["fn"]], scratch(detail["shape"], o.dtype)
    else:
        function, x = _BINARY[o["fn"]], operands.get(detail["shape"], o.dtype)
    return lambda: function(x, y)


def _backward(o, detail, operands):
    function = _BACKWARD[o["fn"]]
    gradient, x = (operands.get(detail["shape"], o.dtype) for _ in range(2))
    return lambda: function(gradient, x)


def _ternary(o, detail, operands):
    function = _TERNARY[o["fn"]]
    x, y, z = (operands.get(detail["shape"], o.dtype) for _ in range(3))
    return lambda: function(x, y, z)


def _where(o, detail, operands):
    x, y = (operands.get(detail["shape"], o.dtype) for _ in range(2))
    condition = operands.get(detail["shape"], "bool")
    return lambda: torch.where(condition, x, y)


def _masked_fill(o, detail, operands):
    mask = operands.get(detail.get("other", detail["shape"]), "bool")
    if detail["inplace"]:
        x = scratch(detail["shape"], o.dtype)
        return lambda: x.masked_fill_(mask, -1.0)
    x = operands.get(detail["shape"], o.dtype)
    return lambda: x.masked_fill(mask, -1.0)


def _compare(o, detail, operands):
    x, y = (operands.get(detail["shape"], o.dtype) for _ in range(2))
    return lambda: torch.lt(x, y)


def _compare_scalar(o, detail, operands):
    x = operands.get(detail["shape"], o.dtype)
    return lambda: torch.gt(x, 0)


# The right operand of functions of two, by form.
_RIGHT = {
    "binary": lambda o, detail, operands: operands.get(detail["shape"], o.dtype),
    "scalar": lambda o, detail, operands: 3 if o.dtype == "int64" else 1.0009765625,
    "mixed": lambda o, detail, operands: operands.get(detail["shape"], detail["other"]),
    "broadcast": lambda o, detail, operands: operands.get(detail["other"], o.dtype),
}
# Functions, and strided views of what get(shape) gives.
_STRIDED = {
    "strided_transposed": (_BINARY, lambda get, b, heads, s, d: (get((b, s, heads, d)).transpose(1, 2),
                                                                 get((b, heads, s, d)))),
    "strided_chunk": (_UNARY, lambda get, b, s, h: (get((b, s, 2 * h))[..., :h],)),
    "strided_chunks": (_BINARY, lambda get, b, s, h: get((b, s, 2 * h)).chunk(2, dim=-1)),
    "strided_half": (_UNARY, lambda get, b, heads, s, half: (get((b, heads, s, 2 * half))[..., half:],)),
}
_FORMS = {
    "unary": _unary, "backward": _backward, "ternary": _ternary, "where": _where, "masked_fill": _masked_fill,
    "compare": _compare, "compare_scalar": _compare_scalar, "broadcast_mask": _masked_fill,
}


def _copy_source(o, shape, form, operands):
    if form == "contiguous":
        return operands.get(shape, o.dtype)
    if form == "chunk":
        b, s, h = shape
        return operands.get((b, s, 3 * h), o.dtype)[..., h:2 * h]
    if form == "permuted":
        b, h, s = shape
        return operands.get((b, s, h), o.dtype).transpose(1, 2)
    if form == "transposed":
        b, heads, s, d = shape
        return operands.get((b, s, heads, d), o.dtype).transpose(1, 2)
    b, heads, repeats, s, d = shape
    return operands.get((b, heads, 1, s, d), o.dtype).expand(shape)


def copy(o, detail, operands):
    source = _copy_source(o, detail["shape"], detail["form"], operands)
    out = scratch(detail["shape"], o.dtype if o["to"] == "same" else o["to"])
    return lambda: out.copy_(source)


def fill(o, detail, operands):
    out = scratch((o["n"],), o.dtype)
    return out.zero_ if detail["zero"] else lambda: out.fill_(1)


def arange(o, detail, operands):
    dtype = DTYPES[o.dtype]
    return lambda: torch.arange(o["n"], device="cuda", dtype=dtype)


def reduce(o, detail, operands):
    x = operands.get((o["outer"], o["r"], o["inner"]), o.dtype)
    function = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax,
                "norm": torch.linalg.vector_norm}[o["fn"]]
    return lambda: function(x, dim=1)


def cat(o, detail, operands):
    if detail["shape"]:
        return _strided_cat(o, detail["shape"], operands)
    rows = o["n"] // (o["parts"] * o["run"])
    parts = [operands.get((rows, o["run"]), o.dtype) for _ in range(o["parts"])]
    return lambda: torch.cat(parts, dim=1)


def _strided_cat(o, shape, operands):
    b, heads, s, d = shape
    x = operands.get((b, s, heads, d), o.dtype).transpose(1, 2)
    if o["parts"] == 1:
        return lambda: torch.cat([x], dim=2)
    parts = [operands.get((b, heads, s, d // 2), o.dtype), x[..., :d // 2]]
    return lambda: torch.cat(parts, dim=-1)


def transpose(o, detail, operands):
    x = operands.get((o["b"], o["m"], o["n"]), o.dtype).permute(0, 2, 1)
    return lambda: x.contiguous()


def tril(o, detail, operands):
    rows, cols = torch.tril_indices(o["m"], o["n"], offset=o["diag"], device="cuda")
    if not o.is_backward:
        x = operands.get((o["b"], o["m"], o["n"]), o.dtype)
        return lambda: x[:, rows, cols]
    gradient = operands.get((o["b"], rows.numel()), o.dtype)
    shape = (o["b"], o["m"], o["n"])
    dtype = DTYPES[o.dtype]

    def call():
        out = torch.zeros(shape, device="cuda", dtype=dtype)
        return aten._index_put_impl_.default(out, [None, rows, cols], gradient, True, True)

    return call


def index(o, detail, operands):
    chosen = indices(o["rows"], o["lookups"])
    if not o.is_backward:
        x = operands.get((o["rows"], o["dim"]), o.dtype)
        return lambda: torch.index_select(x, 0, chosen)
    gradient = operands.get((o["lookups"], o["dim"]), o.dtype)
    out = scratch((o["rows"], o["dim"]), o.dtype)
    if detail["by_put"]:
        return lambda: out.index_put_((chosen,), gradient, accumulate=True)
    return lambda: out.index_add_(0, chosen, gradient)


def scatter(o, detail, operands):
    chosen = indices(o["n"], o["lookups"])
    if detail["gather"]:
        x = operands.get((o["n"],), o.dtype)
        return lambda: torch.gather(x, 0, chosen)
    out = scratch((o["n"],), o.dtype)
    values = operands.get((o["lookups"],), o.dtype)
    return lambda: out.scatter_(0, chosen, values)


def sort(o, detail, operands):
    x = (torch.randint(0, 1 << 40, (o["n"],), device="cuda") if o.dtype == "int64"
         else operands.get((o["n"],), o.dtype))
    return lambda: torch.sort(x)


def cumsum(o, detail, operands):
    x = operands.get((o["rows"], o["cols"]), o.dtype)
    return lambda: torch.cumsum(x, dim=1)


def topk(o, detail, operands):
    x = operands.get((o["rows"], o["cols"]), o.dtype)
    return lambda: torch.topk(x, o["k"], dim=-1)


def memcpy(o, detail, operands):
    on_gpu = scratch((o["bytes"],), "int8")
    if o["dir"] == "d2d":
        other = torch.ones_like(on_gpu)
        return lambda: on_gpu.copy_(other)
    on_host = operands.host(o["bytes"], bool(o["pinned"]))
    if o["dir"] == "h2d":
        return lambda: on_gpu.copy_(on_host, non_blocking=True)
    return lambda: on_host.copy_(on_gpu, non_blocking=True)
