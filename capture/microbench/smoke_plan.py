"""What the smoke run measures: a few small operators of every kind, pass and variant."""

import collections

from microbench import estimate, sampling

_ROWS_A_GROUP = 3
_DRAWS_A_KIND = 400
_LONGEST_OPERATOR_S = 0.004
_LARGEST_OPERATOR_BYTES = 2e9
# Kind to the key whose values are told apart, besides the pass.
_VARIANT_KEYS = {"attention": "backend", "optimizer": "fn", "foreach": "fn", "reduce": "fn",
                 "memcpy": "dir", "copy": "mode"}


def group_of(sample):
    """Names the group a sample is counted under."""
    operator = sample.operator
    words = [operator.kind, operator.keys.get("pass", "")]
    if operator.kind in _VARIANT_KEYS:
        words.append(str(operator[_VARIANT_KEYS[operator.kind]]))
        if operator.keys.get("window"):
            words.append("window")
    if operator.kind in ("gemm", "bgemm", "conv"):
        words.append(operator.dtype)
    if operator.kind == "elementwise":
        words.append(sample.detail["form"])
    return " ".join(word for word in words if word)


def plan(seed, only=None, dtypes=None):
    """Draws up to three small samples of every group."""
    samples_of_group = collections.defaultdict(list)
    for kind in sampling.SAMPLERS:
        if only and kind not in only:
            continue
        for number in range(_DRAWS_A_KIND):
            drawn = sampling.sample_of_kind(seed, number, kind)
            chosen = samples_of_group[group_of(drawn)]
            if len(chosen) < _ROWS_A_GROUP and _is_small(drawn, dtypes):
                chosen.append(drawn)
    return {group: chosen for group, chosen in samples_of_group.items() if chosen}


def _is_small(sample, dtypes):
    if dtypes and sample.operator.dtype not in dtypes:
        return False
    return (estimate.seconds(sample.operator) < _LONGEST_OPERATOR_S
            and estimate.cost(sample.operator)[1] < _LARGEST_OPERATOR_BYTES)
