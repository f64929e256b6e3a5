"""Simulates every plan of the space and compares the best with those of a search: brute_force.py PROGRAM JOB."""
import itertools
import json
import subprocess
import sys

program, job = sys.argv[1:]


def run(*arguments):
    done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


plans = []
for tp, pp, (schedule, chunks), sharding, micro_batch, recompute in itertools.product(
        (1, 2, 4), (1, 2, 4), (("1f1b", 1), ("interleaved", 2)), ("zero1", "zero3"), (1, 2), ("none", "full")):
    if pp == 1 and schedule != "1f1b":
        continue
    settings = [f"plan.tp={tp}", f"plan.pp={pp}", f"plan.schedule={schedule}", f"plan.chunks={chunks}",
                f"plan.sharding={sharding}", f"training.micro_batch={micro_batch}", f"plan.recompute={recompute}"]
    answer = run("simulate", job, *itertools.chain.from_iterable(("--set", setting) for setting in settings))
    if answer and not answer["out_of_memory"]:
        plans.append(round(answer["step_time_s"], 12))
found = [round(plan["step_s"], 12) for plan in run("search", job, "--keep", "5")["best"]]
print("same" if sorted(plans)[:5] == found else f"simulated {sorted(plans)[:5]}, found {found}", "of", len(plans), "plans")
