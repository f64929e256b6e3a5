"""`orrery-capture measure collectives`: its options."""

import argparse
import os
import shutil
import subprocess
import sys

from collectives import log_text, plan as plans


def find_nccl_tests(plan, folder=None):
    """The program that measures the plan's collective, in `folder` or in $PATH; None if absent."""
    path = None
    if folder is not None:
        path = os.pathsep.join((folder, os.path.join(folder, "build")))
    return shutil.which(plan.kind.program, path=path)


def _is_row(line):
    words = line.split()
    return len(words) > 2 and words[0].isdigit() and words[1].isdigit()


def nccl_tests_command(program, plan, gpus):
    return [program, *plans.nccl_tests_arguments(plan, gpus)]


def run_nccl_tests(program, plan, gpus, out):
    """Keeps what the program prints as the log; 0, 3 if it broke off, 2 without any row."""
    num_rows = 0
    with log_text.LogFile(out) as log, subprocess.Popen(
            nccl_tests_command(program, plan, gpus), stdout=subprocess.PIPE, text=True,
            errors="replace") as process:
        for line in process.stdout:
            log.write(line.rstrip("\n"))
            num_rows += _is_row(line)
    if process.returncode == 0 and num_rows > 0:
        return 0
    print(f"orrery-capture: {program} ended with status {process.returncode} after {num_rows} "
          f"rows; what it said is in {out}", file=sys.stderr)
    return 3 if num_rows > 0 else 2


# When only the plan is asked for and no GPU is there to count.
_GPUS_OF_A_NODE = 8


def _size(text):
    try:
        size_bytes = plans.parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if size_bytes == 0:
        raise argparse.ArgumentTypeError("a message has at least one byte")
    return size_bytes


def _at_least(smallest):
    def read(text):
        if not text.isdigit() or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least {smallest}")
        return int(text)

    return read


def add_options(parser):
    parser.add_argument("--collective", choices=plans.KINDS, default="all_reduce",
                        help="which one (all_reduce)")
    parser.add_argument("--min-bytes", type=_size, default=8, metavar="SIZE", help="smallest (8)")
    parser.add_argument("--max-bytes", type=_size, default=2**30, metavar="SIZE",
                        help="largest (1GiB)")
    parser.add_argument("--factor", type=_at_least(2), default=2, metavar="N",
                        help="from one size to the next (2)")
    parser.add_argument("--gpus", type=_at_least(1), metavar="N", help="GPUs (all of the node)")
    parser.add_argument("--iterations", type=_at_least(1), default=20, metavar="N",
                        help="timed calls per size (20)")
    parser.add_argument("--warmup", type=_at_least(0), default=5, metavar="N",
                        help="calls before them (5)")
    parser.add_argument("--dtype", choices=plans.ELEMENT_BYTES, default="float",
                        help="type of the elements (float)")
    parser.add_argument("--out", default="collectives.log", metavar="LOG",
                        help="the log, in the form of nccl-tests (collectives.log)")
    parser.add_argument("--nccl-tests", metavar="DIR", help="where nccl-tests was built")
    parser.add_argument("--own", action="store_true",
                        help="our own loop over NCCL, also where nccl-tests is installed")
    parser.add_argument("--list", "--dry-run", action="store_true", dest="list",
                        help="print what would be measured, and measure nothing")


def _plan(options):
    return plans.Plan(options.collective, options.min_bytes, options.max_bytes, options.factor,
                      options.iterations, options.warmup, options.dtype)


def _launched_ranks():
    """The number of ranks that a launcher such as torchrun started; 0 without one."""
    ranks = os.environ.get("WORLD_SIZE", "")
    return int(ranks) if ranks.isdigit() and "RANK" in os.environ else 0


def _gpus_of_this_node():
    """As the driver counts them; 0 without one."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def _fail(reason):
    print(f"orrery-capture: {reason}", file=sys.stderr)
    return 2


def _list(plan, gpus, program):
    for line in log_text.plan_lines(plan, gpus, plans.messages(plan, gpus)):
        print(line)
    print("by " + (" ".join(nccl_tests_command(program, plan, gpus)) if program
                   else "our own loop over NCCL"))
    return 0


def _run_own(plan, gpus, out, is_launched):
    try:
        import torch
    except ImportError:
        return _fail("neither nccl-tests nor PyTorch is installed for this python3; install one, "
                     "or say with --nccl-tests where the tests were built")
    if not torch.cuda.is_available():
        return _fail("PyTorch sees no GPU on this machine")
    if not is_launched and gpus > torch.cuda.device_count():
        return _fail(f"there are {torch.cuda.device_count()} GPUs, not {gpus}; ask for fewer with "
                     "--gpus")
    from collectives import own_loop
    return own_loop.run(plan, gpus, out, is_launched)


def main(options):
    plan = _plan(options)
    launched = _launched_ranks()
    found = _gpus_of_this_node()
    gpus = launched or options.gpus or found or _GPUS_OF_A_NODE
    if not plans.messages(plan, gpus):
        return _fail(f"no size from {plan.min_bytes} to {plan.max_bytes} bytes has an element for "
                     f"each of {gpus} GPUs; raise --max-bytes")
    if launched and options.nccl_tests:
        return _fail("nccl-tests starts all GPUs of a node by itself; leave out --nccl-tests or "
                     "the launcher")
    program = None if launched or options.own else find_nccl_tests(plan, options.nccl_tests)
    if options.nccl_tests and not options.own and program is None:
        return _fail(f"{options.nccl_tests}: no program {plan.kind.program}; give the folder where "
                     "nccl-tests was built")
    if options.list:
        return _list(plan, gpus, program)
    if not launched and not found:
        return _fail("no GPU was found on this machine")
    if program:
        try:
            return run_nccl_tests(program, plan, gpus, options.out)
        except OSError as error:
            return _fail(f"{error.filename}: {error.strerror}")
    return _run_own(plan, gpus, options.out, launched > 0)
