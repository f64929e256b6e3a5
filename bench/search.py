#!/usr/bin/env python3
"""Measures the speed of plan search.

    bench/search.py --build build [--calculon CHECKOUT] [--write docs/validation/search-speed.md]

The usual space of Llama 3 70B on 512 H100s; simulated plans on 1,024 GPUs, in the usual space and where small micro-batches make
simulations long; GPT-530B on 4,096 A100s in the space of Calculon (Isaev et al., 2023), beside Calculon itself where the path of a
checkout is given. Prints a table and exits with 1 when a limit is missed. Limits apply to wall time on two cores: on a busy machine
look at the CPU time, and at the printed load average.
"""

import argparse
import itertools
import json
import logging
import pathlib
import random
import sys
import tempfile
import time

from limits import Report, load_text, write_measured
from timed_process import run_timed

LLAMA = pathlib.Path(__file__).parent.parent / "examples/llama3-70b-512-h100.yaml"
MILLISECONDS = 1e3

# Nothing is pruned by time where more plans are kept than there are.
PLAYED = ("search: {plan.tp: [4, 8], plan.pp: [2, 4, 8], plan.schedule: [1f1b, interleaved], plan.chunks: [5], "
          "plan.sharding: [zero1, zero3], plan.recompute: [none, full]}\n")

GPT_530B = {"hidden": 20480, "feedforward": 81920, "seq_size": 2048, "attn_heads": 128, "attn_size": 160, "num_blocks": 105}
GPUS = 4096
BATCH = 4096
# The dimensions that Calculon and Orrery have in common, as Calculon enumerates them.
SPACE = {
    "plan.tp": [1, 2, 4, 8, 16, 32, 64, 128],
    "plan.pp": [1, 2, 4, 8, 16, 32, 64],
    "training.micro_batch": [2**i for i in range(13)],
    "plan.recompute": ["none", "selective", "full"],
    "plan.sharding": ["none", "zero1"],
    "plan.sequence_parallel": ["false", "true"],
}
GPT_JOB = f"""name: GPT-530B
model: {{hidden: 20480, layers: 105, heads: 128, ffn: 81920, vocabulary: 51200}}
training: {{sequence: 2048, micro_batch: 1, global_batch: {BATCH}, precision: bf16}}
cluster: DGX A100
gpus: {GPUS}
framework: megatron-lm
"""


def search(program, job, *words):
    run = run_timed([program, "search", job, "--json", *words])
    run.answer = json.loads(run.output)
    return run


def add_default_space(report, program):
    run = search(program, LLAMA)
    considered = run.answer["considered"]
    name = "Llama 3 70B on 512 H100s, usual space"
    report.add(f"{name}: plans", considered, "plans")
    report.add(f"{name}: simulated", run.answer["played"], "plans")
    report.add(f"{name}: wall time", run.seconds, "s", most=60)
    report.add(f"{name}: CPU time", run.cpu_seconds, "s")
    report.add(f"{name}: memory", run.peak_bytes / 1e9, "GB")
    report.add(f"{name}: a plan", MILLISECONDS * run.seconds / considered, "ms", most=0.3)


def add_played(report, program, folder):
    """The time of a simulated plan: the difference between two searches of the same space that simulate more and fewer plans."""
    name = "Llama 3 70B on 1,024 H100s"
    few = search(program, LLAMA, "--gpus", "1024", "--no-reasons")
    many = search(program, LLAMA, "--gpus", "1024", "--no-reasons", "--keep", "300")
    played = many.answer["played"] - few.answer["played"]
    report.add(f"{name}, usual space: simulated for the 300 best and not for the 20 best", played, "plans")
    report.add(f"{name}, usual space: a simulated plan, wall time", MILLISECONDS * (many.seconds - few.seconds) / played, "ms", most=20)
    report.add(f"{name}, usual space: a simulated plan, CPU time",
               MILLISECONDS * (many.cpu_seconds - few.cpu_seconds) / played, "ms")
    job = folder / "played.yaml"
    job.write_text(LLAMA.read_text() + PLAYED)
    words = ("--gpus", "1024", "--keep", "10000", "--threads", "1", "--no-reasons")
    many = search(program, job, *words)
    few = search(program, job, *words, "--set", "plan.tp=4", "--set", "plan.recompute=none", "--set", "plan.sharding=zero1",
                 "--set", "plan.pp=4")
    played = many.answer["played"] - few.answer["played"]
    report.add(f"{name}, all of {many.answer['considered']} plans with micro-batches of 1: a simulated plan, CPU time",
               MILLISECONDS * (many.cpu_seconds - few.cpu_seconds) / played, "ms")


