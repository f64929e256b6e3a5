#!/usr/bin/env python3
"""The effect of sharing the network on a step: the tables of docs/validation/network.md.

tools/validate_network.py --program build/orrery [--write FILE]. Checks that shared links and flows agree on fabrics that
never block, that nothing is faster than alone, and that effects known from published work come out in the right direction;
exits with 1 where one does not. With --truth the table of measured runs instead.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

import validation
from validation import GRADES, ROOT, line

MIXTRAL = ["examples/mixtral-8x7b-64-h100.yaml"]
SYMMETRIC = [
    ("Llama 3 8B, FSDP", ["examples/llama3-8b-fsdp-64-h100.yaml"]),
    ("Mixtral 8x7B, ep 8 pp 4", MIXTRAL),
    ("Mixtral 8x7B, ep over two nodes", MIXTRAL + ["--set", "plan.tp=2", "--set", "plan.dp=8"]),
    ("GPT 70B, tp 8 pp 4 dp 3", ["examples/echo-gpt-70b-96-h800.yaml"]),
    ("Llama 3 70B, tp 4 pp 4 dp 16", ["examples/llama3-70b-512-h100.yaml", "--set", "gpus=256",
                                      "--set", "plan.dp=16", "--set",
                                      "training.global_batch=512"]),
]

# All-to-all of all GPUs, little else: what the fabric does to it is what the step shows.
ALL_TO_ALL = """model: {layers: 2, hidden: 4096, heads: 32, ffn: 4096, vocabulary: 32000,
  experts: 64, experts_per_token: 8, expert_ffn: 1024}
