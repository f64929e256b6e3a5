"""Measures, fits, evaluates and installs in one command, as Echo's run_all.sh does."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import orrery_program

_STAGES = 4


def add_options(parser):
    parser.add_argument("--pipeline", action="store_true",
                        help="then fit a model to the pairs, evaluate and install it, all with the "
                             "program orrery")
    orrery_program.add_option(parser)


def model_path(tree):
    return os.path.join(tree, "models", "overlap.orrmodel")


def installed_path(environment):
    """The path that `orrery simulate --overlap model` tries before the shipped model."""
    home = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(environment.get("HOME", os.path.expanduser("~")), ".local", "share")
    return os.path.join(home, "orrery", "models", "overlap.orrmodel")


def commands(orrery, tree):
    """The command lines that fit and evaluate a model on the data of a tree."""
    pairs = os.path.join(tree, "processed", "pairs.csv")
    counters = os.path.join(tree, "features", "counters.csv")
    data = [pairs, *(["--counters", counters] if os.path.exists(counters) else [])]
    return {"fit": [orrery, "fit", "overlap", *data, "-o", model_path(tree)],
            "evaluate": [orrery, "evaluate", "overlap", *data, "--model", model_path(tree),
                         "--out", os.path.join(tree, "evaluation")]}


def _was_stopped(tree):
    try:
        with open(os.path.join(tree, "processed", "run.json"), encoding="utf-8") as file:
            runs = json.load(file).get("runs", [])
    except (OSError, ValueError):
        return False
    return bool(runs) and runs[-1].get("ended_by") == "signal"


def _say(stage, text):
    print(f"pipeline: {stage}/{_STAGES} {text}", flush=True)


def _end(status, text):
    print(f"orrery-capture: {text}", file=sys.stderr)
    return status


def _elsewhere(tree):
    lines = [shlex.join(line) for line in commands("orrery", tree).values()]
    return (f"the program orrery is not on this machine; take the folder {tree} to one that has it "
            f"and run: {' && '.join(lines)}; then copy {model_path(tree)} to "
            "~/.local/share/orrery/models/overlap.orrmodel")


def _install(tree, environment):
    target = installed_path(environment)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(model_path(tree), target + ".part")
    os.replace(target + ".part", target)
    return target


def run(options, measure, environment=os.environ):
    """Runs all stages; 0, 2 where one failed, 3 where the rest must be done elsewhere."""
    tree = options.out
    _say(1, f"measure: into {tree}")
    status = measure()
    if status != 0:
        return status
    if _was_stopped(tree):
        return _end(3, "measuring was stopped, so nothing was fitted; the same command goes on")
    orrery = orrery_program.find(options.orrery)
    if orrery is None:
        return _end(3, _elsewhere(tree))
    for stage, (name, line) in enumerate(commands(orrery, tree).items(), 2):
        _say(stage, f"{name}: {shlex.join(line)}")
        ended = subprocess.run(line, check=False).returncode
        if ended not in (0, 3):  # 3: something was left out, and said
            return _end(2, f"`{shlex.join(line)}` ended with status {ended}; fix what it says "
                           f"and run it again, the pairs are kept in {tree}")
    if not os.path.exists(model_path(tree)):
        return _end(2, f"the fit left no {model_path(tree)}, so nothing was installed")
    _say(4, f"install: {_install(tree, environment)}; `orrery simulate --overlap model` uses it "
            "from now on")
    return 0
