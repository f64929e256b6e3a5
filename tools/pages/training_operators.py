"""Operators of training that others timed: Liger's kernels and PyTorch's own beside them, and Aceso's operators of GPT and ResNet on a V100.

Nothing is fitted to either table. A row is a call of a framework, which may launch several kernels; it is compared with the sum of the operators
that the call launches. What has no such sum here is counted by name.
"""

import collections
import functools
import json
import math
import re
import statistics

from validation import SHARED, rows_of, run_json, table

LIGER = SHARED / "kernels" / "liger" / "operators.csv.gz"
ACESO = SHARED / "kernels" / "aceso" / "v100_operators.csv.gz"
NEEDS = (LIGER, ACESO)
GPUS = {"H100 80GB HBM3": "H100", "H100 PCIe": "H100-PCIe", "A100-SXM4-80GB": "A100-80GB", "GeForce RTX 3090": "RTX-3090", "GeForce RTX 4090": "RTX-4090"}
BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
LONG_S = 1e-4  # shorter calls are mostly the host's time
AT_ONCE = 500
MIB = 1 << 20
HIDDEN_AND_HEADS = {"gpt_350M": (1024, 16), "gpt_1_3B": (2048, 32), "gpt_2_6B": (2560, 32), "gpt_6_7B": (4096, 32), "gpt_13B": (5120, 40)}
SEQUENCE = 2048


def gemm(m, n, k, layout, dtype):
    return f"gemm m={m} n={n} k={k} layout={layout} {dtype}"


def gradients(m, n, k, dtype):
    """Both of a linear layer."""
    return [gemm(m, k, n, "nn", dtype), gemm(n, k, m, "tn", dtype)]


def elementwise(function, n, read, written, dtype, mode="contiguous"):
    """`read` and `written` count operands."""
    size = BYTES[dtype]
    return f"elementwise fn={function} n={n} rb={size * read} wb={size * written} mode={mode} {dtype}"


def passes(kind, sizes, dtype):
    return [f"{kind} {sizes} {dtype}"], [f"{kind} {sizes} pass=bwd {dtype}"]


def eager_rms_norm(rows, cols, dtype):
    """As Hugging Face writes it, in fp32 between two casts."""
    n = rows * cols
    wide, narrow = ([], []) if dtype == "fp32" else ([f"copy n={n} to=fp32 {dtype}"], [f"copy n={n} to={dtype} fp32"])
    row_sum = f"reduce fn=sum outer={rows} r={cols} inner=1 fp32"
    scaled = elementwise("mul", n, 1, 1, "fp32", "broadcast")
    square, product = elementwise("pow", n, 1, 1, "fp32"), elementwise("mul", n, 2, 1, "fp32")
    weighted = elementwise("mul", n, 1, 1, dtype, "broadcast")
    forward = [*wide, square, row_sum, scaled, *narrow, weighted]
    backward = [weighted, elementwise("mul", n, 2, 1, dtype), f"reduce fn=sum outer=1 r={rows} inner={cols} {dtype}", *wide, scaled, product, row_sum,
                elementwise("div", n, 0, 1, "fp32", "broadcast"), square, elementwise("mul", n, 1, 1, "fp32"), product,
                elementwise("add", n, 2, 1, "fp32"), *narrow]
    return forward, backward


