"""`orrery-capture capture`: its options, and what they come to."""

import os
import pathlib
import signal
import subprocess
import sys

import building
from recording import environment, result


def add_options(parser):
    parser.usage = "orrery-capture capture [OPTION]... -- PROGRAM [WORD]..."
    parser.add_argument("--out", default="run.orrs", metavar="FILE.orrs",
                        help="the stream (run.orrs); ranks and other processes write beside it, a manifest joins them")
    parser.add_argument("--operators", action="store_true", help="also operators of PyTorch")
    parser.add_argument("--layers", action="store_true", help="a region around every module's forward")
    parser.add_argument("--api", action="store_true", help="also all calls of the CUDA runtime and driver")
    parser.add_argument("--managed", action="store_true", help="also faults and migrations of managed memory")
    parser.add_argument("--whole-graphs", action="store_true", help="CUDA graphs as one piece of work: cheaper")
    parser.add_argument("--limit-mb", type=int, metavar="N", help="stop recording there; the program runs on")
    accesses = parser.add_argument_group("accesses", "what kernels do to memory, by the Compute Sanitizer")
    accesses.add_argument("--accesses", action="store_true", help="record them, instead of times")
    accesses.add_argument("--analysis", choices=("gpu", "cpu"), default="gpu",
                          help="where accesses are counted (gpu); cpu is the slow baseline")
    accesses.add_argument("--pages", type=int, metavar="BYTES", help="also which pages of so many bytes are touched")
    accesses.add_argument("--kernel-name", metavar="S", help="only kernels whose name contains S")
    accesses.add_argument("--launch-skip", type=int, metavar="N", help="leave out the first N launches of them")
    accesses.add_argument("--launch-count", type=int, metavar="N", help="then take N launches")
    accesses.add_argument("--block-period", type=int, metavar="N", help="only every N-th block")
    accesses.add_argument("--access-records", metavar="S",
                          help="every access of kernels whose name contains S, one by one")
    accesses.add_argument("--stacks", action="store_true", help="also where in the program each launch was asked for")


def refusal(options):
    """Why the options make no sense; "" when they do."""
    if not options.script:
        return "say what to record: `orrery capture --out run.orrs -- python3 train.py`"
    access_options = (options.pages, options.kernel_name, options.launch_skip, options.launch_count,
                      options.block_period, options.access_records)
    has_access_options = options.analysis != "gpu" or options.stacks or any(word is not None for word in access_options)
    if not options.accesses and has_access_options:
        return ("--analysis, --pages, --kernel-name, --launch-…, --block-period, --access-records and --stacks need "
                "--accesses")
    numbers = (options.pages, options.launch_skip, options.launch_count, options.block_period, options.limit_mb)
    if any(number is not None and number < 0 for number in numbers):
        return "numbers must not be negative"
    if options.pages and options.pages & (options.pages - 1):
        return f"--pages {options.pages} is no power of two"
    folder = pathlib.Path(options.out).absolute().parent
    if not folder.is_dir():
        return f"{folder}: no such folder"
    return ""


def _say(text):
    print(f"orrery-capture: {text}", file=sys.stderr)


def _remove_old(out, rank):
    for path in result.files_of(out, rank):
        path.unlink(missing_ok=True)
    if rank is None:
        result.manifest_path(out).unlink(missing_ok=True)


def _own_rank(variables):
    """The rank of this launcher where a job started one for each (torchrun --no-python); else None."""
    is_one = variables.get("RANK", "").isdigit() and variables.get("WORLD_SIZE", "").isdigit()
    return int(variables["RANK"]) if is_one and int(variables["WORLD_SIZE"]) > 1 else None


def _status_of(program_status):
    """A program that was ended by a signal ends as a shell would say it."""
    return 128 - program_status if program_status < 0 else program_status


_WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
_BY_A_PROCESS = 0  # si_code of a signal from kill; the terminal's own goes to the program as well


def _wait(program):
    """Waits for the program and hands on the signals that it does not get by itself."""
    while program.poll() is None:
        seen = signal.sigwaitinfo(_WATCHED)
        if seen.si_signo != signal.SIGCHLD and (seen.si_signo != signal.SIGINT or seen.si_code <= _BY_A_PROCESS):
            program.send_signal(seen.si_signo)
    return program.returncode


def record(options, surroundings):
    """Runs the program, its words untouched; returns its exit status."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    handled = signal.signal(signal.SIGCHLD, lambda *_: None)  # sigwaitinfo may miss signals that are ignored
    try:
        program = subprocess.Popen(options.script, env=surroundings,
                                   preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before))
        return _status_of(_wait(program))
    except FileNotFoundError:
        _say(f"{options.script[0]}: no such program")
    except PermissionError:
        _say(f"{options.script[0]}: is no program")
    finally:
        signal.signal(signal.SIGCHLD, handled)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return 127


def outputs(options):
    """The streams of this launcher, and the manifest that is written where there are several."""
    if refusal(options):
        return []
    return [*result.files_of(options.out, _own_rank(os.environ)), result.manifest_path(options.out)]


def main(options, has_gpu=building.has_gpu):
    """Ends as the program did; where that is 0, with 3 for a recording with losses and 2 for none."""
    why = refusal(options) or ("" if has_gpu() else building.NO_GPU)
    if why:
        _say(why)
        return 2
    try:
        build = environment.build_library(options)
    except building.BuildError as error:
        _say(error)
        return 2
    hooks, missing = environment.build_hooks(options.script)
    if missing:
        _say(missing)
    rank = _own_rank(os.environ)
    _remove_old(options.out, rank)
    status = record(options, environment.environment(options, os.environ, build, hooks))
    return result.finish(options.out, status, _say, rank)
