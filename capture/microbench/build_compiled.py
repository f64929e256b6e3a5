"""Builds calls of kernels that torch.compile makes for each shape: loops in Triton, FlexAttention."""

import torch
import torch._dynamo
import torch.nn.functional as F


def _compiled(function):
    for limit in ("recompile_limit", "cache_size_limit", "accumulated_recompile_limit",
                  "accumulated_cache_size_limit"):
        if hasattr(torch._dynamo.config, limit):
            setattr(torch._dynamo.config, limit, 1 << 20)
    return torch.compile(function, fullgraph=True, dynamic=False)


def _pointwise(inputs, outputs):
    def function(*values):
        total = F.silu(values[0])
        for value in values[1:inputs]:
            total = total * value + 0.5
        return (total, total.tanh())[:outputs]

    return function


def _rmsnorm(x, weight):
    return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5).to(x.dtype) * weight


_ROWS = {"sum": lambda x: x.sum(-1), "softmax": lambda x: x.softmax(-1), "rmsnorm": _rmsnorm,
         "rmsnorm_add": lambda x, weight, other: _rmsnorm(x + other, weight)}


def triton(o, detail, operands):
    if "inputs" in detail:
        values = [operands.get((o["cols"],), o.dtype) for _ in range(detail["inputs"])]
        function = _compiled(_pointwise(detail["inputs"], detail["outputs"]))
        return lambda: function(*values)
    shape = (o["rows"], o["cols"])
    values = [operands.get(shape, o.dtype)]
    if detail["form"].startswith("rmsnorm"):
        values.append(operands.get((o["cols"],), o.dtype))
    if detail["form"] == "rmsnorm_add":
        values.append(operands.get(shape, o.dtype))
    function = _compiled(_ROWS[detail["form"]])
    return lambda: function(*values)


def _is_before(batch, head, query, key):
    return query >= key


def flex(o, operands):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    shape = lambda heads, length: (o["b"], heads, length, o["d"])
    q, gradient = (operands.get(shape(o["h"], o["sq"]), o.dtype) for _ in range(2))
    k, v = (operands.get(shape(o["kv"], o["sk"]), o.dtype) for _ in range(2))
    mask = (create_block_mask(_is_before, None, None, o["sq"], o["sk"], device="cuda")
            if o["causal"] else None)
    attend = _compiled(flex_attention)
    function = lambda *inputs: attend(*inputs, block_mask=mask, enable_gqa=o["h"] != o["kv"])
    if not o.is_backward:
        return lambda: function(q, k, v)
    inputs = [x.detach().requires_grad_(True) for x in (q, k, v)]
    with torch.enable_grad():
        out = function(*inputs)
    return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)
