"""Attacks by content: files of every format, job files, traced folders, options."""

import functools
import gzip
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import tempfile

import run_fuzzers
from attack import mutations
from attack.case import ROOT, SHARED
from attack.oracle import Faults

MOST_SAMPLE_BYTES = 300_000
ARGUMENT_NAMES = [name for name in mutations.NAMES if "\0" not in name]
TOOLS = ("kernel-frequency", "working-set", "heat", "timeline", "patterns", "overhead", "uvm")
METRICS = "--metric mfu --metric straggler --metric critical_path --metric what_if --what-if network=4"
TRACE = ["info {f}", "info {f} --json", "info {f} --html out/page.html", "analyze {f}", "analyze {f} --json", "analyze {f} --csv",
         "analyze {f} --html out/page.html", "analyze {f} --compat ccl-bench --json", "analyze {f} --step-marker '.*' " + METRICS,
         "convert {f} out/run.orr", "convert {f} out/run.json", "convert {f} out/run.pftrace", "convert {f} out/run.pickle",
         "convert {f} out/run.orrs", "diff {o} {f}", "diff {f} {o} --json", "diff {f} {o} --html out/page.html", "memory {f}",
         "predict {f} --gpu H200", "predict {f} --gpu A100 --json", "predict {o} --gpu H200 --measured {f}",
         "fit host {f} --profiler-cost 2 -o out/host.csv", "fit overlap --from-traces {o} {f} -o out/tree",
         "simulate {f} --cluster 'DGX H100' --max-tasks 100000", "memory --paper in --json"] + [
             f"memory {{f}} --tool {tool} {form}" for tool in TOOLS for form in ("", "--json", "--html out/page.html")]
COLLECTIVES = ["info {f} --json", "analyze {f}"] + [
    f"{command} {{f}} {cluster}" for cluster in ("", "--cluster 'DGX H100'", "--cluster 'DGX A100'")
    for command in ("fit collectives -o out/model.yaml", "evaluate collectives --json", "evaluate collectives")]
OPERATOR = "'gemm m=4096 n=4096 k=4096 bf16'"
ECHO_OPERATORS = SHARED / "workloads/echo/ops/gpt2/global_ops_profiling_bs16_seq512.json.gz"
ECHO_GRAPH = SHARED / "workloads/echo/graphs/gpt2/forward_graph_profiling_bs16_seq512.json.gz"

# Places of samples, relative to the repository, and the commands that read them; traces if there are none.
SAMPLES = [
    ("tests/data/collectives/*.csv", COLLECTIVES),
    ("tests/data/nccl_tests/*", COLLECTIVES),
    ("tests/data/param_comms/*", COLLECTIVES),
    ("../shared/comm/*/*.log", COLLECTIVES),
    ("data/models/collectives.yaml", ["predict collective 'allreduce 64MiB' --cluster 'DGX H100' --gpus 8 --json --model {f}",
                                      f"evaluate collectives {ROOT}/tests/data/collectives/made.csv --model {{f}}"]),
    ("tests/data/kernels/small.orrmodel", [f"predict kernel {OPERATOR} --gpu H200 --json --model {{f}}",
                                           f"predict kernel {OPERATOR} --gpu T4 --model {{f}}"]),
    ("data/models/overlap.orrmodel", [f"predict overlap {OPERATOR} --gpu H200 --json --model {{f}}"]),
    ("tests/golden/kernels/*.files/*.csv", ["evaluate kernels {f}", "evaluate kernels {f} --json", "evaluate kernels {f} --svg out/a.svg",
                                            "evaluate all {f} --json", "fit kernels {f} -o out/a.orrmodel --no-figures",
                                            "fit siblings {f} -o out/a.yaml", "evaluate kernels {f} --html out/page.html"]),
    ("tests/data/published_runs/*.csv", ["validate {f}", "validate {f} --json", "validate {f} --csv out/a.csv --svg out/a.svg",
                                         "validate {f} --html out/page.html", "fit frameworks {f} -o out/a.yaml"]),
    ("tests/golden/overlap/pairs.files/*.csv", ["evaluate overlap {f} --held-out none", "evaluate overlap {f} --held-out row --json",
                                                "fit overlap {f} -o out/a.orrmodel", "evaluate overlap {f} --out out/tree"]),
    ("tests/data/overlap/*.csv", [f"fit overlap --from-traces {{f}} {ROOT}/tests/data/export/one_rank.json --json"]),
    ("data/host/*.csv", [f"predict {ROOT}/tests/data/export/one_rank.json --gpu H200 --host {{f}}"]),
    ("tests/golden/predict/*.files/host.csv", [f"predict {ROOT}/tests/data/export/one_rank.json --gpu H200 --host {{f}}"]),
    ("../shared/workloads/simai/*.txt*", ["simulate {f} --emulate simai --with nvlink=360,nic=48.5 --max-tasks 100000"]),
    ("../shared/workloads/astra-sim/*/*/*.0.et", ["simulate in --cluster 'DGX H100'", "simulate in --cluster 'DGX A100' --json"]),
    ("../shared/workloads/echo/graphs/gpt2/*bs16*", [f"simulate {{f}} --echo-ops {ECHO_OPERATORS} --gpus 2 --cluster 'DGX A100' --json"]),
    ("../shared/workloads/echo/ops/gpt2/global*bs16*", [f"simulate {ECHO_GRAPH} --echo-ops {{f}} --gpus 2 --cluster 'DGX A100' --json"]),
    ("tests/data/**/*", TRACE), ("data/traced/h200/*/rank-0/kineto.orr", TRACE), ("../shared/traces/**/*", TRACE),
    ("../shared/workloads/card/*", TRACE),
]
NO_SAMPLES = re.compile(r"\.py$|README|INDEX|\.md$")


