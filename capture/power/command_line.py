"""`orrery-capture measure power`: bursts against sustained work, with watts and clocks."""

import csv
import os
import sys
import time

from microbench import operator_text, sampling
from microbench.machine import driver_version, why_no_gpu

HEADER = ["operator", "burst_us", "sustained_us", "power_w", "energy_w", "limit_w", "sm_mhz", "mem_mhz", "celsius", "gpu",
          "driver", "cuda", "torch"]
# Operators that dominate the power of training, weighted by their frequency.
_SHARES = {"gemm": 50, "bgemm": 6, "attention": 22, "elementwise": 12, "copy": 4, "layernorm": 3, "softmax": 3}
_SHORTEST_S, _LONGEST_S = 15e-6, 8e-3


def add_options(parser):
    parser.add_argument("--minutes", type=float, default=5.0, help="time to run (5)")
    parser.add_argument("--seed", type=int, default=1, help="which sequence of operators (1)")
    parser.add_argument("--out", metavar="FILE.csv", default="power.csv", help="the table (power.csv)")
    parser.add_argument("--list", type=int, nargs="?", const=100, metavar="N",
                        help="print the first N operators (100) and measure nothing")


def samples(seed):
    """Operators that run long enough to draw power, and short enough to run often."""
    for sample in sampling.sequence(seed, shares=_SHARES):
        # Graphs replay the same random numbers, which kernels of dropout do not expect.
        has_dropout = bool(sample.operator.keys.get("dropout"))
        if _SHORTEST_S < operator_text.seconds(sample.operator) < _LONGEST_S and not has_dropout:
            yield sample


def _row(text, found, limit_w, machine):
    return [text, f"{found.burst_us:.3f}", f"{found.sustained_us:.3f}", f"{found.power_w:.1f}", f"{found.energy_w:.1f}",
            f"{limit_w:.0f}", f"{found.sm_mhz:.0f}", f"{found.memory_mhz:.0f}", found.celsius, *machine]


def _measure(options, gpu, machine):
    import torch
    from microbench.operands import Operands, TooLarge
    from microbench.prepare import prepare
    from power import bench
    operands = Operands(options.seed)
    deadline = time.monotonic() + 60 * options.minutes
    limit_w = gpu.limit_w()
    count = failed = 0
    with open(options.out, "w", newline="", encoding="utf-8") as file, torch.no_grad():
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADER)
        for sample in samples(options.seed):
            if time.monotonic() > deadline:
                break
            try:
                found = bench.measure(prepare(sample, operands).call, gpu)
            except (TooLarge, RuntimeError) as error:
                failed += 1
                if "CUDA error" in str(error):
                    print(f"power: the GPU was lost at {sample.text} ({error})", file=sys.stderr)
                    break
                continue
            table.writerow(_row(sample.text, found, limit_w, machine))
            file.flush()
            count += 1
    print(f"power: {count} operators, {failed} failed, limit {limit_w:.0f} W", file=sys.stderr)
    return 0 if count else 2


def main(options):
    if options.list is not None:
        for _, sample in zip(range(options.list), samples(options.seed)):
            print(sample.text)
        return 0
    if reason := why_no_gpu():
        print(f"orrery-capture: {reason}", file=sys.stderr)
        return 2
    import torch
    from power.nvml import Gpu, NoNvml
    try:
        gpu = Gpu()
    except NoNvml as error:
        print(f"orrery-capture: {error}; power cannot be read", file=sys.stderr)
        return 2
    machine = [torch.cuda.get_device_name(0), driver_version(), torch.version.cuda, torch.__version__]
    os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
    return _measure(options, gpu, machine)
