"""`orrery-capture measure host`: the speed of this machine's CPU for what a training step does there."""

import pathlib
import platform
import sys

from host import bench
from microbench.machine import why_no_gpu


def add_options(parser):
    parser.add_argument("--seconds", type=float, default=20.0, help="time to run (20)")
    parser.add_argument("--out", metavar="FILE.yaml", help="the host (standard output)")


def _cpu():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def measured(seconds):
    import os
    no_gpu = why_no_gpu()
    about = {"cpu": _cpu(), "cores": len(os.sched_getaffinity(0)), "python": platform.python_version()}
    try:
        import torch
        about["torch"] = torch.__version__
    except ImportError:
        pass
    return about, bench.costs(seconds, "cpu" if no_gpu else "cuda"), no_gpu


def text(about, costs):
    lines = ["# Written by orrery-capture measure host: nanoseconds of one call, the median of many chunks."]
    lines += [f"{name}: {value!r}" if isinstance(value, str) else f"{name}: {value}" for name, value in about.items()]
    lines.append("costs:")
    lines += [f"  {name}: {{ns: {cost['ns']}, p10: {cost['p10']}, p90: {cost['p90']}}}" for name, cost in costs.items()]
    return "\n".join(lines) + "\n"


def main(options):
    about, costs, no_gpu = measured(options.seconds)
    if no_gpu:
        print(f"orrery-capture: launches are not measured: {no_gpu}", file=sys.stderr)
    if options.out:
        pathlib.Path(options.out).write_text(text(about, costs), encoding="utf-8")
    else:
        print(text(about, costs), end="")
    return 0
