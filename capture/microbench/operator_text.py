"""Operators as one line of text, `KIND key=value … DTYPE` (docs/formats/operators.md)."""

import dataclasses

DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "tf32": 4, "fp8": 1, "fp64": 8, "int8": 1,
               "int32": 4, "int64": 8, "bool": 1}

_CONV1D = [("b", None), ("c", None), ("oc", None), ("w", None), ("kw", None), ("stride", 1),
           ("pad", 0), ("dilation", 1), ("groups", 1), ("pass", "fwd")]
_NORM = [("rows", None), ("cols", None), ("pass", "fwd")]
_POOL = [("b", None), ("c", None), ("h", None), ("w", None), ("kernel", None), ("stride", None),
         ("pad", None), ("nhwc", 0), ("pass", "fwd")]

# Kind to its keys in canonical order; a default of None says that the key must be given.
SCHEMAS = {
    "gemm": [("m", None), ("n", None), ("k", None), ("layout", "nn"), ("bias", 0)],
    "bgemm": [("b", None), ("m", None), ("n", None), ("k", None), ("layout", "nn")],
    "groupedgemm": [("g", None), ("m", None), ("n", None), ("k", None), ("skew", 0)],
    "attention": [("b", None), ("h", None), ("kv", None), ("sq", None), ("sk", None), ("d", None),
                  ("causal", 0), ("window", 0), ("dropout", 0), ("backend", "auto"),
                  ("pass", "fwd")],
    "conv": [("b", None), ("c", None), ("oc", None), ("h", None), ("w", None), ("kh", None),
             ("kw", None), ("stride", 1), ("pad", 0), ("dilation", 1), ("groups", 1), ("nhwc", 0),
             ("pass", "fwd")],
    "conv1d": _CONV1D,
    "embedding": [("rows", None), ("dim", None), ("lookups", None), ("zipf", 0), ("pass", "fwd")],
    "embeddingbag": [("rows", None), ("dim", None), ("bags", None), ("pool", None), ("zipf", 0),
                     ("pass", "fwd")],
    "layernorm": _NORM,
    "rmsnorm": _NORM,
    "batchnorm": [("b", None), ("c", None), ("hw", None), ("nhwc", 0), ("pass", "fwd")],
    "softmax": [("rows", None), ("cols", None), ("log", 0), ("pass", "fwd")],
    "nll": _NORM,
    "crossentropy": _NORM,
    "dropout": [("n", None), ("pass", "fwd")],
    "elementwise": [("fn", None), ("n", None), ("rb", None), ("wb", None), ("mode", "contiguous")],
    "copy": [("n", None), ("to", "same"), ("mode", "contiguous")],
    "fill": [("n", None)],
    "arange": [("n", None)],
    "reduce": [("fn", "sum"), ("outer", None), ("r", None), ("inner", None)],
    "cat": [("n", None), ("parts", None), ("run", None), ("mode", "contiguous")],
    "transpose": [("b", None), ("m", None), ("n", None)],
    "tril": [("b", None), ("m", None), ("n", None), ("diag", 0), ("pass", "fwd")],
    "index": [("rows", None), ("dim", None), ("lookups", None), ("put", 0), ("pass", "fwd")],
    "scatter": [("n", None), ("lookups", None), ("put", 0)],
    "sort": [("n", None)],
    "cumsum": [("rows", None), ("cols", None)],
    "topk": [("rows", None), ("cols", None), ("k", None)],
    "memcpy": [("bytes", None), ("dir", None), ("pinned", 0)],
    "optimizer": [("fn", "adamw"), ("n", None), ("tensors", None), ("master", 0),
                  ("chunks", 0), ("aligned", 100)],
    "gradnorm": [("n", None), ("tensors", None), ("chunks", 0), ("aligned", 100)],
    "foreach": [("fn", "add"), ("n", None), ("tensors", None), ("chunks", 0), ("aligned", 100), ("lists", 1)],
    "rope": [("b", None), ("s", None), ("h", None), ("d", None), ("pass", "fwd")],
    "moepermute": [("tokens", None), ("k", None), ("hidden", None), ("experts", None), ("skew", 0),
                   ("pass", "fwd")],
    "maxpool": _POOL,
    "avgpool": _POOL,
    "upsample": [("b", None), ("c", None), ("h", None), ("w", None), ("scale", None), ("nhwc", 0),
                 ("pass", "fwd")],
    "quantize": [("rows", None), ("cols", None)],
}


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