training: {sequence: 4096, micro_batch: 1, global_batch: 64}
plan: {ep: 64, dp: 64}
gpus: 64
framework: megatron-lm
cluster:
"""
# Rings over nodes, each of which has a first switch of its own.
SHARDED = """model: llama3-8b
training: {sequence: 8192, micro_batch: 1, global_batch: 64}
plan: {sharding: zero3}
gpus: 64
framework: torch-fsdp
cluster: {name: DGX H100, fabric: {preset: fat_tree, radix: 16, levels: 2}}
"""
DENSE = """model: llama3-8b
training: {sequence: 8192, micro_batch: 1, global_batch: 32}
gpus: 32
framework: megatron-lm
cluster: DGX H100
"""


NOTABLE = 0.05  # points of MAPE by which a source must change to have a line of its own

# Two jobs on cables of their own: tests/golden/simulate/network.case.
PAUSED = ROOT / "tests" / "golden" / "simulate" / "network.files"


def simulate(program, arguments, network, *options):
    paths = [ROOT / arguments[0], *arguments[1:]]
    return validation.run_json(program, "simulate", *paths, "--network", network, *options)


def seconds(value):
    return f"{value:.4f}"


def agreement(program, failures):
    lines = ["| job | alone s | shared s | flows s | shared over flows |", "|---|---:|---:|---:|---:|"]
    for name, arguments in SYMMETRIC:
        alone, shared, flows = (simulate(program, arguments, network)["step_time_s"]
                                for network in ("alone", "shared", "flows"))
        difference = shared / flows - 1
        lines.append(f"| {name} | {seconds(alone)} | {seconds(shared)} | {seconds(flows)} "
                     f"| {100 * difference:+.3f} % |")
        if abs(difference) > 0.02:
            failures.append(f"{name}: shared and flows differ by {100 * difference:.2f} %")
    return lines


def job_file(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    return [str(path)]


def ratio_line(name, command, slow, fast, source):
    return f"| {name} | `{command}` | {slow / fast:.2f} | {source} |"


def effects(program, failures, folder):
    lines = ["| effect | options | slower by a factor of | what is known |", "|---|---|---:|---|"]

    def add(name, options, slow, fast, source, least):
        lines.append(ratio_line(name, options, slow, fast, source))
        if slow / fast < least:
            failures.append(f"{name}: {slow / fast:.3f}, expected at least {least}")

    tree = job_file(folder, "all_to_all.yaml", ALL_TO_ALL
                    + "  {name: DGX H100, fabric: {preset: fat_tree, radix: 16, levels: 2}}\n")
    rails = job_file(folder, "rails.yaml", ALL_TO_ALL + "  {name: DGX H100, fabric: "
                     "{preset: rail_optimised, radix: 16, nodes_per_block: 4}}\n")

    sharded = job_file(folder, "sharded.yaml", SHARDED)

    def exchange(arguments, network="flows", *options, dimension="ep"):
        answer = simulate(program, arguments, network, *options)
        return sum(entry["transfer_s"] for entry in answer["communication"]
                   if entry["dimension"] == dimension)

    def mean_hashed(arguments, dimension):
        return sum(exchange(arguments, "flows", "--routing", "hash", "--routing-seed", str(seed),
                            dimension=dimension) for seed in range(5)) / 5

    adaptive = exchange(tree)
    hashed = mean_hashed(tree, "ep")
    add("ECMP against adaptive routing, rings of 64 GPUs (FSDP), mean of five seeds",
        "--routing hash", mean_hashed(sharded, "dp"), exchange(sharded, dimension="dp"),
        "eight flows hashed to eight links: the busiest has 2.6 of them on average (computed), and "
        "a ring waits for its slowest link", 1.5)
    add("the same for all-to-all", "--routing hash", hashed, adaptive,
        "many small flows spread more evenly than few large ones", 1.02)
    add("7:1 against 1:1 above the first switches, the same", "--oversubscribe 7",
        exchange(tree, "shared", "--oversubscribe", "7"), exchange(tree, "shared"),
        "Llama 3 (arXiv 2407.21783, 3.3.1) has 7:1 between its pods and plans its parallelism "
        "around it; what leaves a switch is slower by at most that", 1.5)
    add("the same with flows", "--network flows --oversubscribe 7",
        exchange(tree, "flows", "--oversubscribe", "7"), adaptive, "", 1.5)
    add("plain fat tree against rails, all-to-all, both with ECMP", "--routing hash",
        hashed, mean_hashed(rails, "ep"),
        "a rail-optimised fabric keeps traffic of equal local ranks under one switch; with PXN all "
        "of an all-to-all inside a block", 1.05)
    dense = job_file(folder, "dense.yaml", DENSE)
    inside = simulate(program, dense, "shared", "--set", "plan.tp=8", "--set", "plan.dp=4")
    across = simulate(program, dense, "shared", "--set", "plan.tp=16", "--set", "plan.dp=2")
    add("tensor parallelism over two nodes against one (tp 16, tp 8)", "--set plan.tp=16",
        across["step_time_s"], inside["step_time_s"],
        # A hop of 81 us, fitted to large messages over two nodes, made it 1.7. NICs of 400 GB/s a node beside NVLink of 450 leave less.
        "Megatron-LM (arXiv 2104.04473, 5.4): tensor parallelism belongs inside a node", 1.3)
    cables = subprocess.run([sys.executable, PAUSED / "victim.py"], capture_output=True, text=True,
                            check=True).stdout
    pair = [str(PAUSED / "cause.yaml"), str(PAUSED / "victim.yaml"), "--placement", "0-1/2-3",
            "--topology", *job_file(folder, "cables.yaml", cables)]
    plain, paused = (simulate(program, pair, "flows", "--congestion", congestion)["jobs"]
                     for congestion in ("none", "lossless"))
    add("pause frames: a job that shares a cable with one that waits behind it for another cable",
        "--congestion lossless", paused[1]["step_time_s"], plain[1]["step_time_s"],
        "DCQCN (Zhu et al., SIGCOMM 2015, 2.2): a victim of PFC gets 10 Gb/s where 20 are left, as "
        "`PauseTest.VictimOfFourSendersGetsTenOfTwentyGigabits` does; compute hides a part here",
        1.2)
    if paused[0]["step_time_s"] != plain[0]["step_time_s"]:
        failures.append("pause frames: the job that causes them takes another time")
    return lines


def errors_of(result):
    """{id of a row: error of its prediction in percent, without its sign}"""
    return {row["id"]: abs(100 * (row["predicted_s"] / row["measured_s"] - 1)) for row in result["predictions"]}


def error_line(name, ids, alone, shared):
    of_alone, of_shared = (statistics.fmean(errors[row] for row in ids) for errors in (alone, shared))
    return line(name, len(ids), f"{of_alone:.2f}", f"{of_shared:.2f}", f"{of_shared - of_alone:+.2f}")


def truth(table, result_alone, result_shared):
    """Sources whose error changes, the most improved first, and one line for all others."""
    alone, shared = errors_of(result_alone), errors_of(result_shared)
    ids_of_source = {}
    for row in validation.rows_of(table):
        if row["id"] in alone and row["id"] in shared:
            ids_of_source.setdefault(row["source"], []).append(row["id"])
    change = {source: statistics.fmean(shared[row] - alone[row] for row in ids) for source, ids in ids_of_source.items()}
    notable = sorted((source for source in change if abs(change[source]) > NOTABLE), key=lambda source: (change[source], source))
    others = [row for source, ids in ids_of_source.items() if source not in notable for row in ids]
    yield line("source", "rows", "MAPE alone %", "MAPE shared %", "difference")
    yield "|---|---:|---:|---:|---:|"
    for source in notable:
        yield error_line(source, ids_of_source[source], alone, shared)
    yield error_line(f"{len(ids_of_source) - len(notable)} others, each within {NOTABLE}", others, alone, shared)
    yield error_line("all", [row for ids in ids_of_source.values() for row in ids], alone, shared)
    yield ""
    changed = sum(alone[row] != shared[row] for ids in ids_of_source.values() for row in ids)
    better = sum(shared[row] < alone[row] for ids in ids_of_source.values() for row in ids)
    yield f"{changed} rows change, {better} of them for the better."


def main():
    parser = validation.parser(__doc__)
    parser.add_argument("--truth", type=pathlib.Path, metavar="TABLE",
                        help="only the comparison on this table of measured runs: two runs of validate, some minutes each")
    options = parser.parse_args()
    if options.truth:
        results = [validation.run_json(options.program, "validate", options.truth, "--grade", GRADES, "--network", network)
                   for network in ("alone", "shared")]
        validation.fill(options.write, {"truth": truth(options.truth, *results)})
        return 0
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        validation.fill(options.write, {"agreement": agreement(options.program, failures),
                                        "effects": effects(options.program, failures, folder)})
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
