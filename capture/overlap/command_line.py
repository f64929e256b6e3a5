"""`orrery-capture measure overlap`: its options."""

import sys


def add_options(parser):
    parser.add_argument("--minutes", type=float, default=10.0, help="time to run (10)")
    parser.add_argument("--seed", type=int, default=1, help="which sequence of kernels (1)")
    parser.add_argument("--kernels", type=int, metavar="N",
                        help="stop after N compute kernels (none: when the time is up)")
    parser.add_argument("--out", default="overlap", metavar="FOLDER",
                        help="the tree of results, continued if it exists (overlap)")
    parser.add_argument("--counters", choices=("auto", "none", "only"), default="auto",
                        help="hardware counters of each compute kernel through ncu: where it works "
                             "(auto), not at all, or nothing but counters")
    parser.add_argument("--list", type=int, nargs="?", const=100, metavar="N",
                        help="print the first N compute kernels (100) and measure nothing")


def main(options):
    if options.list is not None:
        from overlap import compute_plan
        for number in range(options.list):
            print(compute_plan.planned(options.seed, number).text)
        return 0
    try:
        import torch
    except ImportError:
        print("orrery-capture: PyTorch is not installed for this python3; install it, or run with "
              "the python3 that has it", file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("orrery-capture: PyTorch sees no GPU on this machine", file=sys.stderr)
        return 2
    from overlap import device_library, run
    try:
        return run.run(options)
    except device_library.DeviceError as error:
        print(f"orrery-capture: {error}", file=sys.stderr)
        return 2
