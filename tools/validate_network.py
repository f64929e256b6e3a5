#!/usr/bin/env python3
"""Writes docs/validation/network.md: what sharing the network does to a step.

Every figure is printed by a command that the page shows. Checks that shared links and flows agree
on fabrics that never block, that nothing is faster than alone, and that effects known from
published work come out in the right direction; exits with 1 where one does not.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

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


class Runs:
    def __init__(self, program):
        self.program = program
        self.commands = []

    def simulate(self, arguments, network, *options):
        command = [self.program, "simulate", *arguments, "--network", network, *options, "--json"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        return json.loads(done.stdout)


def seconds(value):
    return f"{value:.4f}"


def agreement(runs, failures):
    lines = ["| job | alone s | shared s | flows s | shared over flows |", "|---|---:|---:|---:|---:|"]
    for name, arguments in SYMMETRIC:
        alone, shared, flows = (runs.simulate(arguments, network)["step_time_s"]
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


def effects(runs, failures, folder):
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
        answer = runs.simulate(arguments, network, *options)
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
    inside = runs.simulate(dense, "shared", "--set", "plan.tp=8", "--set", "plan.dp=4")
    across = runs.simulate(dense, "shared", "--set", "plan.tp=16", "--set", "plan.dp=2")
    add("tensor parallelism over two nodes against one (tp 16, tp 8)", "--set plan.tp=16",
        across["step_time_s"], inside["step_time_s"],
        "Megatron-LM (arXiv 2104.04473, 5.4): tensor parallelism belongs inside a node", 1.5)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/orrery")
    parser.add_argument("--write", help="the page; without it the tables are printed")
    arguments = parser.parse_args()
    runs = Runs(str((ROOT / arguments.program).resolve()))
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join([
            "# The network in a step", "",
            "Written by `tools/validate_network.py --write docs/validation/network.md`. What the models do: "
            "docs/design/0018-network-sharing.md.", "",
            "## Shared links and flows agree where nothing blocks", "",
            "`orrery simulate JOB --network alone|shared|flows`, on rail-optimised fabrics with full bisection; mark 2 %.",
            "", *agreement(runs, failures), "",
            "## Known effects", "",
            "Time of transfers on 64 GPUs (eight DGX H100, switches of 16 ports), and of steps in the last line.", "",
            *effects(runs, failures, folder), ""])
    if arguments.write:
        (ROOT / arguments.write).write_text(text)
    else:
        print(text)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