@functools.cache
def samples():
    """[(file, commands)], each file once."""
    known = {}
    for pattern, commands in SAMPLES:
        base, pattern = (SHARED, pattern.removeprefix("../shared/")) if pattern.startswith("../") else (ROOT, pattern)
        for path in sorted(base.glob(pattern)):
            if path.is_file() and path.stat().st_size <= MOST_SAMPLE_BYTES and not NO_SAMPLES.search(path.name):
                known.setdefault(path, commands)
    return sorted(known.items())


@functools.cache
def sample_content(path):
    """Small: a long JSON document loses most of its rows."""
    if path.suffix == ".sql":
        with tempfile.NamedTemporaryFile() as file:
            connection = sqlite3.connect(file.name)
            connection.executescript(path.read_text(encoding="utf-8"))
            connection.close()
            return pathlib.Path(file.name).read_bytes()
    content = run_fuzzers.small_form(path, MOST_SAMPLE_BYTES) if ".json" in path.name else path.read_bytes()
    return gzip.compress(content, mtime=0) if path.suffix == ".gz" and ".json" in path.name else content


def words_of(command, **names):
    return [word.format(**names) for word in shlex.split(command)]


def attack_files(case):
    """A mutated sample, alone or among the other files of its folder, read by some verbs."""
    path, commands = case.rng.choice(samples())
    name = "in/" + path.name.replace(".sql", ".sqlite")
    beside = [other for other in sorted(path.parent.iterdir()) if other.is_file()]
    target = name
    if len(beside) < 12 and sum(other.stat().st_size for other in beside) < 500_000 and case.rng.random() < 0.5:
        for other in beside:
            case.add(f"in/{other.name}", other)
        target = "in" if commands is TRACE else name
    case.add(name, mutations.mutated(case.rng, path.name, sample_content(path)))
    for command in case.rng.sample(commands, min(3, len(commands))):
        result = case.run(words_of(command, f=target, o=str(path)))
        if command.startswith("convert") and result.status in (0, 3) and command.endswith((".orr", ".json", ".orrs", ".pickle")):
            if case.run(["info", command.split()[-1]]).status == 2:
                case.find(f"convert: {command.split()[-1]} cannot be read back")


def attack_names(case):
    """Files, folders and texts of hostile names."""
    name = case.rng.choice(ARGUMENT_NAMES)[:200].replace("/", "_") or "empty"
    sample = case.rng.choice(["tests/data/export/one_rank.json", "tests/data/orrs/whole.orrs", "tests/data/orr/two_ranks.orr"])
    case.add(f"in/{name}" if case.rng.random() < 0.5 else f"in/{name}/run", ROOT / sample)
    files = [str(path.relative_to(case.folder)) for path in sorted((case.folder / "in").rglob("*"))]
    for command in case.rng.sample(TRACE, 3):
        case.run(words_of(command, f=case.rng.choice(files), o=str(ROOT / sample)))


