#!/usr/bin/env python3
"""Fits the costs of managed memory (data/memory/uvm.yaml) to measurements of one GPU.

    tools/fit_uvm.py --program build/orrery data/memory/managed/h200.jsonl [--write data/memory/uvm.yaml]

Only the microbenchmark is used (capture/measure_managed), no recording of a model. Counts of batches, blocks and pages come
from the simulator, which runs each pattern with the driver's own prefetch on, as it was measured; the costs are the least
squares of relative errors, none below zero. Every third row of a kind is held out. Prints costs and errors.
"""

import argparse
import pathlib
import re
import statistics
import sys

import managed_patterns as patterns

HOST_GBPS = 64  # host link of the H200 in data/hardware/gpus.yaml, the reference of shares
LEAF = 65536
NO_TIME_NS = 2000
LARGE = 16 << 20


def is_held_out(place):
    return place % 3 == 1


def fault_rows(rows):
    """Cold kernels with memory written by the host or never, with whether they are held out."""
    chosen = []
    for kind in ("chase", "lanes", "pages", "stream"):
        of_kind = [row for row in rows if row["experiment"] == kind and not row["resident"]
                   and row["backing"] in ("written", "nobody")]
        chosen += [(row, kind != "chase" and is_held_out(place)) for place, row in enumerate(of_kind)]
    return chosen


def counts(program, row):
    """(kernels, batches, blocks, GB copied, GB empty); a chase has a batch for each fault."""
    if row["experiment"] == "chase":
        gigabytes = row["blocks"] * LEAF / 1e9
        is_written = row["backing"] == "written"
        return [1, row["blocks"], row["blocks"], gigabytes * is_written, gigabytes * (not is_written)]
    driver = patterns.played(program, row, patterns.write_faults, NO_TIME_NS)["driver"]
    copied = driver["copied_in_bytes"]
    return [1, driver["batches"], driver["fault_blocks"], copied / 1e9,
            (driver["pages_in"] * patterns.PAGE - copied) / 1e9]


def solve(matrix, right):
    """Gaussian elimination with pivoting; `matrix` is square and small."""
    size = len(right)
    rows = [list(matrix[i]) + [right[i]] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda j: abs(rows[j][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(size):
            if j != i:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(equations, targets):
    """The costs that fit best in relative terms; those that would be below zero are zero."""
    used = list(range(len(equations[0])))
    while True:
        scaled = [[row[i] / target for i in used] for row, target in zip(equations, targets)]
        matrix = [[sum(row[i] * row[j] for row in scaled) for j in range(len(used))] for i in range(len(used))]
        found = solve(matrix, [sum(row[i] for row in scaled) for i in range(len(used))])
        if min(found) >= 0:
            return [found[used.index(i)] if i in used else 0.0 for i in range(len(equations[0]))]
        used.pop(found.index(min(found)))


def mean_error(pairs):
    """The mean of |simulated / measured - 1|."""
    return statistics.mean(abs(simulated / measured - 1) for simulated, measured in pairs)


def fit_faults(program, rows):
    chosen = [(counts(program, row), row["median_ns"], held_out) for row, held_out in fault_rows(rows)]
    costs = least_squares([c for c, _, held_out in chosen if not held_out],
                          [ns for _, ns, held_out in chosen if not held_out])
    for held_out, name in ((False, "fitted"), (True, "held out")):
        pairs = [(sum(a * b for a, b in zip(costs, c)), ns) for c, ns, out in chosen if out == held_out]
        print(f"faults, {name}: {len(pairs)} patterns, mean error {100 * mean_error(pairs):.0f} %")
    return costs


def prefetch_rows(rows):
    """Calls in a busy stream, where they were measured; else in an idle one."""
    behind = [row for row in rows if row["experiment"] == "behind"]
    return behind or [row for row in rows if row["experiment"] == "prefetch" and row["access"] == "to_gpu"]


def prefetch_counts(row):
    """(one, calls, calls that move data, blocks, GB copied, GB empty)."""
    blocks = row["calls"] * -(-row["bytes"] // row["calls"] // patterns.BLOCK)
    gigabytes = 0 if row["resident"] else row["bytes"] / 1e9
    is_written = row["backing"] == "written"
    return [1, row["calls"], 0 if row["resident"] else row["calls"], blocks, gigabytes * is_written, gigabytes * (not is_written)]


def fit_prefetch(rows):
    chosen = [(prefetch_counts(row), row["median_ns"], is_held_out(place))
              for place, row in enumerate(prefetch_rows(rows))]
    width = 6 if any(c[5] > 0 for c, _, _ in chosen) else 5
    costs = least_squares([c[:width] for c, _, held_out in chosen if not held_out],
                          [ns for _, ns, held_out in chosen if not held_out])
    for held_out, name in ((False, "fitted"), (True, "held out")):
        pairs = [(sum(a * b for a, b in zip(costs, c)), ns) for c, ns, out in chosen if out == held_out]
        print(f"prefetch, {name}: {len(pairs)} rows, mean error {100 * mean_error(pairs):.0f} %")
    return costs


def eviction_gbps(rows):
    rates = [row["bytes"] / row["median_ns"] for row in rows if row["experiment"] == "prefetch"
             and row["access"] == "to_host" and not row["resident"] and row["bytes"] >= LARGE]
    print(f"to the host: {len(rates)} rows, {min(rates):.1f} to {max(rates):.1f} GB/s")
    return statistics.median(rates)


def gbps(ns_per_gigabyte, otherwise):
    return 1e9 / ns_per_gigabyte if ns_per_gigabyte > 0 else otherwise


def costs_of(program, rows):
    wake, batch, block, copied, empty = fit_faults(program, rows)
    prefetch_wake, call, move, prefetch_block, prefetch_copied, *prefetch_empty = fit_prefetch(rows)
    fault_empty = gbps(empty, gbps(copied, 1))
    return {
        "wake_ns": round(wake, -2), "batch_latency_ns": round(batch, -2), "block_service_ns": round(block, -2),
        "prefetch_wake_ns": round(prefetch_wake, -2), "prefetch_call_ns": round(call, -2), "prefetch_move_ns": round(move, -2), "prefetch_block_ns": round(prefetch_block, -2),
        "prefetch_share": round(gbps(prefetch_copied, HOST_GBPS) / HOST_GBPS, 3),
        "fault_share": round(gbps(copied, HOST_GBPS) / HOST_GBPS, 3),
        "eviction_share": round(eviction_gbps(rows) / HOST_GBPS, 3),
        "fault_population_gbps": round(fault_empty, 1),
        "prefetch_population_gbps": round(gbps(prefetch_empty[0], 1) if prefetch_empty else fault_empty, 1),
    }


def write(path, costs):
    content = path.read_text(encoding="utf-8")
    for name, value in costs.items():
        value = int(value) if name.endswith("_ns") else value
        content, found = re.subn(rf"(?m)^(    {name}:) .*$", rf"\1 {value}", content)
        if found != 1:
            sys.exit(f"fit_uvm: {path} has no line for {name}")
    path.write_text(content, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("measured", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    costs = costs_of(arguments.program, [row for path in arguments.measured for row in patterns.rows(path)[1]])
    for name, value in costs.items():
        print(f"{name}: {value:g}")
    if arguments.write:
        write(arguments.write, costs)


if __name__ == "__main__":
    main()
