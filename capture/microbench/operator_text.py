"""Operators as one line of text, `KIND key=value … DTYPE` (docs/formats/operators.md), and their rough cost before they run."""

import dataclasses

DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "tf32": 4, "fp8": 1, "fp64": 8, "int8": 1,
               "int32": 4, "int64": 8, "bool": 1}


def _key(word):
    key, equals, default = word.partition("=")
    return key, (int(default) if default.isdigit() else default) if equals else None


# Kind to its keys in canonical order, with their defaults; a key without one must be given.
SCHEMAS = {kind: [_key(word) for word in keys.split()] for kind, keys in {
    "gemm": "m n k layout=nn bias=0",
    "bgemm": "b m n k layout=nn",
    "groupedgemm": "g m n k skew=0",
    "attention": "b h kv sq sk d causal=0 window=0 dropout=0 backend=auto pass=fwd",
    "conv": "b c oc h w kh kw stride=1 pad=0 dilation=1 groups=1 nhwc=0 pass=fwd",
    "conv1d": "b c oc w kw stride=1 pad=0 dilation=1 groups=1 pass=fwd",
    "embedding": "rows dim lookups zipf=0 pass=fwd",
    "embeddingbag": "rows dim bags pool zipf=0 pass=fwd",
    "layernorm": "rows cols pass=fwd",
    "rmsnorm": "rows cols pass=fwd",
    "batchnorm": "b c hw nhwc=0 pass=fwd",
    "softmax": "rows cols log=0 pass=fwd",
    "nll": "rows cols pass=fwd",
    "crossentropy": "rows cols pass=fwd",
    "dropout": "n pass=fwd",
    "elementwise": "fn n rb wb mode=contiguous",
    "copy": "n to=same mode=contiguous",
    "fill": "n",
    "arange": "n",
    "reduce": "fn=sum outer r inner",
    "cat": "n parts run mode=contiguous",
    "transpose": "b m n",
    "tril": "b m n diag=0 pass=fwd",
    "index": "rows dim lookups put=0 pass=fwd",
    "scatter": "n lookups put=0",
    "sort": "n",
    "cumsum": "rows cols",
    "topk": "rows cols k",
    "memcpy": "bytes dir pinned=0",
    "optimizer": "fn=adamw n tensors master=0 chunks=0 aligned=100",
    "gradnorm": "n tensors chunks=0 aligned=100",
    "foreach": "fn=add n tensors chunks=0 aligned=100 lists=1",
    "rope": "b s h d pass=fwd",
    "moepermute": "tokens k hidden experts skew=0 pass=fwd",
    "maxpool": "b c h w kernel stride pad nhwc=0 pass=fwd",
    "avgpool": "b c h w kernel stride pad nhwc=0 pass=fwd",
    "upsample": "b c h w scale nhwc=0 pass=fwd",
    "quantize": "rows cols",
    "rnn": "fn=lstm layers b s input hidden bi=0 pass=fwd",
    "groupnorm": "b c hw groups=1 pass=fwd",
    "loss": "fn=mse n reduction=mean pass=fwd",
    "triton": "fn=pointwise rows cols bytes tensors",
}.items()}


class OperatorError(ValueError):
    """A text that is not an operator; the message is one sentence."""


@dataclasses.dataclass
class Operator:
    """A kind, its keys (defaults filled in) and the type it computes in."""

    kind: str
    keys: dict
    dtype: str

    def __getitem__(self, key):
        return self.keys[key]

    @property
    def is_backward(self):
        return self.keys.get("pass", "fwd") != "fwd"

    @property
    def element_bytes(self):
        return DTYPE_BYTES[self.dtype]

    def text(self):
        """Writes canonical text: the schema's order, defaults left out."""
        words = [self.kind]
        for key, default in SCHEMAS[self.kind]:
            if self.keys[key] != default:
                words.append(f"{key}={self.keys[key]}")
        words.append(self.dtype)
        return " ".join(words)


