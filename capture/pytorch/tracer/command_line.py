"""`orrery-capture trace`: its options, and what they come to."""

import os
import shlex
import subprocess
import sys

import orrery_program
from parallel import plan as plans
from tracer import driver, files, step_file
from tracer.driver import PlayedJob, say


def commands(orrery, out):
    """The command lines for the folder of a traced job."""
    ranks = files.read_json(os.path.join(out, "trace.json"))["ranks"]
    recordings = [os.path.join(out, rank["folder"], "kineto.json.gz") for rank in ranks]
    return [*([orrery, "analyze", path] for path in recordings if os.path.exists(path)),
            [orrery, "simulate", "--from", out]]


def _run(line):
    return subprocess.run(line, check=False).returncode


def make_report(orrery, out, say, run=_run):
    """Runs them, or says them where there is no program; True where all went well."""
    lines = commands(orrery or "orrery", out)
    if orrery is None:
        say(f"the program orrery is not on this machine; take the folder {out} to one that has it "
            f"and run: {' && '.join(shlex.join(line) for line in lines)}")
        return True
    for line in lines:
        say(shlex.join(line))
        status = run(line)
        if status not in (0, 3):  # 3: something was left out, and said
            say(f"`{shlex.join(line)}` ended with status {status}; the recording is kept in {out}")
            return False
    return True


_STEPS = 20
_PROFILED_STEPS = 3
_NUMBERS = {
    "world": "ranks of the whole job (1)", "dp": "data-parallel replicas", "tp": "ranks that share each layer",
    "pp": "stages of the pipeline", "microbatches": "micro-batches of a pipeline's step (2 for each stage)",
    "batch": "samples of a micro-batch on a rank", "sequence": "tokens of a sample",
    "accumulation": "micro-batches before the optimizer's step (1)",
    "layers": "trace only this many of the identical layers; fewer are taken where memory does not suffice"}


def split(words):
    """(our words, the script and its words): what follows a bare `--` is the script's."""
    if "--" not in words:
        return words, []
    place = words.index("--")
    return words[:place], words[place + 1:]


def add_options(parser):
    parser.usage = ("orrery-capture trace MODEL [OPTION]...\n"
                    "       orrery-capture trace [--world N] [--rank R,R] -- [torchrun ...] SCRIPT.py [WORD]...")
    parser.add_argument("model", nargs="?", metavar="MODEL",
                        help="a built-in name (--list), torchvision:NAME, or a config.json of "
                             "Transformers")
    for name, text in _NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument("--fsdp", action="store_true", help="replicas shard all state (FSDP2)")
    parser.add_argument("--ddp", action="store_true", help="replicas reduce gradients (DDP)")
    parser.add_argument("--sequence-parallel", action="store_true",
                        help="tensor-parallel ranks share the sequence too")
    parser.add_argument("--schedule", metavar="NAME", help="of the pipeline: 1f1b or gpipe (1f1b)")
    parser.add_argument("--dtype", metavar="T",
                        help="bf16, fp16 or fp32; autocast-bf16 keeps parameters in fp32")
    parser.add_argument("--optimizer", metavar="NAME", help="adamw or sgd (adamw)")
    parser.add_argument("--ddp-hook", action="store_true",
                        help="a hook of ours in the place of DDP's own reduction")
    parser.add_argument("--rank", metavar="R,R",
                        help="the ranks to trace (one of each kind; for a script: 0)")
    parser.add_argument("--steps", type=int, default=_STEPS, metavar="N",
                        help=f"steps that are timed without the profiler ({_STEPS})")
    parser.add_argument("--profiled-steps", type=int, default=_PROFILED_STEPS, metavar="N",
                        help=f"steps that are recorded with it ({_PROFILED_STEPS})")
    parser.add_argument("--timing-runs", type=int, default=0, metavar="N",
                        help="so many more processes for each rank, for times without it alone (0)")
    parser.add_argument("--report", action="store_true",
                        help="then analyse the recording and predict the job, with the program "
                             "orrery")
    orrery_program.add_option(parser)
    parser.add_argument("--out", metavar="DIR", help="the folder (trace-MODEL)")
    parser.add_argument("--list", action="store_true", help="print the built-in models")
    parser.add_argument("--check", action="store_true",
                        help="call each collective of the stand-in once and say which work")


def _fail(reason):
    print(f"orrery-capture: {reason}", file=sys.stderr)
    return 2