def eager_rope(n, dtype):
    """x · cos + turned x · sin over heads that lie beside each other."""
    turned, added = elementwise("mul", n, 1, 1, dtype, "strided"), elementwise("add", n, 2, 1, dtype, "strided")
    negated, whole, half = elementwise("neg", n // 2, 1, 1, dtype, "strided"), f"copy n={n} mode=strided {dtype}", f"copy n={n // 2} mode=strided {dtype}"
    return ([turned, negated, whole, turned, added],
            [turned, turned, negated, *2 * [f"fill n={n} {dtype}"], half, half, elementwise("add", n, 2, 1, dtype), added, whole])


def gated_mlp(rows, hidden, inner, function, dtype, is_fused):
    n = rows * inner
    gate, gate_backward = [elementwise(function, n, 1, 1, dtype), elementwise("mul", n, 2, 1, dtype)], [
        *2 * [elementwise("mul", n, 2, 1, dtype)], elementwise(f"{function}_backward", n, 2, 1, dtype)]
    if is_fused:
        gate, gate_backward = [elementwise("other", n, 2, 1, dtype)], [elementwise("other", n, 3, 2, dtype)]
    return ([*2 * [gemm(rows, inner, hidden, "nt", dtype)], *gate, gemm(rows, hidden, inner, "nt", dtype)],
            [*gradients(rows, hidden, inner, dtype), *gate_backward, *2 * gradients(rows, inner, hidden, dtype), elementwise("add", rows * hidden, 2, 1, dtype)])


def tokens(shape):
    if "M" in shape or "BT" in shape:
        return shape.get("M") or shape["BT"]
    return shape.get("B", shape.get("bsz", 1)) * (shape.get("T") or shape.get("S"))


def linear_loss(shape, dtype):
    rows, hidden, words = tokens(shape), shape.get("H") or shape["hidden_size"], shape.get("V") or shape["vocab_size"]
    forward, backward = passes("crossentropy", f"rows={rows} cols={words}", dtype)
    return [gemm(rows, words, hidden, "nt", dtype), *forward], [*backward, *gradients(rows, words, hidden, dtype)]


def rope(shape, dtype):
    heads, shared = (shape.get("num_q_heads") or shape["num_attention_heads"]), (shape.get("num_kv_heads") or shape["num_key_value_heads"])
    elements = (shape.get("T") or shape["seq_len"]) * ((shape.get("H") or shape["hidden_size"]) // heads)
    parts = [eager_rope(elements * count, dtype) for count in (heads, shared)]
    return [op for part in parts for op in part[0]], [op for part in parts for op in part[1]]


def squared_relu(shape, dtype):
    n = tokens(shape) * (shape.get("N") or shape["hidden_size"])
    return ([elementwise("relu", n, 1, 1, dtype), elementwise("pow", n, 1, 1, dtype)],
            [elementwise("pow", n, 1, 1, dtype), elementwise("mul", n, 1, 1, dtype), elementwise("mul", n, 2, 1, dtype),
             elementwise("relu_backward", n, 2, 1, dtype)])


def liger_operators(row):
    """Forward and backward operators of a row, or nothing."""
    shape, name, is_eager = json.loads(row["shape"]), row["operator"], row["provider"] in ("torch", "huggingface")
    if "model_config" in shape or name not in ("layer_norm", "rms_norm", "softmax", "cross_entropy", "embedding", "swiglu", "geglu", "group_norm", "rope",
                                               "relu_squared", "fused_linear_cross_entropy", "megatron_rms_norm"):
        return None
    cols = shape.get("N") or shape.get("H") or shape.get("hidden_size")
    dtype = row["dtype"] or ("fp32" if name == "cross_entropy" else "bf16")
    if name in ("swiglu", "geglu"):
        return gated_mlp(tokens(shape), shape["hidden_size"], shape["intermediate_size"], "silu" if name == "swiglu" else "gelu_tanh", dtype, not is_eager)
    if name == "rms_norm" and is_eager:
        return eager_rms_norm(tokens(shape), cols, dtype)
    if name in ("layer_norm", "rms_norm", "megatron_rms_norm", "softmax"):
        return passes(name.removeprefix("megatron_").replace("_", ""), f"rows={tokens(shape)} cols={cols}", dtype)
    if name == "group_norm" and "C" in shape:
        return passes("groupnorm", f"b={shape['M']} c={shape['C']} hw={shape['H']} groups={shape['C'] // shape['channels_per_group']}", dtype)
    if name == "embedding" and row["provider"] != "liger":
        return passes("embedding", f"rows={shape['V']} dim={shape['D']} lookups={tokens(shape)}", dtype)
    if not is_eager:
        return None
    if name == "cross_entropy":
        return passes("crossentropy", f"rows={tokens(shape)} cols={shape.get('V') or shape['vocab_size']}", dtype)
    of_eager = {"rope": rope, "relu_squared": squared_relu, "fused_linear_cross_entropy": linear_loss}
    return of_eager[name](shape, dtype) if name in of_eager else None


def gpt_operators(row):
    """Kind, forward and backward operators of a layer of GPT, in fp16; or nothing."""
    (hidden, heads), batch, name = HIDDEN_AND_HEADS[row["model"]], int(row["micro_batch"]), row["op"].removeprefix("enc-")
    rows, size, maps = SEQUENCE * batch, hidden // heads, heads * batch
    products = {"attention-qkv": (3 * hidden, hidden), "attention-dense": (hidden, hidden), "MLP-GEMM-1": (4 * hidden, hidden), "MLP-GEMM-2": (hidden, 4 * hidden)}

    def batched(n, k, layout):
        return f"bgemm b={maps} m={SEQUENCE} n={n} k={k} layout={layout} fp16"

    if name in products:
        return "gemm", [gemm(rows, *products[name], "nt", "fp16")], gradients(rows, *products[name], "fp16")
    if name.endswith("layernorm"):
        return "layernorm", *passes("layernorm", f"rows={rows} cols={hidden}", "fp16")
    if name == "attention-softmax":
        return "softmax", *passes("softmax", f"rows={maps * SEQUENCE} cols={SEQUENCE}", "fp16")
    if name == "attention-dropout":
        n = maps * SEQUENCE**2
        return "dropout", [f"dropout n={n} fp16"], [f"elementwise fn=mul n={n} rb=3 wb=2 fp16"]
    if name == "MLP-gelu":
        return "gelu", [elementwise("gelu", 4 * rows * hidden, 1, 1, "fp16")], [elementwise("gelu_backward", 4 * rows * hidden, 2, 1, "fp16")]
    if name == "attention-score":
        return "bgemm", [batched(SEQUENCE, size, "nt")], [batched(size, SEQUENCE, "nn"), batched(size, SEQUENCE, "tn")]
    if name == "attention-context":
        return "bgemm", [batched(size, SEQUENCE, "nn")], [batched(SEQUENCE, size, "nt"), batched(size, SEQUENCE, "tn")]
    return None


def elements(row, column):
    return round(float(row[column]) * MIB / 4)


def convolution(row, widths):
    """Sizes of a convolution of a wide ResNet, in fp32, which follow from the sizes of its weights; or nothing."""
    place, weights = re.fullmatch(r"block-(\d)-(\d)-conv(\d)", row["op"]), elements(row, "weights_mb")
    if row["op"] == "conv1":
        return f"c=3 oc={round(weights / 147)} h=224 w=224 kh=7 kw=7 stride=2 pad=3"
    width = place and widths.get((row["model"], row["micro_batch"], place[1], place[2]))
    if not width:
        return None
    out = 56 >> int(place[1])
    into = out * (2 if place[1] != "0" and place[2] == "0" else 1)
    if place[3] == "2":
        return f"c={width} oc={width} h={into} w={into} kh=3 kw=3 stride={into // out} pad=1"
    other = round(weights / width)
    return (f"c={other} oc={width} h={into} w={into}" if place[3] == "1" else f"c={width} oc={other} h={out} w={out}") + " kh=1 kw=1"


def resnet_operators(row, widths):
    if row["op"].endswith("relu"):
        n = elements(row, "output_mb")
        return "relu", [elementwise("relu", n, 1, 1, "fp32")], [elementwise("relu_backward", n, 2, 1, "fp32")]
    sizes = convolution(row, widths)
    if not sizes:
        return None
    kernel = sizes.split("kh=")[1].split()[0]
    op, ways = f"conv b={row['micro_batch']} {sizes}", ("wgrad",) if row["op"] == "conv1" else ("dgrad", "wgrad")
    return f"conv {kernel}x{kernel}", [f"{op} fp32"], [f"{op} pass={way} fp32" for way in ways]


@functools.cache
def compared(program, read):
    """(name of the group, GPU, measured seconds, predicted, low, high) of the rows that `read` yields as (name, GPU, seconds, operators)."""
    rows = list(read())
    operators = collections.defaultdict(set)
    for _, gpu, _, parts in rows:
        operators[gpu].update(parts)
    found = {}
    for gpu, parts in operators.items():
        ordered = sorted(parts)
        for place in range(0, len(ordered), AT_ONCE):
            asked = ordered[place:place + AT_ONCE]
            made = run_json(program, "predict", "kernel", *asked, "--gpu", gpu)
            found.update({(gpu, op): one for op, one in zip(asked, made if isinstance(made, list) else [made])})
    return [(name, gpu, seconds, *(sum(found[gpu, part][key] for part in parts) for key in ("time_s", "low_s", "high_s"))) for name, gpu, seconds, parts in rows]


def liger_rows():
    for row in rows_of(LIGER):
        parts = liger_operators(row)
        if parts:
            way = {"backward": "backward", "full": "both"}.get(row["direction"], "forward")
            maker = "PyTorch" if row["provider"] in ("torch", "huggingface", "torch_compile") else row["provider"].split("_")[0]
            yield ((row["operator"], maker, way), GPUS.get(row["gpu"], row["gpu"]), float(row["p50_ms"]) / 1e3,
                   {"forward": parts[0], "backward": parts[1], "both": parts[0] + parts[1]}[way])


def aceso_rows():
    rows = [row for row in rows_of(ACESO) if row["tp"] == "1" and row["algo"] == "0"]
    widths = {(row["model"], row["micro_batch"], row["op"][6], row["op"][8]): math.isqrt(elements(row, "weights_mb") // 9)
              for row in rows if row["op"].startswith("block") and row["op"].endswith("conv2")}
    for row in rows:
        parts = gpt_operators(row) if row["model"] in HIDDEN_AND_HEADS else resnet_operators(row, widths) if row["model"].startswith("resnet") else None
        for way, column, ops in ((("forward", "forward_us", parts[1]), ("backward", "backward_us", parts[2])) if parts else ()):
            yield (parts[0], way), "V100", float(row[column]) / 1e6, ops


HEADS = ">rows | >mean \\|error\\| % | >bias % | >0.1 ms and longer | >mean \\|error\\| % | >bias % | >in the 80 % interval %"


def figures(rows):
    """Of all rows, and of those that take longer than a host needs to call them."""
    cells = []
    longer = [row for row in rows if row[2] >= LONG_S]
    for chosen in (rows, longer):
        errors = [100 * (predicted / measured - 1) for _, _, measured, predicted, _, _ in chosen]
        cells += [len(errors), *((f"{statistics.fmean(map(abs, errors)):.0f}", f"{statistics.fmean(errors):+.0f}") if errors else ("–", "–"))]
    inside = [low <= measured <= high for _, _, measured, _, low, high in longer]
    return [*cells, f"{100 * statistics.fmean(inside):.0f}" if inside else "–"]


def grouped(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return [(*name, *figures(group)) for name, group in sorted(groups.items())]


def liger(program):
    return table(f"operator | by | pass | {HEADS}", grouped(compared(program, liger_rows), lambda row: row[0]))


def gpus(program):
    return table(f"GPU | by | {HEADS}", grouped(compared(program, liger_rows), lambda row: (row[1], row[0][1])))


def v100(program):
    return table(f"operator | pass | {HEADS}", grouped(compared(program, aceso_rows), lambda row: row[0]))


def not_compared(_):
    """Operators of Liger's table that have no sum of operators here."""
    rows = [row for row in rows_of(LIGER) if not liger_operators(row)]
    names = collections.Counter(row["operator"] for row in rows)
    yield f"{len(rows)} of {len(rows_of(LIGER))} rows: " + ", ".join(f"{name} {count}" for name, count in sorted(names.items())) + "."


TABLES = {"Liger": liger, "GPUs": gpus, "not compared": not_compared, "V100": v100}
