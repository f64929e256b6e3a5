"""Communication of one step of a traced job, derived from the model and the plan alone.

`expected(facts, rank)` takes the content of trace.json and returns {(kind, bytes): count}; `recorded(folder, rank)` is
the same from the recording. Formulas assume bf16 parameters and gradients without accumulation.
"""

import collections
import json

ELEMENT_BYTES = 2
FIRST_BUCKET_BYTES = 1 << 20
BUCKET_BYTES = 25 << 20


def recorded(folder, rank):
    exchanges = json.loads((folder / f"rank-{rank}" / "collectives.json").read_text())["collectives"]
    return dict(collections.Counter((exchange["kind"], exchange["bytes"]) for exchange in exchanges))


def expected(facts, rank):
    return dict(collections.Counter(_FORMULAS[facts["plan"]["kind"]](facts, rank)))


def has_formula(facts):
    """A user script may communicate anything."""
    return facts["plan"]["kind"] in _FORMULAS


def _size_of(facts, dimension):
    return next(entry["size"] for entry in facts["plan"]["mesh"] if entry["name"] == dimension)


def _activation_bytes(facts):
    training = facts["training"]
    return training["micro_batch"] * training["sequence"] * _hidden(facts) * ELEMENT_BYTES


def _hidden(facts):
    config = facts["model"]["config"]
    return config.get("hidden_size", config.get("n_embd"))


def _ddp(facts, _):
    """Each gradient bucket once."""
    for size in bucket_bytes(_gpt2_tensors(facts)[::-1]):
        yield "all_reduce", size


def bucket_bytes(tensors):
    """Tensors in the order in which gradients become ready; a bucket is closed when it reaches its limit, which
    is 1 MiB for the first one and 25 MiB for all others."""
    filled, limit = 0, FIRST_BUCKET_BYTES
    for elements in tensors:
        filled += elements * ELEMENT_BYTES
        if filled >= limit:
            yield filled
            filled, limit = 0, BUCKET_BYTES
    if filled:
        yield filled


def _gpt2_tensors(facts):
    """Elements of each parameter as the model defines them; the head is the embedding. Gradients become ready in reverse
    order."""
    width, positions, words = _hidden(facts), 1024, 50257
    norm = [width, width]
    attention = [3 * width * width, 3 * width, width * width, width]
    mlp = [4 * width * width, 4 * width, 4 * width * width, width]
    layer = norm + attention + norm + mlp
    return [words * width, positions * width] + layer * facts["model"]["layers"] + norm


def llama_layer(config):
    """Shapes of a layer's parameters: projections of queries, keys, values and the output; gate, up, down; two norms."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    head = width // config["num_attention_heads"]
    keys = config["num_key_value_heads"] * head
    return [(width, width), (keys, width), (keys, width), (width, width), (inner, width), (inner, width), (width, inner),
            (width,), (width,)]


def _llama_rest(config):
    """Embedding, head and the last norm."""
    width, words = config["hidden_size"], config["vocab_size"]
    return [(words, width)] + ([] if config["tie_word_embeddings"] else [(words, width)]) + [(width,)]


def unit_bytes(shapes, ranks):
    """Each parameter is sharded along its first dimension, which is padded to a multiple of the ranks."""
    return ELEMENT_BYTES * sum(-(-shape[0] // ranks) * ranks * (shape[1] if len(shape) > 1 else 1) for shape in shapes)


def _fsdp2(facts, _):
    """One unit per layer, and one for the rest. A layer is gathered for the forward pass, freed, and gathered
    again for the backward pass; the root stays gathered. Each unit's gradients are reduce-scattered once."""
    ranks, config = _size_of(facts, "dp"), facts["model"]["config"]
    root = unit_bytes(_llama_rest(config), ranks)
    layer = unit_bytes(llama_layer(config), ranks)
    yield "all_gather", root
    yield "reduce_scatter", root
    for _ in range(facts["model"]["layers"]):
        yield from [("all_gather", layer)] * 2
        yield "reduce_scatter", layer


def _tensor(facts, _):
    """Forward, a layer all-reduces the results of its two row-parallel matrices (attention output, down). Backward, each
    column-parallel matrix all-reduces its own input gradient: Q, K, V, gate and up. The vocabulary-parallel embedding all-reduces
    forward; the head all-reduces its input gradient. The loss over sharded logits all-reduces a maximum, a sum of exponentials
    and the target logit of each token, in fp32."""
    training, layers = facts["training"], facts["model"]["layers"]
    yield from [("all_reduce", _activation_bytes(facts))] * (layers * (2 + 5) + 1 + 1)
    yield from [("all_reduce", training["micro_batch"] * training["sequence"] * 4)] * 3


def _pipeline(facts, rank):
    """Each micro-batch's activations go to the next stage and their gradient comes back; likewise for the previous
    stage."""
    stages, microbatches = _size_of(facts, "pp"), facts["plan"]["microbatches"]
    neighbours = (rank > 0) + (rank < stages - 1)
    for kind in ("send", "receive"):
        yield from [(kind, _activation_bytes(facts))] * (microbatches * neighbours)


_FORMULAS = {"ddp": _ddp, "fsdp2": _fsdp2, "tp": _tensor, "pp": _pipeline}
