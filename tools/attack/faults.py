"""Attacks by the surroundings: full disks, closed streams, limits, signals, names of outputs, and what must not change a result."""

import os
import re
import resource
import shlex
import shutil
import signal

from attack.case import ENVIRONMENT, ROOT, snapshot
from attack.kinds import BASES, INPUTS
from attack.oracle import Faults

GPT2 = ROOT / "data/traced/h200/gpt2"
RECORDING = ROOT / "tests/data/h200/fake-tp8.kineto.json.gz"
# Each writes out/OUTPUT.
WRITERS = [(line, line.split("out/")[1].split()[0]) for line in """
convert in/run.json out/run.orr
convert in/run.json out/new.json
convert in/run.json out/new.json.gz
convert in/run.json out/run.pftrace
convert in/run.orrs out/run.pickle
convert in/run.orrs out/new.orrs
analyze in/run.json --html out/page.html
info in/run.json --html out/page.html
memory in/run.orrs --tool heat --html out/page.html
memory in/run.orrs --tool timeline --svg out/a.svg
diff in/run.json in/run.json --html out/page.html
predict in/run.json --gpu H200 -o out/run.orr
fit collectives in/collectives.csv -o out/model.yaml
validate in/runs.csv --csv out/a.csv
fit host in/run.json --profiler-cost 2 -o out/host.csv
simulate in/job.yaml --html out/page.html
simulate in/job.yaml --trace out/step.json
evaluate kernels in/kernels.csv --predictions out/a.csv
fit kernels in/kernels.csv -o out/m --no-figures""".strip().splitlines()]
OLD = b"what was here before\n"
# Runs a command on a file system of two pages behind `out`, where the file $1 is; lists what is there afterwards.
ON_TINY_DISK = """mount -t tmpfs -o size=8k none out && echo old > "out/$1" || exit 2
name=$1; shift; "$@"; status=$?
[ $status = 0 ] || [ $status = 3 ] || [ "$(cat "out/$name")" = old ] || echo "out/$name changed" >&2
ls -A out >&2; exit $status"""


def add_inputs(case, large=False):
    for name, path in INPUTS.items():
        case.add(f"in/{name}", path)
    if large:
        case.add("in/run.json", RECORDING)


def old_target(case, output):
    if case.rng.random() < 0.7:
        case.add(f"out/{output}", OLD)
        return OLD
    return None


def check_target(case, output, old, is_whole):
    """The old file, or where it may be, a whole new one."""
    path = case.folder / "out" / output
    now = path.read_bytes() if path.is_file() else None
    if now != old and not is_whole:
        case.find(f"the target changed although the command failed: {output}")


def attack_full_disks(case):
    """No room for standard output, standard error or a file."""
    add_inputs(case)
    way = case.rng.choice(["stdout", "stderr", "both", "size", "tmpfs"])
    if way in ("stdout", "stderr", "both"):
        verb = case.rng.choice(sorted(BASES))
        words = verb.split() + shlex.split(BASES[verb]) + case.rng.choice([[], ["--json"], ["--nosuch"]])
        full = {"stdout": "/dev/full"} if way == "stdout" else {"stderr": "/dev/full"} if way == "stderr" else {
            "stdout": "/dev/full", "stderr": "/dev/full"}
        result = case.run(words, Faults(**full))
        if "stdout" in full and result.status != 2:
            case.find(f"{verb}: output was lost with status {result.status}")
        return
    command, output = case.rng.choice(WRITERS)
    if way == "tmpfs":
        result = case.run(shlex.split(command), prefix=["unshare", "-m", "sh", "-c", ON_TINY_DISK, "sh", output])
        if ".orrery-part-" in result.error or "changed" in result.error:
            case.find("a full disk left a part file or changed the target")
        return
    old = old_target(case, output)
    result = case.run(shlex.split(command), Faults(limits={resource.RLIMIT_FSIZE: case.rng.choice((0, 1, 512, 2048))}))
    check_target(case, output, old, is_whole=result.status in (0, 3))


