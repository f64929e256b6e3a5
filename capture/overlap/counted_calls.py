"""Calls each measured compute kernel once between marks, for ncu: FOLDER SEED DEADLINE."""

import csv
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import torch  # noqa: E402

from overlap import plans  # noqa: E402
from overlap.bench import Bench  # noqa: E402
from overlap.tree import Tree  # noqa: E402


def _call(bench, document, seed):
    """Calls once with the profiler on."""
    compute = bench.prepare(plans.planned(seed, document["number"]))
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    compute.launch(0, bench.external, 0)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()


def main():
    folder, seed, deadline = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    tree = Tree(folder)
    bench = Bench(seed, records=False)
    with open(tree.path("features", "counted.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["number", "operator", "kernels", "main_kernel"])
        with torch.no_grad():
            for document in tree.documents():
                if time.time() > deadline or os.path.exists(tree.path("features", "stop")):
                    break
                _call(bench, document, seed)
                writer.writerow([document["number"], document["operator"],
                                 document["shape"]["kernels"], document["shape"]["name"]])
                file.flush()
    bench.close()


if __name__ == "__main__":
    main()
