"""Prints the peaks and their kernels of `orrery analyze --json --metric peak_kernels`."""

import json
import sys

for peak in json.load(sys.stdin)["metrics"]["peak_kernels"]["detail"]["peaks"]:
    print(peak["GB_per_s"], "GB/s", peak["direction"], peak["communication_percent"], "%")
    for kernel in peak["kernels"]:
        print("  ", kernel["kernel"][:23], kernel["class"], kernel["overlap_us"], "us",
              kernel["overlap_percent"], "%")