def attack_streams(case):
    """Standard streams that are closed."""
    add_inputs(case)
    verb = case.rng.choice(sorted(BASES))
    closed = case.rng.choice([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
    words = verb.split() + shlex.split(BASES[verb])
    result = case.run(words, Faults(closed=closed))
    if 1 in closed and result.status not in (2,):
        case.find(f"{verb}: output was lost with status {result.status}")


def attack_limits(case):
    """Little memory, few open files, few threads."""
    add_inputs(case, large=case.rng.random() < 0.3)
    if case.limits.slowness > 1:
        return  # sanitizers need memory and files of their own
    command, output = case.rng.choice(WRITERS)
    limits = case.rng.choice([{resource.RLIMIT_AS: case.rng.choice((80, 100, 130, 160, 200, 300)) << 20},
                              {resource.RLIMIT_NOFILE: case.rng.choice((4, 5, 6, 8, 12))}, {resource.RLIMIT_STACK: 256 << 10}])
    old = old_target(case, output)
    result = case.run(shlex.split(command), Faults(limits=limits))
    check_target(case, output, old, is_whole=result.status in (0, 3))


def attack_kills(case):
    """A signal in the middle: the old file or the new one, and no parts unless by kill -9; a part that is left is no rank."""
    add_inputs(case, large=True)
    command, output = case.rng.choice([writer for writer in WRITERS if "run.json" in writer[0]])
    case.run(shlex.split(command))
    whole = (case.folder / "out" / output).read_bytes() if (case.folder / "out" / output).exists() else None
    shutil.rmtree(case.folder / "out")
    (case.folder / "out").mkdir()
    old = old_target(case, output)
    ended_by = case.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    case.run(shlex.split(command), Faults(signal_after=(ended_by, case.rng.uniform(0, 0.35) * case.limits.slowness)))
    path = case.folder / "out" / output
    now = path.read_bytes() if path.is_file() else None
    if now not in (old, whole):
        case.find(f"a torn file after signal {int(ended_by)}: {output}")
    case.add("out/.orrery-part-0123456789abcdef-rank1.json", INPUTS["run.json"])
    case.add("out/rank0.json", INPUTS["run.json"])
    case.may_leave_parts = True
    if path.exists():
        path.unlink()
    if b"1 rank" not in case.run(["info", "out"]).stdout:
        case.find("a part file counts as a rank")


def attack_targets(case):
    """Outputs that are inputs, by any name; folders, links and files that cannot be written."""
    add_inputs(case)
    command, output = case.rng.choice(WRITERS)
    words = shlex.split(command)
    target = case.folder / "out" / output
    way = case.rng.choice(["same", "link", "hard", "dots", "missing", "folder", "dangling", "locked", "kept", "read-only", "device"])
    source = next(word for word in words if word.startswith("in/"))
    names = {"same": source, "dots": f"out/../{source}", "missing": f"out/absent/{output}", "device": "/dev/full"}
    words = [names.get(way, f"out/{output}") if word == f"out/{output}" else word for word in words]
    if way == "link":
        target.symlink_to(f"../{source}")
    elif way == "hard":
        os.link(case.folder / source, target)
    elif way == "folder":
        target.mkdir()
    elif way == "dangling":
        target.symlink_to("later")
    elif way == "kept":
        case.add("out/behind", OLD)
        target.symlink_to("behind")
    elif way in ("locked", "read-only"):
        case.add(f"out/{output}", OLD)
        (target if way == "read-only" else target.parent).chmod(0o444 if way == "read-only" else 0o555)
    result = case.run(words, Faults(plain_user=True))
    (case.folder / "out").chmod(0o755)
    if way not in ("dangling", "kept") and result.status in (0, 1, 3):
        case.find(f"{way}: status {result.status} where nothing can be written")
    if way in ("dangling", "kept") and result.status in (0, 3) and not target.is_symlink():
        case.find("a link was replaced by a file")
    if way == "kept" and result.status in (0, 3) and (case.folder / "out/behind").read_bytes() == OLD:
        case.find("the file behind a link was not written")
    if way in ("locked", "read-only") and target.read_bytes() != OLD:
        case.find("a file without permission was changed")


SAME = """
info in/ranks --json
info in/ranks
analyze in/ranks --json
analyze in/ranks --html out/page.html
analyze in/ranks --csv
convert in/ranks out/run.orr
convert in/ranks out/run.json
convert in/ranks out/run.pftrace
diff in/ranks/a.json in/ranks/b.json --json
memory in/run.orrs --tool timeline --json
memory in/run.orrs --tool patterns --html out/page.html
predict in/run.json --gpu A100 --json
predict in/run.json --gpu H200 -o out/run.orr
fit host in/run.json --profiler-cost 2 -o out/host.csv
evaluate kernels in/kernels.csv --json --split random:30
fit kernels in/kernels.csv -o out/model
fit collectives in/collectives.csv -o out/model.yaml
evaluate collectives in/collectives.csv --json
validate in/runs.csv --json
simulate in/job.yaml --json
simulate in/job.yaml --html out/page.html
simulate in/job.yaml --trace out/step.orr --jitter 0.02
simulate --from in/gpt2 --json
evaluate overlap in/pairs.csv --held-out none --json""".strip().splitlines()
VARIABLES = {"LC_ALL": ["C", "C.UTF-8", "tr_TR.UTF-8", "de_DE.UTF-8"], "TZ": ["UTC", "Asia/Kolkata", "America/St_Johns"],
             "LANG": ["C", "en_US.UTF-8"], "USER": ["a", "b"], "LINES": ["5", "50"], "MALLOC_PERTURB_": ["0", "85"]}
THREADED = ("info", "analyze", "convert", "diff", "memory", "predict", "fit host", "validate")


def add_run(case, place):
    """The same files in another folder, written in another order."""
    ranks = ROOT / "tests/data/analyze/pp2"
    files = INPUTS | {"ranks/a.json": ranks / "rank0.json", "ranks/b.json": ranks / "rank1.json", "gpt2": GPT2}
    for name in case.rng.sample(sorted(files), len(files)):
        if name == "gpt2":
            shutil.copytree(GPT2, case.folder / place / "in" / name)
        else:
            case.add(f"{place}/in/{name}", files[name])
    (case.folder / place / "out").mkdir()


def without_progress(stderr):
    """The text without the lines that a slow machine adds every ten seconds, such as `fitting (20 s)`."""
    return re.sub(rb"(?m)^.* \(\d+ s\)\n", b"", stderr)


def attack_determinism(case):
    """The same command in two environments gives the same bytes."""
    command = case.rng.choice(SAME)
    results = []
    for place in ("out/first", "out/second/deeper"):
        add_run(case, place)
        extra = {name: case.rng.choice(values) for name, values in VARIABLES.items()}
        variables = list((ENVIRONMENT | extra).items())
        case.rng.shuffle(variables)
        threads = ["--threads", case.rng.choice("1248")] if command.startswith(THREADED) else []
        fault = Faults(fixed_addresses=case.rng.random() < 0.5)
        result = case.run(shlex.split(command) + threads, fault, dict(variables), folder=case.folder / place)
        # The footer of a page has the command, and with it the number of threads.
        files = {name: re.sub(rb'<p id="made-by">.*', b"", content) if isinstance(content, bytes) else content
                 for name, content in snapshot(case.folder / place / "out").items()}
        results.append((result.status, result.stdout, without_progress(result.stderr), files))
    for name, one, other in zip(("status", "stdout", "stderr", "files"), *results):
        if one != other:
            case.find(f"{command}: another {name} in another environment")