@functools.cache
def job_keys():
    """The keys of data/workload/job_keys.yaml, `section.key`, and those that are no section's."""
    keys = ["gpus", "gpu", "cluster", "framework", "model", "plan", "training", "gpu_of", "megatron", "name"]
    table = (ROOT / "data/workload/job_keys.yaml").read_text(encoding="utf-8")
    return sorted({*keys, *re.findall(r"^  - key: (\S+)$", table, re.MULTILINE)})


PLAUSIBLE = ["1", "2", "3", "4", "8", "16", "64", "128", "1024", "true", "false", "0.5", "gpt2", "llama3-8b", "mixtral-8x7b", "zb-v", "dualpipe",
             "interleaved", "1f1b", "gpipe", "zero1", "zero2", "fsdp", "hsdp", "full", "selective", "ulysses", "ring", "fp8", "fp32", "bf16",
             "flex", "all_gather", "DGX H100", "DGX A100", "H200", "pytorch", "megatron-lm", "[7, 9]", "[norms, experts]", "row"]
HOSTILE = [".nan", ".inf", "-1", "0", "1e300", "99999999999999999999", "2147483648", "9223372036854775807", "", "[]", "{a: 1}", "~", "word",
           "*anchor", "!!binary x", "[" * 2000, "{a: " * 500]


