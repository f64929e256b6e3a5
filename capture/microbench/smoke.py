"""The smoke run: a few configurations of every kind, pass and variant, and what became of them."""

import collections
import time

import torch

from microbench import estimate, rows, sampling
from microbench.bench import Bench, GpuLost

_ROWS_A_GROUP = 3
_DRAWS_A_KIND = 400
_LONGEST_OPERATOR_S = 0.004
_LARGEST_OPERATOR_BYTES = 2e9
_SECONDS = 50.0
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


def _run_group(bench, chosen):
    """Measures one group; returns (rows, failed, first error)."""
    failures = []
    bench.first_error_of_kind.clear()
    for sample in chosen:
        if not bench.add(sample):
            failures.append(bench.first_error_of_kind.get(sample.operator.kind, "skipped"))
    found = bench.finish_batch()
    if len(found) + len(failures) < len(chosen):
        failures.append(bench.first_error_of_kind.get(chosen[0].operator.kind, "dropped"))
    return found, failures


def run(options):
    bench = Bench(options.seed)
    writer = rows.Writer(options.out) if options.out_given else None
    groups = plan(options.seed, options.only, options.dtypes)
    started = time.monotonic()
    table, total = [], 0
    with torch.no_grad():
        for group, chosen in groups.items():
            if time.monotonic() - started > _SECONDS:
                table.append((group, 0, 0, 0.0, "not reached: out of time"))
                continue
            begun = time.monotonic()
            try:
                found, failures = _run_group(bench, chosen)
            except GpuLost as lost:
                table.append((group, 0, len(chosen), 0.0, f"the GPU was lost: {lost}"))
                break
            if writer:
                writer.write(found)
            total += len(found)
            table.append((group, len(found), len(failures), time.monotonic() - begun,
                          failures[0] if failures else ""))
    bench.close()
    _print(table, total, time.monotonic() - started, bench)
    return 0


def _print(table, total, seconds, bench):
    print(f"{'operator':44} {'ok':>3} {'failed':>6} {'seconds':>8}  first error")
    for group, count, failed, took, error in table:
        print(f"{group:44} {count:3} {failed:6} {took:8.2f}  {error[:160]}")
    print(f"{total} rows in {seconds:.1f} s, {bench.mismatches} incomplete recordings, "
          f"empty event pair {bench.events.empty_us:.2f} us, {bench.machine}", flush=True)
