#!/usr/bin/env python3
"""Finds the rank that the others wait for, and what it does longer than they.

    examples/python/find_straggler.py RUN [--kernels 5] [--plot waits.png]

RUN is a folder with the profiles of all ranks (tests/data/analyze/tp2_dp2, say). Needs NumPy; --plot needs matplotlib.
"""
import argparse
import collections

import numpy

import orrery


def times_by_kernel(rank):
    """{kernel: nanoseconds} of a rank, without communication. The columns are views: nothing is copied but the sums."""
    kernels = rank.kernels
    names = kernels.categories("name")
    sums = numpy.bincount(kernels["name"], weights=kernels["duration_ns"], minlength=len(names))
    return collections.Counter({names[code]: int(sums[code]) for code in numpy.flatnonzero(sums)
                                if not names[code].startswith("nccl")})


def print_waits(rows):
    print("rank  times last  others waited  a replay without it saves")
    for row in rows:
        saved = "–" if row.get("saved_us") is None else f"{row['saved_us']:.1f} µs"
        print(f"{row['rank']:4}  {row['times_last']:10}  {row['blame_us']:10.1f} µs  {saved:>25}")


def print_longer_kernels(run, suspect, most):
    """Kernels that take longer on the suspect than on the median rank."""
    times = {rank.rank: times_by_kernel(rank) for rank in run.ranks}
    own = times[suspect]
    medians = {name: numpy.median([of_rank[name] for of_rank in times.values()]) for name in own}
    longer = sorted(((own[name] - medians[name], name) for name in own if own[name] > medians[name]), reverse=True)
    if not longer:
        print(f"\nNo kernel takes longer on rank {suspect} than on the median rank: look at its host (run.analyze()).")
        return
    print(f"\nKernels that take longer on rank {suspect} than on the median rank")
    for difference, name in longer[:most]:
        print(f"  {difference / 1e3:+8.1f} µs of {own[name] / 1e3:8.1f} µs  {name}")


def plot(rows, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    rows = sorted(rows, key=lambda row: row["rank"])
    pyplot.bar([str(row["rank"]) for row in rows], [row["blame_us"] for row in rows])
    pyplot.xlabel("rank")
    pyplot.ylabel("others waited for it, µs")
    pyplot.savefig(path)
    print(f"\n{path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="+", help="files or a folder")
    parser.add_argument("--kernels", type=int, default=5, help="how many kernels are listed")
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args()
    run = orrery.read(options.run)
    straggler = run.metric_detail("straggler")
    if straggler["value"] is None:
        raise SystemExit(f"find_straggler: {straggler['reason']}")
    rows = straggler["detail"]["per_rank"]
    print_waits(rows)
    suspect = max(rows, key=lambda row: row["blame_us"])
    if suspect["blame_us"] == 0:
        print("\nNo rank waits for another.")
        return
    print_longer_kernels(run, suspect["rank"], options.kernels)
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    try:
        main()
    except orrery.Error as error:
        raise SystemExit(f"find_straggler: {error}") from None