def attack_jobs(case):
    """Jobs with other values, in the file or by --set."""
    jobs = sorted([*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/golden/simulate/*.files/job.yaml"),
                   *ROOT.glob("data/traced/h200/*/job.yaml")])
    job = case.rng.choice(jobs)
    content = job.read_bytes()
    if case.rng.random() < 0.4:
        content = mutations.mutated_text(case.rng, content)
    words = ["simulate", case.add("in/job.yaml", content), "--max-tasks", "20000"]
    for _ in range(case.rng.choice((0, 1, 2, 3, 5))):
        value = case.rng.choice(PLAUSIBLE if case.rng.random() < 0.75 else HOSTILE + ARGUMENT_NAMES)
        words += ["--set", f"{case.rng.choice(job_keys())}={value}"]
    case.run(words + case.rng.choice([[], ["--json"], ["--html", "out/page.html"], ["--trace", "out/step.orr"], ["--no-fold"]]))


def lead_outside(case, folder):
    """A manifest whose files are good, but not in its folder."""
    shutil.copytree(folder, case.folder / "in/elsewhere", symlinks=True, dirs_exist_ok=True)
    for manifest in folder.glob("*.json"):
        text = manifest.read_text(encoding="utf-8", errors="surrogateescape")
        text = re.sub(r'"(folder|file)": *"([^"]*)"', r'"\1": "../elsewhere/\2"', text)
        manifest.write_text(text, encoding="utf-8", errors="surrogateescape")


def spoil_folder(case, folder, files):
    """One change of a traced folder."""
    path = case.rng.choice(files)
    way = case.rng.choice(["mutate"] * 5 + ["cut", "delete", "link", "loop", "part", "folder", "unreadable", "locked", "outside"])
    if way == "mutate":
        path.write_bytes(mutations.mutated(case.rng, path.name, path.read_bytes()))
    elif way == "cut":
        path.write_bytes(path.read_bytes()[:case.rng.randrange(200)])
    elif way == "part":
        shutil.copyfile(path, path.with_name(".orrery-part-0123456789abcdef-" + path.name))
    elif way == "unreadable":
        path.chmod(0)
    elif way == "locked":
        path.parent.chmod(0)
    elif way == "outside":
        lead_outside(case, folder)
    else:
        path.unlink()
        if way == "link":
            path.symlink_to("/dev/zero" if case.rng.random() < 0.3 else "/nonexistent")
        elif way == "loop":
            path.symlink_to(folder)
        elif way == "folder":
            path.mkdir()


@functools.cache
def traced_folders():
    folders = [path.parent for path in sorted(ROOT.glob("data/traced/h200/*/trace.json"))]
    return [folder for folder in folders if sum(path.stat().st_size for path in folder.rglob("*")) < 400_000]


def attack_folders(case):
    """Traced folders and folders of ranks with missing, changed and foreign files."""
    ranks = [ROOT / "tests/data/kineto/two_ranks", ROOT / "tests/data/orrs/two_ranks"]
    source = case.rng.choice([*traced_folders(), *traced_folders(), *ranks])
    folder = case.folder / "in" / "job"
    shutil.copytree(source, folder)
    for _ in range(case.rng.choice((1, 1, 2))):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
        if files:
            spoil_folder(case, folder, files)
    locked = [path for path in sorted(folder.rglob("*")) if not path.is_symlink() and path.stat().st_mode & 0o777 == 0]
    commands = ["simulate --from in/job", "simulate --from in/job --world 16 --json", "info in/job --json", "analyze in/job",
                "predict in/job --gpu A100", "convert in/job out/run.orr"]
    for command in case.rng.sample(commands, 2):
        status = case.run(shlex.split(command), Faults(plain_user=True)).status
        if status == 0 and "--from" in command and (case.folder / "in/elsewhere").exists() and (folder / "rank-0").exists():
            case.find("a manifest leads outside its folder")
    for path in locked:
        path.chmod(0o755)


BASES = {  # a command that works for each verb
    "info": "in/run.json", "analyze": "in/run.json", "memory": "in/run.orrs", "convert": "in/run.json out/run.orr",
    "diff": "in/run.json in/run.json", "evaluate kernels": "in/kernels.csv", "evaluate collectives": "in/collectives.csv",
    "evaluate overlap": "in/pairs.csv --held-out none", "evaluate all": "in/kernels.csv",
    "fit kernels": "in/kernels.csv -o out/model --no-figures", "fit collectives": "in/collectives.csv -o out/model.yaml",
    "fit frameworks": "in/runs.csv -o out/a.yaml", "fit host": "in/run.json --profiler-cost 2 -o out/host.csv",
    "fit overlap": "in/pairs.csv -o out/model", "fit siblings": "in/nodes.csv -o out/a.yaml", "predict": "in/run.json --gpu H200",
    "predict kernel": OPERATOR + " --gpu H200", "predict collective": "'allreduce 64MiB' --cluster 'DGX H100' --gpus 8",
    "predict overlap": OPERATOR + " --gpu H200", "simulate": "in/job.yaml --max-tasks 20000", "validate": "in/runs.csv"}
INPUTS = {name: ROOT / "tests" / path for name, path in {
    "run.json": "data/export/one_rank.json", "run.orrs": "data/orrs/memory_small.orrs", "runs.csv": "data/published_runs/made.csv",
    "collectives.csv": "data/collectives/made.csv", "kernels.csv": "golden/kernels/models.files/ours.csv",
    "nodes.csv": "golden/kernels/siblings.files/nodes.csv", "pairs.csv": "golden/overlap/pairs.files/few.csv",
    "job.yaml": "golden/simulate/answer.files/job.yaml"}.items()}


def options_in(text):
    """[(option, takes a value)] of a help text."""
    found = re.findall(r"^  (?:-\w,)?(--[a-z-]+)(?:,--[a-z-]+)*( (?!Excludes:| )\S+)?", text, re.MULTILINE)
    return [(name, bool(value)) for name, value in found if name not in ("--help", "--version")]


@functools.cache
def options_of(program, verb):
    return options_in(subprocess.run([program, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout)


VALUES = ["", " ", "y" * 100_000, "DGX H100", *r"""
nan -nan inf -inf -1 0 1 2 1e308 1e-308 9223372036854775807 -9223372036854775808 99999999999999999999 0x10 1.5 - -- : a:b 0:1
1:0 -1:5 = a= =b rank=0:2 ranks=0-1:H200 node=0:nic=0 node=0:0.5 rank=99999999999:1 rank=0:nan ranks=5-1:H200 ( (a*)*b [ \ *
H100 network=4 network=nan network=0 rank:3 kernel:a=inf random:20 random:0 gpu:H200 above:m:nan value:m:101 copy model none mfu
timeline heat uvm working-set patterns overhead diff simai astra-sim INPUT INPUT out / /dev/null absent out/new out/absent/x""".split()]


def attack_options(case):
    """One to three options of a verb with hostile values beside a command that works."""
    verb = case.rng.choice(sorted(BASES))
    words = verb.split() + shlex.split(BASES[verb])
    inputs = [case.add(word, INPUTS[word.removeprefix("in/")]) for word in words if word.startswith("in/")]
    values = [inputs[0] if value == "INPUT" and inputs else value for value in VALUES + ARGUMENT_NAMES]
    options = options_of(case.program, verb)
    for name, takes_value in case.rng.choices(options, k=case.rng.choice((1, 1, 2, 3))):
        words += [f"{name}={case.rng.choice(values)}"] if takes_value else [name]
    if case.rng.random() < 0.05:
        words.append(case.rng.choice(values))
    words = [word.replace("in/", "../in/").replace("out/", "") if "../" not in word else word for word in words]
    case.run(words, folder=case.folder / "out")  # any value may be the name of an output
