#!/usr/bin/env python3
"""Fits the times of operators that no kernel model knows to recordings of single calls (capture/record_operators).

    tools/fit_operators.py [--check] [--out data/models/operators.csv]

An operator takes a latency and a multiple of the time in which its bytes (inputs read once, outputs written once) pass through
memory. Both are kept as bytes of a plain element-wise kernel, whose model each GPU has. Names that were not recorded have the
latency and the multiple that suit their class best, found from words of the name; without one they are element-wise. --check prints the errors of names whose
rows were left out of the fit of their class.
"""

import argparse
import collections
import csv
import functools
import glob
import gzip
import math
import pathlib
import re
import statistics

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of an element-wise kernel on this GPU, from the same rows: --check prints them.
BYTES_PER_US, KERNEL_US = 4.19e6, 1.5
PLAIN = ("aten::sinh", "aten::atan", "aten::erfc", "aten::atan2", "aten::copysign", "aten::hypot", "aten::xlogy", "aten::acosh")
# The first class of which a word is in the name; the same order as in orrery/kernel/aten/generic.cc.
WORDS = (
    ("fft", ("fft",)),
    ("algebra", ("linalg", "cholesky", "lu_", "_lu", "svd", "qr", "eig", "inverse", "triangular", "ldl", "ormqr", "lstsq")),
    ("taps", ("linear1d", "bilinear2d", "trilinear", "bicubic")),
    ("sample", ("upsample", "grid_sampl", "pool", "im2col", "col2im", "interpolate")),
    ("product", ("conv", "bmm", "_mm", "addmm", "addmv", "matmul", "bilinear", "cdist", "attention")),
    ("sort", ("sort", "topk", "kthvalue", "median", "mode", "unique", "randperm", "multinomial", "coalesce")),
    ("scan", ("cum", "scan")),
    ("place", ("index", "gather", "scatter", "take", "put", "embedding", "masked", "nonzero", "histc", "histogram", "bincount",
               "one_hot", "segment", "searchsorted", "bucketize", "isin", "sparse", "pad", "roll", "flip", "select")),
    ("lists", ("_foreach", "_fused")),
    ("random", ("standard_gamma", "dirichlet", "poisson", "binomial")),
    ("special", ("special_", "gamma", "zeta", "erf", "lcm", "gcd")),
)
# Classes whose operators with a kernel model are like those without; elsewhere these say nothing.
ALIKE = ("product", "place", "sort")
MAPPED = re.compile(r'\{((?:\s*"[a-z0-9_ ]+")+),\s*Map')
LEAST_BYTES = 1 << 18  # rows of less say little about the bytes
REDUCES = 4            # a result so many times smaller than what is read; the rest of it is read more slowly,
SLOWER = 1 / REDUCES   # by this share: no more, so that a larger result never takes less
MOST_READ = 2          # by a lookup, times what is written: the elements and their places


# Groups of rows with windows of more than 32 elements: (channels, groups, window, length, batch).
WIDE = re.compile(r"conv1d \((\d+), (\d+), (\d+), (\d+), (\d+)\)")
WIDEST = 32


