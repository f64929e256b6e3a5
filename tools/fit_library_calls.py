#!/usr/bin/env python3
"""Fits data/models/library_calls.yaml: the factor by which GEMMs of AMD's library take longer than the fastest kernels of a search.

    tools/fit_library_calls.py [--program build/orrery] [--write]

AMD publishes the rates that hipBLASLt sustains (data/published/amd_gemm_rates.csv): over ten shapes that were fixed before they were
timed, and of the best shape of all. Only the former say what a program meets, and the factor is fitted to them; the latter are
printed beside it. Predictions are of the shipped models, sustained, with their factor taken out again.
"""

import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
RATES = ROOT / "data" / "published" / "amd_gemm_rates.csv"
FACTORS = ROOT / "data" / "models" / "library_calls.yaml"
# n and k of the shapes of "taf", each with both m.
TAF = [(m, n, k) for m in (32, 32768) for n, k in ((2112, 7168), (3072, 1536), (7168, 2048), (4608, 7168), (7168, 256))]
# Rates of one GPU say little of others and of other versions: the spread between MI300X and MI325X below.
LEAST_DEVIATION = 0.15


def shapes_of(text):
    return TAF if text == "taf" else [tuple(int(size) for size in text.split("x"))]


def predicted_tflops(program, gpu, dtype, shapes):
    """Of all shapes together, as the fastest kernels of a search would have it."""
    operators = [f"gemm m={m} n={n} k={k} layout=nt {dtype}" for m, n, k in shapes]
    out = subprocess.run([program, "predict", "kernel", *operators, "--gpu", gpu, "--sustained", "--json"], check=True,
                         capture_output=True, text=True).stdout
    kernels = json.loads(out)
    kernels = kernels if isinstance(kernels, list) else [kernels]
    seconds = sum(kernel["time_s"] / kernel.get("library_factor", 1) for kernel in kernels)
    return sum(kernel["flops"] for kernel in kernels) / seconds / 1e12


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "orrery"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    logs = []
    with open(RATES, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            predicted = predicted_tflops(options.program, row["gpu"], row["dtype"], shapes_of(row["shapes"]))
            ratio = predicted / float(row["tflops"])
            if row["kind"] == "fixed":
                logs.append(math.log(ratio))
            print(f'{row["gpu"]} {row["dtype"]:4} {row["kind"]:5} {row["shapes"]:16} published {float(row["tflops"]):7.1f} '
                  f'fastest kernels {predicted:7.1f} ratio {ratio:.3f}')
    factor = max(1.0, math.exp(statistics.mean(logs)))
    deviation = max(LEAST_DEVIATION, statistics.stdev(logs))
    print(f"factor {factor:.3f}, deviation {deviation:.3f} of {len(logs)} rates")
    if options.write:
        FACTORS.write_text(
            "# Written by `tools/fit_library_calls.py --write`: how many times longer a GEMM takes as a framework calls its library\n"
            "# than the fastest kernel that a search found, by vendor. `deviation` is of its logarithm.\n"
            "vendors:\n"
            f"  - {{vendor: amd, factor: {factor:.3f}, deviation: {deviation:.2f}, "
            f'source: "{len(logs)} rates sustained by an MI325X over fixed shapes (data/published/amd_gemm_rates.csv)"}}\n',
            encoding="utf-8")


if __name__ == "__main__":
    main()
