"""The effect of sharing the network on a step.

Shared links and flows must agree on fabrics that never block, nothing is faster than alone, and effects known from published work
must come out in the right direction. The table of measured runs takes some minutes for each of its two runs of `orrery validate`.
"""

import functools
import pathlib
import statistics
import subprocess
import sys
import tempfile

from validation import GRADES, ROOT, SHARED, run_json, rows_of, table

TRUTH = SHARED / "truth" / "training.csv"
EXAMPLES = ROOT / "examples"
MIXTRAL = (EXAMPLES / "mixtral-8x7b-64-h100.yaml",)
SYMMETRIC = (
    ("Llama 3 8B, FSDP", (EXAMPLES / "llama3-8b-fsdp-64-h100.yaml",)),
    ("Mixtral 8x7B, ep 8 pp 4", MIXTRAL),
    ("Mixtral 8x7B, ep over two nodes", (*MIXTRAL, "--set", "plan.tp=2", "--set", "plan.dp=8")),
    ("GPT 70B, tp 8 pp 4 dp 3", (EXAMPLES / "echo-gpt-70b-96-h800.yaml",)),
    ("Llama 3 70B, tp 4 pp 4 dp 16", (EXAMPLES / "llama3-70b-512-h100.yaml", "--set", "gpus=256", "--set", "plan.dp=16", "--set",
                                      "training.global_batch=512")),
)
MOST_APART = 0.02  # of shared links and flows where nothing blocks
NOTABLE = 0.05  # points of MAPE by which a source must change to have a line of its own

# All-to-all of all GPUs, little else: what the fabric does to it is what the step shows.
ALL_TO_ALL = """model: {{layers: 2, hidden: 4096, heads: 32, ffn: 4096, vocabulary: 32000,
  experts: 64, experts_per_token: 8, expert_ffn: 1024}}
training: {{sequence: 4096, micro_batch: 1, global_batch: 64}}
plan: {{ep: 64, dp: 64}}
gpus: 64
framework: megatron-lm
cluster: {{name: DGX H100, fabric: {}}}
"""
FAT_TREE = "{preset: fat_tree, radix: 16, levels: 2}"
# Rings over nodes, each of which has a first switch of its own.
SHARDED = f"""model: llama3-8b
training: {{sequence: 8192, micro_batch: 1, global_batch: 64}}
plan: {{sharding: zero3}}
gpus: 64
framework: torch-fsdp
cluster: {{name: DGX H100, fabric: {FAT_TREE}}}
"""
DENSE = """model: llama3-8b
training: {sequence: 8192, micro_batch: 1, global_batch: 32}
gpus: 32
framework: megatron-lm
cluster: DGX H100
"""
JOBS = {"tree.yaml": ALL_TO_ALL.format(FAT_TREE), "sharded.yaml": SHARDED, "dense.yaml": DENSE,
        "rails.yaml": ALL_TO_ALL.format("{preset: rail_optimised, radix: 16, nodes_per_block: 4}")}

# Two jobs on cables of their own: tests/golden/simulate/network.case.
PAUSED = ROOT / "tests" / "golden" / "simulate" / "network.files"


def simulate(program, *arguments):
    return run_json(program, "simulate", *arguments)


@functools.cache
def symmetric_steps(program):
    """{job: seconds of a step alone, with shared links, and with flows}."""
    return {name: [simulate(program, *job, "--network", network)["step_time_s"] for network in ("alone", "shared", "flows")]
            for name, job in SYMMETRIC}


def agreement(program):
    return table("job | >alone s | >shared s | >flows s | >shared over flows", (
        (name, *(f"{seconds:.4f}" for seconds in steps), f"{100 * (steps[1] / steps[2] - 1):+.3f} %")
        for name, steps in symmetric_steps(program).items()))


def exchange(program, job, dimension, *options, network="flows"):
    """Seconds in which communication of a dimension moves data."""
    answer = simulate(program, job, "--network", network, *options)
    return sum(entry["transfer_s"] for entry in answer["communication"] if entry["dimension"] == dimension)


def mean_hashed(program, job, dimension):
    return sum(exchange(program, job, dimension, "--routing", "hash", "--routing-seed", seed) for seed in range(5)) / 5


def paused_steps(program, folder):
    """Steps of the job that causes pause frames and of their victim: without pause frames, and with them."""
    cables = folder / "cables.yaml"
    cables.write_text(subprocess.run([sys.executable, PAUSED / "victim.py"], capture_output=True, text=True, check=True).stdout)
    for congestion in ("none", "lossless"):
        answer = simulate(program, PAUSED / "cause.yaml", PAUSED / "victim.yaml", "--placement", "0-1/2-3", "--topology", cables,
                          "--network", "flows", "--congestion", congestion)
        yield [job["step_time_s"] for job in answer["jobs"]]