def wide_windows():
    """The bytes for a floating-point operation and the kernels of each group of such a convolution: cuDNN runs group by group, with
    kernels that look up each place of the window, far below any peak and at the same rate in all types."""
    bytes_of_flop, kernels = [], []
    for row in rows():
        found = WIDE.match(row["label"])
        if not found or row["name"] not in ("aten::cudnn_convolution", "aten::convolution_backward"):
            continue
        channels, groups, window, length, batch = map(int, found.groups())
        if window > WIDEST and groups < channels:
            passes = 1 if row["name"] == "aten::cudnn_convolution" else 2
            flops = passes * 2 * batch * length * channels * (channels // groups) * window
            bytes_of_flop.append(row["us"] * BYTES_PER_US / flops)
            kernels.append(row["kernels"] / groups)
    return statistics.median(bytes_of_flop), round(statistics.median(kernels))


def rows():
    for path in sorted(glob.glob(str(ROOT / "data/operator_models/h200/operators-*.csv.gz"))):
        with gzip.open(path, "rt", newline="") as file:
            for row in csv.DictReader(file):
                passes = int(row.get("passes") or (0 if "_fft_" in row["operator"] else 1))
                if passes == 0:
                    continue  # recorded before the lengths of transforms were
                yield {"name": row["operator"], "passes": passes, "read": int(row["read_bytes"]), "written": int(row["written_bytes"]),
                       "kernels": int(row["kernels"]), "us": float(row["kernel_us"]), "waits": int(row["waits"]), "label": row["label"]}


def bytes_of(row):
    return row["passes"] * (row["read"] + row["written"])


def counted_bytes(kind, row):
    """The bytes of a row of a class: places are looked up in a table that is not read as a whole, and results of reductions are few."""
    if kind == "place" and row["written"] > 0:
        return min(row["read"], MOST_READ * row["written"]) + row["written"]
    slower = SLOWER * max(0, row["read"] - REDUCES * row["written"]) if kind == "elementwise" else 0
    return bytes_of(row) + slower


@functools.cache
def mapped_names():
    """Names of kernel models' operators: their rows say nothing of operators without one."""
    found = set()
    for path in (ROOT / "orrery/kernel/aten").glob("*.cc"):
        for names in MAPPED.findall(path.read_text(encoding="utf-8")):
            found.update(" ".join(re.findall(r'"([^"]*)"', names)).split())
    return found


def class_of(name):
    plain = name.removeprefix("aten::")
    for kind, words in WORDS:
        if any(word in plain for word in words):
            return kind
    return "elementwise"


def plain_us(size, kernels):
    return kernels * KERNEL_US + size / BYTES_PER_US


def off(row, latency, factor):
    return abs(math.log(plain_us(latency + factor * bytes_of(row), row["kernels"]) / row["us"]))


def fit(group):
    """The latency and the factor with the least sum of errors, each error a logarithm; both go through rows."""
    spare = [max(0.0, (row["us"] - row["kernels"] * KERNEL_US) * BYTES_PER_US) for row in group]
    latencies = {0.0, *spare}
    factors = {0.0} | {max(0.0, rest - latency) / bytes_of(row) for rest, row in zip(spare, group) if bytes_of(row) > 0
                       for latency in latencies}
    group = group if len(group) <= 30 else group[:: len(group) // 30]
    return min(((sum(off(row, latency, factor) for row in group), latency, factor) for latency in sorted(latencies)
                for factor in sorted(factors)), key=lambda found: found)[1:]


FAR_OFF = 1.1  # a factor of three: how far beyond does not matter, and a class has such names
# Latencies in µs and factors that are tried for a class.
GRID = [(latency * BYTES_PER_US, factor) for latency in (0, *(1.4 ** i for i in range(16))) for factor in (0.5 * 1.2 ** i for i in range(26))]


class Class:
    """The names of one class, and the errors that each place of the grid gives them."""

    def __init__(self, kind, groups):
        self.kind = kind
        self.groups = groups
        self.kernels = statistics.median_low(kernels_of(group) for group in groups.values())
        self._errors = {name: [min(self._error(group, *place), FAR_OFF) for place in GRID] for name, group in groups.items()}
        self._sums = [sum(errors) for errors in zip(*self._errors.values())]

    def best(self, without=None):
        """The latency and the factor with the least sum of errors, of all names but one."""
        errors = self._errors.get(without, [0] * len(GRID))
        return GRID[min(range(len(GRID)), key=lambda place: self._sums[place] - errors[place])]

    def left_out(self, name):
        return self._error(self.groups[name], *self.best(name))

    def _error(self, group, latency, factor):
        return error(group, self.kernels, latency, factor, lambda row: counted_bytes(self.kind, row))


def fitted():
    of_name = collections.defaultdict(list)
    for row in rows():
        if row["name"].startswith("aten::") and row["us"] > 0:
            of_name[row["name"]].append(row)
    table, groups = {}, collections.defaultdict(dict)
    for name, group in sorted(of_name.items()):
        group = distinct(group)
        latency, factor = fit(group)
        kernels = kernels_of(group)
        table[name] = (kernels, latency, factor, group, statistics.median_low(row["waits"] for row in group))
        plain = name.removeprefix("aten::").removesuffix("_")
        is_mapped = plain.startswith("_foreach_") or (plain in mapped_names() and class_of(name) not in ALIKE)
        if not is_mapped and max(map(bytes_of, group)) >= LEAST_BYTES:
            groups[class_of(name)][name] = group
    return table, {kind: Class(kind, of_kind) for kind, of_kind in groups.items()}


def distinct(group):
    """Equal calls once."""
    found = collections.defaultdict(list)
    for row in group:
        found[row["read"], row["written"], row["kernels"], row["passes"]].append(row)
    return [{**rows[0], "us": statistics.median(row["us"] for row in rows)} for rows in found.values()]


def kernels_of(group):
    """The kernels of a call, of transforms those of each pass."""
    return statistics.median_low(max(1, row["kernels"] // row["passes"]) for row in group)


def error(group, kernels, latency, factor, bytes_of_row=bytes_of):
    return statistics.median(abs(math.log(plain_us(latency + factor * bytes_of_row(row), kernels * row["passes"]) / row["us"]))
                             for row in group)


def write(path, table, members):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("operator", "kernels", "latency_bytes", "factor", "waits", "rows", "error"))
        for kind, one in sorted(members.items()):
            latency, factor = one.best()
            left_out = statistics.median(one.left_out(name) for name in one.groups)
            writer.writerow((f"*{kind}", one.kernels, round(latency), f"{factor:.3g}", 0, len(one.groups), f"{left_out:.2f}"))
        factor, kernels = wide_windows()
        writer.writerow(("wide windows", kernels, 0, f"{factor:.3g}", 0, "", ""))
        for name, (kernels, latency, factor, group, waits) in sorted(table.items()):
            writer.writerow((name, kernels, round(latency), f"{factor:.3g}", waits, len(group), f"{error(group, kernels, latency, factor):.2f}"))


def check(table, members):
    plain = [row for name in PLAIN for row in table.get(name, (0, 0, 0, [], 0))[3]]
    large = [bytes_of(row) / row["us"] for row in plain if bytes_of(row) > 1 << 27]
    small = [row["us"] for row in plain if bytes_of(row) < 1 << 20]
    print(f"element-wise kernels: {statistics.median(large):.3g} bytes/us, {statistics.median(small):.2f} us")
    for kind, one in sorted(members.items()):
        errors = sorted((math.exp(one.left_out(name)) - 1, name) for name in one.groups)
        print(f"{kind:12s} {len(errors):4d} names, left out one by one: {sum(error <= 0.3 for error, _ in errors)} within 30 %, median "
              f"{statistics.median(error for error, _ in errors):.0%}, worst {', '.join(f'{n} {e:.0%}' for e, n in errors[-3:])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "data/models/operators.csv")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    table, members = fitted()
    write(options.out, table, members)
    if options.check:
        check(table, members)


if __name__ == "__main__":
    main()
