"""Attacks on results: values that no job may have, and effects that no change of a job may have on its step."""

import json
import re

from attack.case import ROOT

MODELS = {"gpt2": 1024, "llama3-8b": 8192, "llama3-70b": 8192, "mixtral-8x7b": 8192, "gpt3-13b": 2048}  # positions
CLUSTERS = ["DGX H100", "DGX A100", "DGX H200", "GB200 NVL72", "OCI BM.GPU.GB300", "DGX-1 V100", "GH200"]
HALF_POWER_W = {"DGX H100": 350, "DGX H200": 350, "DGX A100": 200}
# Differences, costs of advice, and powers of exponents.
MAY_BE_NEGATIVE = re.compile(r"change|gain|difference|added_s|begin|delta|free|exponent|saved|headroom|share_change")
SHARES = ("mfu", "hfu", "share", "clock", "settled_share")
ROUNDING = 1e-9
MOST_TASKS = "20000"
# Transfers that end at other times meet other kernels on their GPU, which slows both down differently; and models of kernels that are
# fitted to measured times are no smooth functions of the smallest shapes.
ANOMALIES = {"twice the sequence": 0.01, "half the power": 0.01}
ANOMALY = 0.001


def numbers_of(value, name=""):
    """(name of the key, number) of all that a document has."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers_of(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from numbers_of(item, name)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, value


def figure_faults(document):
    """Names of metrics with impossible values."""
    for name, number in numbers_of(document):
        if number != number or number in (float("inf"), float("-inf")):
            yield f"{name} is not finite"
        elif number < 0 and not MAY_BE_NEGATIVE.search(name):
            yield f"{name} is negative"
        elif name in SHARES and number > 1 + ROUNDING:
            yield f"{name} is above 1"


def some_job(rng):
    """A job that may well be somebody's, as YAML that is JSON."""
    model = rng.choice(sorted(MODELS))
    cluster = rng.choice(CLUSTERS)
    tp, pp, cp = rng.choice((1, 1, 2, 4, 8)), rng.choice((1, 1, 2, 4)), rng.choice((1, 1, 1, 2))
    gpus = tp * pp * cp * rng.choice((1, 2, 4, 8))
    micro_batch = rng.choice((1, 1, 2, 4))
    replicas = gpus // (tp * pp * cp)
    sequence = min(rng.choice((1, 16, 512, 1024, 2048, 4096)), MODELS[model] // 2) * cp
    job = {"model": model, "cluster": cluster, "gpus": gpus,
           "training": {"sequence": sequence, "micro_batch": micro_batch,
                        "global_batch": micro_batch * replicas * pp * rng.choice((1, 1, 2)),
                        "precision": rng.choice(("bf16", "bf16", "fp8", "fp16"))},
           "plan": {"tp": tp, "pp": pp, "cp": cp, "sharding": rng.choice(("none", "zero1", "zero2", "fsdp")),
                    "recompute": rng.choice(("none", "selective", "full")), "sequence_parallel": tp > 1 and rng.random() < 0.7}}
    if model.startswith("mixtral"):
        job["plan"] |= {"ep": rng.choice([ep for ep in (1, 2, 4, 8) if replicas * cp % ep == 0]),
                        "token_imbalance": rng.choice((1, 1.5))}
    if rng.random() < 0.2 and job["plan"]["sharding"] in ("none", "zero1"):
        job["training"]["adapter_rank"] = rng.choice((8, 64))
    if rng.random() < 0.3:
        job["framework"] = rng.choice(("pytorch", "megatron-lm", "nemo", "torch-fsdp", "torchtitan"))
    return job


class Answers:
    """The answers of `simulate` for one job and for variants of it."""

    def __init__(self, case, name):
        self.case, self.name = case, name

    def of(self, *options, step_only=True):
        """The document; nothing where the job is refused or its output is checked already."""
        words = ["simulate", self.name, "--json", "--max-tasks", MOST_TASKS, *(["--step-only"] if step_only else []), *options]
        result = self.case.run(words)
        if result.status not in (0, 1, 3, 4):
            return None
        try:
            document = json.loads(result.stdout)
        except ValueError:
            return None
        for fault in sorted(set(figure_faults(document))):
            self.case.find(f"metrics: {fault}")
        return document


def step_of(document):
    return document and document.get("step_time_s")


def attack_physics(case):
    """Figures that cannot be; a part that is slower, or shared, makes no step shorter."""
    job = some_job(case.rng)
    answers = Answers(case, case.add("in/job.yaml", json.dumps(job).encode()))
    options = case.rng.choice([[], [], ["--network", "flows"], ["--background", "0.3"], ["--oversubscribe", "2"], ["--jitter", "0.02"],
                               ["--slow", f"rank={case.rng.randrange(job['gpus'])}:{case.rng.choice(('1.5', '1000', '1e6'))}"]])
    base = answers.of(*options, step_only=case.rng.random() < 0.5)
    if not step_of(base):
        return
    if "contended_ps" in base and base["contended_ps"] < 0:
        case.find("sharing links makes the step shorter")
    sequence = job["training"]["sequence"]
    slower = {  # changes for the worse, by a name
        "a slow rank": ["--slow", f"rank={case.rng.randrange(job['gpus'])}:1.3"],
        "twice the sequence": ["--set", f"training.sequence={2 * sequence}"],
        "a thin network": ["--background", "0.5"],
        "twice the batch": ["--set", f"training.global_batch={2 * job['training']['global_batch']}"],
    }
    if job["cluster"] in HALF_POWER_W:
        slower["half the power"] = ["--set", f"gpu.power_w={HALF_POWER_W[job['cluster']]}"]
    name = case.rng.choice(sorted(slower))
    if any(word in options for word in slower[name] if word.startswith("--") and word != "--set"):
        return  # it would be given twice
    worse = answers.of(*options, *slower[name])
    if step_of(worse) and step_of(worse) < step_of(base) * (1 - ANOMALIES.get(name, ANOMALY)):
        case.find(f"{name} makes the step shorter")


def attack_several_jobs(case):
    """Jobs that share a cluster, with hostile placements."""
    jobs = [case.add(f"in/{name}.yaml", json.dumps(some_job(case.rng) | {"cluster": "DGX H100"}).encode()) for name in "abc"]
    placement = case.rng.choice(["", "0-1/2-3", "0/0", "1-0/2", "0-99999999999/1", "a/b", "/", "0-0/1-1/2-2", "-1/1", "0.5/1"])
    words = ["simulate", *case.rng.sample(jobs, case.rng.choice((2, 3))), "--json", "--max-tasks", MOST_TASKS]
    words += ["--placement", placement] if placement else []
    words += case.rng.choice([[], ["--network", "shared"], ["--network", "flows"], ["--oversubscribe", "3"], ["--step-only"], ["--background", "0.9"]])
    result = case.run(words)
    if result.status in (0, 3, 4):
        try:
            for fault in sorted(set(figure_faults(json.loads(result.stdout)))):
                case.find(f"metrics: {fault}")
        except ValueError:
            pass  # reported already


SECTIONS = ["plan.tp", "plan.pp", "plan.ep", "plan.cp", "plan.chunks", "plan.schedule", "plan.sharding", "plan.recompute", "training.micro_batch",
            "training.global_batch", "training.precision", "memory_share", "must", "others", "gpus", "model", "nonsense", "search.plan.tp", "plan"]
FREE = ["[1, 2, 4]", "[8, 4]", "divisors", "powers_of_two", "[]", "[0]", "[-1, 2]", "[1.5]", "[99999999999999999999]", "[tp within node]", "fixed",
        "usual", "{a: [1]}", ".nan", "1e309", "[[1, 2], [3]]", "~", "[fsdp, zero1, none]", "[1f1b, interleaved, zb-v, nonsense]", "0.5", "2", "-1",
        "[full, selective]", "[" + "1, " * 3000 + "1]"]


def attack_searches(case):
    """Sections `search` with hostile values, beside a store that is used again."""
    section = "".join(f"  {case.rng.choice(SECTIONS)}: {case.rng.choice(FREE)}\n" for _ in range(case.rng.choice((1, 1, 2, 3))))
    job = (ROOT / "tests/golden/search/store.files/job.yaml").read_text(encoding="utf-8")
    job = re.sub(r"(?ms)^search:.*?(?=^\S|\Z)", "", job) + "search:\n" + section
    name = case.add("in/job.yaml", job.encode())
    words = ["search", name, "--keep", "2", "--budget", case.rng.choice(("1s", "2s")), "--no-reasons"]
    words += case.rng.choice([[], ["--json"], ["--gpus", "8..16"], ["--store", "out/plans.orrdb", "--resume"], ["--html", "out/page.html"]])
    for _ in range(2 if "--store" in words else 1):
        case.run(words)
