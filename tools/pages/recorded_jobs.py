"""Recorded jobs predicted from their execution traces."""

from validation import ROOT, SHARED, run_json, table

DLRM = SHARED / "traces" / "param" / "dlrm-8gpu"
MEGATRON = SHARED / "traces" / "astra-sim" / "megatron-tp8"
HOST = ROOT / "data" / "host" / "h200.csv"
NEEDS = (DLRM, MEGATRON)


def ranks(program, folder, *options):
    """{rank: (measured, predicted)} in seconds."""
    found = run_json(program, "predict", folder, *options)["ranks"]
    return {rank["rank"]: (rank["measured_step_s"], rank["step_time_s"]) for rank in found}


def percent(measured, predicted):
    return f"{100 * (predicted / measured - 1):+.1f} %".replace("-", "−")


def dlrm(program):
    own = ranks(program, DLRM, "--gpu", "v100", "--kernels", "model")
    other = ranks(program, DLRM, "--gpu", "v100", "--kernels", "model", "--host", HOST)
    rows = []
    for rank, (measured, predicted) in own.items():
        shared = other[rank][1]
        rows.append((rank, f"{1e3 * measured:.3f}", f"{1e3 * predicted:.3f}", percent(measured, predicted), f"{1e3 * shared:.3f}",
                     percent(measured, shared)))
    return table("rank | >measured | >hosts of other ranks | > | >shared host costs (an H200's host) | >", rows)


def megatron(program):
    rows = []
    for kernels, options in (("as recorded", ()), ("from models", ("--gpu", "a100-80gb", "--kernels", "model"))):
        steps = ranks(program, MEGATRON, "--cluster", "DGX A100", *options).values()
        by_error = sorted(steps, key=lambda step: step[1] / step[0])
        times = sorted(1000 * measured for measured, _ in steps)
        rows.append((kernels, f"{times[0]:.0f} to {times[-1]:.0f}", percent(*by_error[0]), percent(*by_error[-1])))
    return table("kernels | >measured steps, ms | >error of a rank, from | >to", rows)


TABLES = {"dlrm": dlrm, "megatron": megatron}