def plans():
    """The same plans for Calculon: the keys of its executions that differ."""
    for tp, pp, batch, recompute, sharding, sequence in itertools.product(*SPACE.values()):
        dp = GPUS // (tp * pp)
        if tp * pp > GPUS or BATCH % (dp * batch) != 0:
            continue
        if (sequence == "true" and tp == 1) or (sharding == "zero1" and dp == 1):
            continue
        yield {"tensor_par": tp, "pipeline_par": pp, "data_par": dp, "microbatch_size": batch,
               "activation_recompute": {"none": "none", "selective": "attn_only", "full": "full"}[recompute],
               "optimizer_sharding": sharding == "zero1", "tensor_par_comm_type": "rs_ag" if sequence == "true" else "ar"}


def calculon_seconds(checkout, some):
    """Calculon's mean time for a plan."""
    sys.path.insert(0, str(checkout))
    from calculon.llm import Llm  # noqa: PLC0415
    from calculon.system import System  # noqa: PLC0415

    logger = logging.Logger("calculon")
    system = System(json.loads((checkout / "systems/a100_80g.json").read_text()), logger)
    application = Llm.Application(GPT_530B)
    begin = time.perf_counter()
    for plan in some:
        execution = {"num_procs": GPUS, "tensor_par_net": 0, "pipeline_par_net": 1, "data_par_net": 1, "batch_size": BATCH,
                     "datatype": "float16", "fused_activation": True, "attention_type": "multihead", "pipeline_interleaving": 1,
                     "tensor_par_overlap": "none", "seq_par_ag_redo": False, "data_par_overlap": False, "weight_offload": False,
                     "activations_offload": False, "optimizer_offload": False, "training": True, **plan}
        model = Llm(application, logger)
        try:
            model.compile(system, Llm.Execution(execution))
            model.run(system)
            model.get_stats_json(False)
        except Llm.Error:
            pass  # does not fit, as many of ours
    return (time.perf_counter() - begin) / len(some)


def add_calculon(report, program, folder, checkout):
    job = folder / "gpt.yaml"
    values = ", ".join(f"{key}: [{', '.join(map(str, own))}]" for key, own in SPACE.items())
    job.write_text(f"{GPT_JOB}search: {{{values}}}\n")
    run = search(program, job, "--threads", "1", "--keep", "1", "--no-reasons", "--set", "cluster.nodes=0")
    own = run.seconds / run.answer["considered"]
    report.add("GPT-530B on 4,096 A100s: plans", run.answer["considered"], "plans")
    report.add("GPT-530B on 4,096 A100s: simulated", run.answer["played"], "plans")
    report.add("GPT-530B on 4,096 A100s: a plan on one core", MILLISECONDS * own, "ms")
    if checkout:
        every = list(plans())
        random.Random(1).shuffle(every)
        other = calculon_seconds(checkout, every[:500])
        report.add("Calculon, 500 of its plans, on one core: a plan", MILLISECONDS * other, "ms")
        report.add("Calculon's time for a plan over ours", other / own, "times", least=10)


def write(path, report, load):
    write_measured(path, "make bench-search", "# Search speed\n\nGenerated by `make bench-search` (`CALCULON=checkout` to compare with). Times are those of the whole "
                    "program, with start-up and loading of\nkernel models. Limits apply to wall time on two cores. Load average before the "
                    f"run: {load}.\n\n{report.markdown()}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--calculon", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    report = Report()
    load = load_text()
    print(f"Load average: {load}.")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        add_calculon(report, arguments.build / "orrery", folder, arguments.calculon)
        add_played(report, arguments.build / "orrery", folder)
        add_default_space(report, arguments.build / "orrery")
    print(report.text())
    if arguments.write:
        write(arguments.write, report, load)
    sys.exit(0 if report.is_met else 1)


if __name__ == "__main__":
    main()
