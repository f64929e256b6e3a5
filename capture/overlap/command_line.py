"""`orrery-capture measure overlap`: its options."""

import os
import sys

from doctor import programs
from overlap import echo_config, pipeline, tree

_TOOLS = ("nvcc", "ncu", "nsys")


def add_options(parser):
    parser.add_argument("--minutes", type=float, default=10.0,
                        help="time to run (10), a quarter of it for counters; SIGTERM and Ctrl-C "
                             "end a run cleanly before")
    parser.add_argument("--seed", type=int, default=1, help="which sequence of kernels (1)")
    parser.add_argument("--kernels", type=int, metavar="N",
                        help="stop after N compute kernels (none: when the time is up)")
    parser.add_argument("--out", default="overlap", metavar="FOLDER",
                        help="the tree of results, continued if it exists (overlap)")
    parser.add_argument("--counters", choices=("auto", "none", "only"), default="auto",
                        help="hardware counters of each compute kernel through ncu: where it works "
                             "(auto), not at all, or nothing but counters")
    parser.add_argument("--nccl", action="store_true",
                        help="also beside NCCL's own kernels, where there is more than one GPU")
    parser.add_argument("--nccl-minutes", type=float, default=5.0, metavar="M",
                        help="time for that, after the rest (5)")
    parser.add_argument("--smoke", action="store_true",
                        help="three kernels, and a table of what works")
    parser.add_argument("--list", type=int, nargs="?", const=100, metavar="N",
                        help="print the first N compute kernels (100) and measure nothing")
    parser.add_argument("--echo-config", metavar="DIR",
                        help="take devices and programs from Echo's global_config.json there")
    pipeline.add_options(parser)


def _fail(reason):
    print(f"orrery-capture: {reason}", file=sys.stderr)
    return 2


def _tools(settings):
    """Paths of the programs, those of the settings first."""
    return {name: settings.paths.get(name) or programs.find(name) for name in _TOOLS}


def _list(options):
    from overlap import plans
    for number in range(options.list):
        print(plans.planned(options.seed, number).text)
    return 0


def main(options):
    if options.list is not None:
        return _list(options)
    try:
        settings = echo_config.read(options.echo_config)
    except echo_config.NotUsable as error:
        return _fail(error)
    for sentence in settings.remarks:
        print(f"overlap: {sentence}", file=sys.stderr)
    settings.apply(os.environ, sys.argv)
    return _measure(options, _tools(settings))


def _measure(options, tools):
    try:
        import torch
    except ImportError:
        return _fail("PyTorch is not installed for this python3; install it, or run with the "
                     "python3 that has it (`orrery-capture doctor` says what else is missing)")
    if not torch.cuda.is_available():
        return _fail("PyTorch sees no GPU on this machine (`orrery-capture doctor` says more)")
    from overlap import device_library, run
    try:
        if options.smoke:
            return run.run_smoke(options, tools)
        if options.pipeline:
            return pipeline.run(options, lambda: run.run(options, tools))
        return run.run(options, tools)
    except (device_library.DeviceError, tree.OtherRun) as error:
        return _fail(error)
