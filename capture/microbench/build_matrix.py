"""Builds calls of the operators that multiply matrices."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from microbench.build_compiled import flex
from microbench.operands import zipf_counts

aten = torch.ops.aten


def gemm(o, detail, operands):
    if o.dtype == "fp8":
        return _scaled_gemm(o, operands)
    a = operands.stored(o["m"], o["k"], o.dtype, o["layout"][0])
    b = operands.stored(o["k"], o["n"], o.dtype, o["layout"][1])
    if o["bias"]:
        bias = operands.get((o["n"],), o.dtype)
        return lambda: torch.addmm(bias, a, b)
    return lambda: torch.mm(a, b)


def _scaled_gemm(o, operands):
    a = operands.get((o["m"], o["k"]), "fp8")
    b = operands.get((o["n"], o["k"]), "fp8").t()
    one = torch.ones((), device="cuda", dtype=torch.float32)
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def bgemm(o, detail, operands):
    b = o["b"]
    first, second = o["layout"]
    x = (operands.get((b, o["m"], o["k"]), o.dtype) if first == "n"
         else operands.get((b, o["k"], o["m"]), o.dtype).transpose(1, 2))
    y = (operands.get((b, o["k"], o["n"]), o.dtype) if second == "n"
         else operands.get((b, o["n"], o["k"]), o.dtype).transpose(1, 2))
    return lambda: torch.bmm(x, y)


def groupedgemm(o, detail, operands):
    counts = zipf_counts(o["m"], o["g"], o["skew"])
    ends = torch.tensor(counts, device="cuda").cumsum(0).to(torch.int32)
    x = operands.get((o["m"], o["k"]), o.dtype)
    weights = operands.get((o["g"], o["n"], o["k"]), o.dtype).transpose(1, 2)
    grouped = getattr(torch, "_grouped_mm", None) or F.grouped_mm
    return lambda: grouped(x, weights, offs=ends)


def _attention_inputs(o, detail, operands):

    def one(heads, length):
        if detail.get("sequence_major", True):
            return operands.get((o["b"], length, heads, o["d"]), o.dtype).transpose(1, 2)
        return operands.get((o["b"], heads, length, o["d"]), o.dtype)

    return one(o["h"], o["sq"]), one(o["kv"], o["sk"]), one(o["kv"], o["sk"]), one(o["h"], o["sq"])


def _backend(name):
    return {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
            "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}[name]


def attention(o, detail, operands):
    if o["backend"] == "flex":
        return flex(o, operands)
    q, k, v, gradient = _attention_inputs(o, detail, operands)
    if o["window"]:
        return _windowed_attention(o, q, k, v)
    options = {"is_causal": bool(o["causal"]), "dropout_p": 0.1 if o["dropout"] else 0.0}
    if o["kv"] != o["h"]:
        options["enable_gqa"] = True
    if not o.is_backward:
        return _attention_call(o["backend"], q, k, v, options)
    inputs = [x.detach().requires_grad_(True) for x in (q, k, v)]
    with torch.enable_grad():
        out = _attention_call(o["backend"], *inputs, options)()
    return lambda: torch.autograd.grad(out, inputs, gradient, retain_graph=True)


def _attention_call(backend, q, k, v, options):
    if backend == "auto":
        return lambda: F.scaled_dot_product_attention(q, k, v, **options)
    return _forced(_backend(backend), q, k, v, options)


def _forced(backend, q, k, v, options):
    def call():
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, **options)

    return call


def _windowed_attention(o, q, k, v):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    left = o["window"] - 1
    return lambda: aten._flash_attention_forward(
        q, k, v, None, None, o["sq"], o["sk"], 0.0, True, False, window_size_left=left,
        window_size_right=0)


def conv(o, detail, operands):
    nhwc = o["nhwc"]
    x = operands.image((o["b"], o["c"], o["h"], o["w"]), o.dtype, nhwc)
    weight = operands.image((o["oc"], o["c"] // o["groups"], o["kh"], o["kw"]), o.dtype, nhwc)
    return _convolution(o, x, weight, [o["stride"]] * 2, [o["pad"]] * 2, [o["dilation"]] * 2,
                        lambda shape: operands.image(shape, o.dtype, nhwc))


def conv1d(o, detail, operands):
    x = operands.get((o["b"], o["c"], o["w"]), o.dtype)
    weight = operands.get((o["oc"], o["c"] // o["groups"], o["kw"]), o.dtype)
    return _convolution(o, x, weight, [o["stride"]], [o["pad"]], [o["dilation"]],
                        lambda shape: operands.get(shape, o.dtype))


def _convolution(o, x, weight, stride, pad, dilation, gradient_of_shape):
    groups = o["groups"]
    if o["pass"] == "fwd":
        function = F.conv2d if x.dim() == 4 else F.conv1d
        return lambda: function(x, weight, None, stride, pad, dilation, groups)
    edges = [(edge + 2 * pad[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1
             for i, edge in enumerate(x.shape[2:])]
    gradient = gradient_of_shape((o["b"], o["oc"], *edges))
    mask = {"dgrad": [True, False, False], "wgrad": [False, True, False],
            "bwd": [True, True, False]}[o["pass"]]
    no_padding = [0] * len(stride)
    return lambda: aten.convolution_backward(gradient, x, weight, None, stride, pad, dilation,
                                             False, no_padding, groups, mask)