def main(options):
    if options.list:
        return _list()
    if options.check:
        return subprocess.run([sys.executable, "-W", "ignore", str(driver.PROGRAM), "--check"],
                              check=False).returncode
    if bool(options.model) == bool(options.script):
        return _fail("say which model to trace, or -- and a script: `orrery trace gpt2`, `orrery "
                     "trace --world 64 -- train.py`")
    try:
        ranks = plans.ranks_from_text(options.rank) if options.rank else []
    except ValueError:
        return _fail(f"--rank {options.rank} is no list of ranks like 0,17 or 0-3")
    if options.steps < 1 or options.profiled_steps < 1 or options.timing_runs < 0:
        return _fail("--steps and --profiled-steps must be at least 1, --timing-runs at least 0")
    try:
        return _script(options, ranks) if options.script else _model(options, ranks)
    except files.FolderInUse as error:
        return _fail(error)


def _list():
    from models import catalogue
    print("\n".join(_listed(catalogue.find(name)) for name in catalogue.names()))
    return 0


def _listed(found):
    defaults = found.defaults
    layers = f", {found.layers} layers" if found.layers else ""
    length = f", sequence {defaults.sequence}" if defaults.sequence else ""
    return (f"{found.name:20} {found.source}{layers}: batch {defaults.batch}{length}, "
            f"{'autocast-' if defaults.autocast else ''}{defaults.precision}")


_TORCHRUN_FLAGS = ("--standalone", "--no-python", "--run-path")


def from_torchrun(words):
    """(script and its words, ranks of the job or None) of what is typed to train: `torchrun --nproc-per-node 8 train.py`,
    `python3 train.py` or the script itself."""
    name, rest = os.path.basename(words[0]), list(words[1:])
    if name.startswith("python") and rest and rest[0].endswith(".py"):
        return rest, None
    if name.startswith("python") and rest[:2] == ["-m", "torch.distributed.run"]:
        name, rest = "torchrun", rest[2:]
    if name != "torchrun":
        return list(words), None
    counts = {"nnodes": "1", "nproc-per-node": "1"}
    while rest and rest[0].startswith("-"):
        option, is_joined, value = rest.pop(0).partition("=")
        if option not in _TORCHRUN_FLAGS:
            value = value if is_joined or not rest else rest.pop(0)
            counts[option.lstrip("-").replace("_", "-")] = value
    numbers = [counts[name].split(":")[-1] for name in ("nnodes", "nproc-per-node")]
    return rest, int(numbers[0]) * int(numbers[1]) if all(number.isdigit() for number in numbers) else None


def _script(options, ranks):
    options.script, of_torchrun = from_torchrun(options.script)
    if not options.script:
        return _fail("torchrun is not told what to run: `orrery trace -- torchrun --nproc-per-node 8 train.py`")
    world = options.world or of_torchrun or 1
    ranks = ranks or [0]
    if any(rank >= world for rank in ranks):
        return _fail(f"there is no rank {max(ranks)} in a world of {world}: say --world")
    if not os.path.isfile(options.script[0]):
        return _fail(f"{options.script[0]}: no such file")
    name = os.path.splitext(os.path.basename(options.script[0]))[0]
    classes = step_file.stands_for(ranks, world, plans.ranks_to_text)
    job = PlayedJob(options, name, world, classes)
    statuses, _ = job.play(0, 0)
    status = job.finish(statuses, step_file.script_plan(), {},
                        step_file.of_script(os.path.basename(options.script[0])), [])
    return _reported(options, job.out, status)


def _model(options, ranks):
    from parallel import job_yaml

    from tracer import job as jobs
    words = {key: value for key, value in vars(options).items()
             if isinstance(value, (str, int, bool, type(None)))}
    try:
        wanted = jobs.of(words)
        classes = wanted.plan.classes(ranks)
    except (jobs.NotPossible, ValueError) as error:
        return _fail(error)
    description, plan = wanted.description, wanted.plan
    if options.layers and not description.layers:
        return _fail(f"{description.name} has no layers that are alike: leave --layers out")
    played = PlayedJob(options, description.name, plan.world, classes, words)
    layers = min(options.layers or description.layers, description.layers)
    statuses, traced = played.play(layers, max(driver.FEWEST, 2 * plan.pp))
    remarks = [driver.remark(description.layers, traced)]
    if ranks and plan.left_out(ranks):
        remarks.append(f"No traced rank stands for {plan.left_out(ranks)}.")
    status = played.finish(statuses, plan.json(), wanted.settings.training(),
                           step_file.of_model(description, played.parameters, traced), remarks)
    if status != 2:
        text = job_yaml.text(description, plan, wanted.settings, played.device)
        if text is not None:
            files.write_text(os.path.join(played.out, "job.yaml"), text)
    return _reported(options, played.out, status)


def _reported(options, out, status):
    """Analyses and predicts where that was asked for; the exit status."""
    if not options.report or status == 2:
        return status
    is_good = make_report(orrery_program.find(options.orrery), out, say)
    return status if is_good else 3