@functools.cache
def found_effects(program):
    """(effect, options, slower by a factor of, what is known, the least factor), and the time that causing pause frames costs."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for job, text in JOBS.items():
            (folder / job).write_text(text)
        tree, rails, sharded, dense = (folder / job for job in ("tree.yaml", "rails.yaml", "sharded.yaml", "dense.yaml"))
        adaptive, hashed = exchange(program, tree, "ep"), mean_hashed(program, tree, "ep")
        inside, across = (simulate(program, dense, "--network", "shared", "--set", f"plan.tp={tp}", "--set", f"plan.dp={32 // tp}")
                          for tp in (8, 16))
        plain, paused = paused_steps(program, folder)
        of_seven = [exchange(program, tree, "ep", "--oversubscribe", "7", network=network) for network in ("shared", "flows")]
        effects = [
            ("ECMP against adaptive routing, rings of 64 GPUs (FSDP), mean of five seeds", "--routing hash",
             mean_hashed(program, sharded, "dp") / exchange(program, sharded, "dp"),
             "eight flows hashed to eight links: the busiest has 2.6 of them on average (computed), and a ring waits for its slowest link", 1.5),
            ("the same for all-to-all", "--routing hash", hashed / adaptive,
             "many small flows spread more evenly than few large ones", 1.02),
            ("7:1 against 1:1 above the first switches, the same", "--oversubscribe 7",
             of_seven[0] / exchange(program, tree, "ep", network="shared"),
             "Llama 3 (arXiv 2407.21783, 3.3.1) has 7:1 between its pods and plans its parallelism "
             "around it; what leaves a switch is slower by at most that", 1.5),
            ("the same with flows", "--network flows --oversubscribe 7", of_seven[1] / adaptive, "", 1.5),
            ("plain fat tree against rails, all-to-all, both with ECMP", "--routing hash", hashed / mean_hashed(program, rails, "ep"),
             "a rail-optimised fabric keeps traffic of equal local ranks under one switch; with PXN all "
             "of an all-to-all inside a block", 1.05),
            # With 81 us between nodes, fitted to large messages over two, it was 1.7. NICs of 400 GB/s a node beside NVLink of 450 leave less.
            ("tensor parallelism over two nodes against one (tp 16, tp 8)", "--set plan.tp=16",
             across["step_time_s"] / inside["step_time_s"],
             "Megatron-LM (arXiv 2104.04473, 5.4): tensor parallelism belongs inside a node", 1.3),
            ("pause frames: a job that shares a cable with one that waits behind it for another cable", "--congestion lossless",
             paused[1] / plain[1],
             "DCQCN (Zhu et al., SIGCOMM 2015, 2.2): a victim of PFC gets 10 Gb/s where 20 are left, as "
             "`PauseTest.VictimOfFourSendersGetsTenOfTwentyGigabits` does; compute hides a part here", 1.2)]
    return effects, paused[0] - plain[0]


def effects(program):
    return table("effect | options | >slower by a factor of | what is known", (
        (name, f"`{options}`", f"{factor:.2f}", known) for name, options, factor, known, _ in found_effects(program)[0]))


def problems(program):
    for name, (_, shared, flows) in symmetric_steps(program).items():
        if abs(shared / flows - 1) > MOST_APART:
            yield f"{name}: shared and flows differ by {100 * (shared / flows - 1):.2f} %"
    found, cost = found_effects(program)
    for name, _, factor, _, least in found:
        if factor < least:
            yield f"{name}: {factor:.3f}, expected at least {least}"
    if cost:
        yield "pause frames: the job that causes them takes another time"


def errors_on(program, network):
    """{id of a row: error of its prediction in percent, without its sign}"""
    result = run_json(program, "validate", TRUTH, "--grade", GRADES, "--network", network)
    return {row["id"]: abs(100 * (row["predicted_s"] / row["measured_s"] - 1)) for row in result["predictions"]}


def truth(program):
    """Sources whose error changes, the most improved first, and one line for all others."""
    alone, shared = (errors_on(program, network) for network in ("alone", "shared"))
    ids_of_source = {}
    for row in rows_of(TRUTH):
        if row["id"] in alone and row["id"] in shared:
            ids_of_source.setdefault(row["source"], []).append(row["id"])
    change = {source: statistics.fmean(shared[row] - alone[row] for row in ids) for source, ids in ids_of_source.items()}
    notable = sorted((source for source in change if abs(change[source]) > NOTABLE), key=lambda source: (change[source], source))
    every = [row for ids in ids_of_source.values() for row in ids]
    groups = {source: ids_of_source[source] for source in notable}
    groups[f"{len(change) - len(notable)} others, each within {NOTABLE}"] = [
        row for source, ids in ids_of_source.items() if source not in notable for row in ids]
    rows = []
    for name, ids in {**groups, "all": every}.items():
        of_alone, of_shared = (statistics.fmean(errors[row] for row in ids) for errors in (alone, shared))
        rows.append((name, len(ids), f"{of_alone:.2f}", f"{of_shared:.2f}", f"{of_shared - of_alone:+.2f}"))
    yield from table("source | >rows | >MAPE alone % | >MAPE shared % | >difference", rows)
    changed = sum(alone[row] != shared[row] for row in every)
    better = sum(shared[row] < alone[row] for row in every)
    yield from ("", f"{changed} rows change, {better} of them for the better.")


TABLES = {"agreement": agreement, "effects": effects, "truth": truth}