def make(kind, dtype, **keys):
    """Makes an operator; `pass_` stands for the key `pass`, which Python keeps for itself."""
    if "pass_" in keys:
        keys["pass"] = keys.pop("pass_")
    return _checked(kind, keys, dtype)


def parse(text):
    """Reads the text of an operator, keys in any order."""
    words = text.split()
    if not words or words[0] not in SCHEMAS:
        raise OperatorError(f"no operator kind at the start of '{text}'")
    keys, dtype = {}, None
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if equals:
            keys[key] = int(value) if value.lstrip("-").isdigit() else value
        elif word in DTYPE_BYTES:
            dtype = word
        else:
            raise OperatorError(f"'{word}' in '{text}' is neither key=value nor a type")
    if dtype is None:
        raise OperatorError(f"no type in '{text}'")
    return _checked(words[0], keys, dtype)


def _checked(kind, keys, dtype):
    filled = {}
    for key, default in SCHEMAS[kind]:
        filled[key] = keys.get(key, default)
        if filled[key] is None:
            raise OperatorError(f"{kind} needs the key {key}")
    unknown = sorted(set(keys) - set(filled))
    if unknown:
        raise OperatorError(f"{kind} has no key {unknown[0]}")
    return Operator(kind, filled, dtype)


LARGEST_BYTES = 24e9
LONGEST_SECONDS = 0.020

_MATRIX_FLOPS_PER_S = 300e12
_VECTOR_FLOPS_PER_S = 40e12
_BYTES_PER_S = 3e12
_HOST_BYTES_PER_S = 10e9


def cost(operator):
    """Estimates (flops, bytes of all operands) of one call."""
    return _COSTS.get(operator.kind, _rows)(operator, operator.element_bytes)


def seconds(operator):
    flops, size_bytes = cost(operator)
    rate = _VECTOR_FLOPS_PER_S if operator.dtype in ("fp32", "fp64") else _MATRIX_FLOPS_PER_S
    if operator.kind == "memcpy" and operator["dir"] != "d2d":
        return size_bytes / _HOST_BYTES_PER_S
    return flops / rate + size_bytes / _BYTES_PER_S


def too_large(operator):
    longest = 4 * LONGEST_SECONDS if operator.kind == "memcpy" else LONGEST_SECONDS
    return cost(operator)[1] > LARGEST_BYTES or seconds(operator) > longest


def _gemm(o, e):
    b, m, n, k = o.keys.get("b", 1), o["m"], o["n"], o["k"]
    out = max(e, 2)
    return 2 * b * m * n * k, b * (e * (m * k + k * n) + out * m * n)


def _grouped(o, e):
    return 2 * o["m"] * o["n"] * o["k"], e * (o["m"] * (o["n"] + o["k"]) + o["g"] * o["n"] * o["k"])


def _attention(o, e):
    b, h, kv, sq, sk, d = (o[x] for x in ("b", "h", "kv", "sq", "sk", "d"))
    flops = 4 * b * h * sq * sk * d * (0.5 if o["causal"] else 1.0)
    size_bytes = e * 2 * b * d * (h * sq + kv * sk)
    # The kernels for long rows of probabilities keep them when nothing is fused.
    if o["backend"] == "math":
        size_bytes += 16 * b * h * sq * sk
    return (2.5 * flops, 3 * size_bytes) if o.is_backward else (flops, size_bytes)


