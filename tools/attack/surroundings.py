"""Attacks by names: variables of the environment, paths of any kind, and timelines of operations as CSV."""

import os

from attack.case import ENVIRONMENT, ROOT
from attack.kinds import INPUTS
from attack import mutations
from attack.oracle import Faults

VARIABLES = ["HOME", "TMPDIR", "LC_ALL", "LANG", "TERM", "COLUMNS", "NO_COLOR", "SOURCE_DATE_EPOCH", "XDG_CACHE_HOME", "XDG_DATA_HOME",
             "XDG_CONFIG_HOME", "OMP_NUM_THREADS", "TZ", "DISPLAY", "ORRERY_OVERLAP_MODEL", "ORRERY_KERNEL_MODELS", "ORRERY", "SLURM_PROCID",
             "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "RANK", "WORLD_SIZE", "LD_LIBRARY_PATH", "PATH"]
VALUES = ["", " ", "0", "-1", "99999999999999999999", "nan", "/dev/null", "/dev/full", "/nonexistent", "x" * 100_000, "\x1b[31m", "%s%n", "../..",
          "\udcff", "C.UTF-8", "tr_TR.UTF-8", "dumb", "1e300"]


def attack_variables(case):
    """Variables of the environment with hostile values."""
    case.add("in/run.json", INPUTS["run.json"])
    case.add("in/job.yaml", INPUTS["job.yaml"])
    environment = dict(ENVIRONMENT)
    for name in case.rng.sample(VARIABLES, case.rng.choice((1, 2, 5))):
        environment[name] = case.rng.choice(VALUES)
    command = case.rng.choice(["info in/run.json", "analyze in/run.json --html out/page.html", "simulate in/job.yaml", "simulate in/job.yaml --json",
                               "convert in/run.json out/run.orr", "help simulate", "list clusters"])
    case.run(command.split(), environment=environment)


def paths(case):
    """Ways to say where a file is, right and wrong ones."""
    real = case.folder / "in/run.json"
    (case.folder / "in/link.json").symlink_to("run.json")
    (case.folder / "in/loop.json").symlink_to("loop.json")
    os.mkfifo(case.folder / "in/empty.json")
    deep = "in/" + "a/" * 100
    case.add(deep + "run.json", real)
    return ["in/run.json", "./in/../in/run.json", "in//run.json", str(real), "in/link.json", "in/loop.json", "in/run.json/", "in/run.json/x", deep,
            deep + "run.json", "in/" + "x" * 300, "in/" + "y/" * 3000, "/proc/self/mem", "/proc/self/environ", "/dev/zero", "/dev/tty", "/", "..", "~",
            "-", "--", "in/\udcff.json", "in/run.json\n", "file://in/run.json", "in", "/proc/self/fd/0", "/sys/kernel/notes", ""]


def attack_paths(case):
    """Inputs and outputs by strange paths."""
    case.add("in/run.json", INPUTS["run.json"])
    case.add("in/job.yaml", INPUTS["job.yaml"])
    choices = paths(case)
    path = case.rng.choice(choices)
    command = case.rng.choice([["info", path], ["analyze", path, "--json"], ["convert", path, "out/run.orr"], ["simulate", path],
                               ["diff", "in/run.json", path], ["init", path, "-o", "out/job.yaml"],
                               ["simulate", "in/job.yaml", "--models", path], ["validate", path]])
    case.run(command, Faults(plain_user=True))
    case.forget("empty.json")  # nothing can be copied from it


def attack_timelines(case):
    """Timelines of operations, whose stragglers `analyze` looks for, with other numbers, columns and ranks."""
    sample = case.rng.choice(sorted((ROOT / "tests/data/operation_timeline").glob("*.csv")))
    lines = sample.read_text(encoding="utf-8").splitlines()
    for _ in range(case.rng.choice((1, 1, 3, 10))):
        row = case.rng.randrange(len(lines))
        cells = lines[row].split(",")
        cells[case.rng.randrange(len(cells))] = case.rng.choice(mutations.NUMBERS + mutations.NAMES[:8]).replace("\n", " ")
        lines[row] = ",".join(cells) if case.rng.random() < 0.8 else case.rng.choice(lines)
    name = case.add("in/steps.csv", "\n".join(lines).encode("utf-8", "surrogateescape"))
    case.run(["analyze", name, *case.rng.choice([[], ["--json"], ["--html", "out/page.html"], ["--csv"]])])
    case.run(["info", name, "--json"])
