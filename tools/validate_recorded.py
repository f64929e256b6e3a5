#!/usr/bin/env python3
"""Recorded jobs predicted from their execution traces: the tables of docs/validation/recorded-jobs.md.

    tools/validate_recorded.py --program build/orrery [--write docs/validation/recorded-jobs.md]; needs ../shared.
"""

import sys

import validation
from validation import ROOT, SHARED, line, run_json

DLRM = SHARED / "traces" / "param" / "dlrm-8gpu"
MEGATRON = SHARED / "traces" / "astra-sim" / "megatron-tp8"
HOST = ROOT / "data" / "host" / "h200.csv"
SKIPPED = 77


def ranks(program, folder, *options):
    """{rank: (measured, predicted)} in seconds."""
    found = run_json(program, "predict", folder, *options)["ranks"]
    return {rank["rank"]: (rank["measured_step_s"], rank["step_time_s"]) for rank in found}


def percent(measured, predicted):
    return f"{100 * (predicted / measured - 1):+.1f} %".replace("-", "−")


def milliseconds(seconds):
    return f"{1000 * seconds:.3f}"


def dlrm_table(program):
    own = ranks(program, DLRM, "--gpu", "v100", "--kernels", "model")
    other = ranks(program, DLRM, "--gpu", "v100", "--kernels", "model", "--host", HOST)
    yield line("rank", "measured", "hosts of other ranks", "", "shared host costs (an H200's host)", "")
    yield "|---|---:|---:|---:|---:|---:|"
    for rank, (measured, predicted) in own.items():
        shared = other[rank][1]
        yield line(rank, milliseconds(measured), milliseconds(predicted), percent(measured, predicted), milliseconds(shared),
                   percent(measured, shared))


def megatron_table(program):
    yield line("kernels", "measured steps, ms", "error of a rank, from", "to")
    yield "|---|---:|---:|---:|"
    for kernels, options in (("as recorded", ()), ("from models", ("--gpu", "a100-80gb", "--kernels", "model"))):
        steps = ranks(program, MEGATRON, "--cluster", "DGX A100", *options).values()
        by_error = sorted(steps, key=lambda step: step[1] / step[0])
        times = sorted(1000 * measured for measured, _ in steps)
        yield line(kernels, f"{times[0]:.0f} to {times[-1]:.0f}", percent(*by_error[0]), percent(*by_error[-1]))


def main():
    options = validation.parser(__doc__.splitlines()[0]).parse_args()
    if not DLRM.is_dir():
        print(f"skipped: {DLRM} is not there")
        sys.exit(SKIPPED)
    validation.fill(options.write, {"dlrm": list(dlrm_table(options.program)), "megatron": list(megatron_table(options.program))})


if __name__ == "__main__":
    main()