def out_edge(edge, kernel, stride, pad, dilation=1):
    return (edge + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1


def _conv(o, e):
    h, kh = o.keys.get("h", 1), o.keys.get("kh", 1)
    pad_h = o["pad"] if "h" in o.keys else 0
    oh = out_edge(h, kh, o["stride"] if "h" in o.keys else 1, pad_h, o["dilation"])
    ow = out_edge(o["w"], o["kw"], o["stride"], o["pad"], o["dilation"])
    flops = 2 * o["b"] * o["oc"] * oh * ow * (o["c"] // o["groups"]) * kh * o["kw"]
    size_bytes = e * (o["b"] * (o["c"] * h * o["w"] + o["oc"] * oh * ow)
                      + o["oc"] * o["c"] // o["groups"] * kh * o["kw"])
    # Depthwise kernels use no matrix units, and gradients of them are slow.
    if o["groups"] > 1:
        flops *= 20
    return (2 * flops, 2 * size_bytes) if o["pass"] == "bwd" else (flops, size_bytes)


def _embedding(o, e):
    lookups = o["lookups"] if "lookups" in o.keys else o["bags"] * o["pool"]
    touched = 2 * e * lookups * o["dim"]
    return 0, touched + 3 * e * o["rows"] * o["dim"] * (1 if o.is_backward else 0.4)


def _rows(o, e):
    return 0, 4 * e * o["rows"] * o["cols"]


def _batchnorm(o, e):
    return 0, 4 * e * o["b"] * o["c"] * o["hw"]


def _rnn(o, e):
    gates, directions = {"lstm": 4, "gru": 3}.get(o["fn"], 1), 1 + o["bi"]
    inputs = o["input"] + (o["layers"] - 1) * directions * o["hidden"]
    weights = directions * gates * o["hidden"] * (inputs + o["layers"] * o["hidden"])
    steps = o["b"] * o["s"]
    # Steps follow one another and fill the GPU badly.
    return (10 * steps * weights * (2 if o.is_backward else 1),
            4 * e * (weights + steps * o["layers"] * directions * (gates + 2) * o["hidden"]))


def _elementwise(o, e):
    return 0, o["n"] * (o["rb"] + o["wb"])


def _copy(o, e):
    to = DTYPE_BYTES.get(o["to"], e)
    return 0, o["n"] * (e + to)


def _list(o, e):
    copies = {"optimizer": 8, "foreach": 3, "gradnorm": 2}[o.kind]
    return 0, copies * e * o["n"]


def _pool(o, e):
    return 0, 16 * e * o["b"] * o["c"] * o["h"] * o["w"] * o.keys.get("scale", 1) ** 2 / 2


_COSTS = {
    "gemm": _gemm, "bgemm": _gemm, "groupedgemm": _grouped, "attention": _attention, "conv": _conv,
    "conv1d": _conv, "embedding": _embedding, "embeddingbag": _embedding, "batchnorm": _batchnorm,
    "elementwise": _elementwise, "copy": _copy, "fill": lambda o, e: (0, e * o["n"]),
    "arange": lambda o, e: (0, e * o["n"]), "dropout": lambda o, e: (0, 3 * e * o["n"]),
    "reduce": lambda o, e: (0, e * o["outer"] * o["r"] * o["inner"]),
    "cat": lambda o, e: (0, 2 * e * o["n"]),
    "transpose": lambda o, e: (0, 2 * e * o["b"] * o["m"] * o["n"]),
    "tril": lambda o, e: (0, 20 * e * o["b"] * o["m"] * o["n"]),
    "index": lambda o, e: (0, 3 * e * o["dim"] * (o["rows"] + o["lookups"])),
    "scatter": lambda o, e: (0, 30 * o["lookups"] + 2 * e * o["n"]),
    "sort": lambda o, e: (0, 300 * o["n"]), "memcpy": lambda o, e: (0, o["bytes"]),
    "topk": lambda o, e: (0, 10 * e * o["rows"] * o["cols"]),
    "optimizer": _list, "gradnorm": _list, "foreach": _list,
    "rope": lambda o, e: (0, 10 * e * o["b"] * o["s"] * o["h"] * o["d"]),
    "moepermute": lambda o, e: (0, 3 * e * o["tokens"] * o["k"] * o["hidden"]),
    "maxpool": _pool, "avgpool": _pool, "upsample": _pool, "rnn": _rnn, "groupnorm": _batchnorm,
    "loss": lambda o, e: (0, 6 * e * o["n"]), "triton": lambda o, e: (0, o["bytes"]),
}
