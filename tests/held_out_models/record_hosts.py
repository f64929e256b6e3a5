#!/usr/bin/env python3
"""Records host-bound held-out models in several processes, each with the speed of its host and its steps without a profiler.

    tests/held_out_models/record_hosts.py FOLDER [--processes 3]

For each process: the host's costs (capture/host), then for each model steps, a recording, steps again. The first process also
records three models with other options of the profiler: what it takes for an event depends on them.
"""

import argparse
import csv
import gc
import json
import pathlib
import shutil
import subprocess
import sys
import time
import traceback

_HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parents[1] / "capture")]

import record  # noqa: E402

MODELS = ("moe-host-routing", "accumulated-gradients", "policy-gradient", "translation-model", "low-rank-adapters",
          "state-space-scan", "recommender", "scaled-mixed-precision", "small-convnet")
WITH_OPTIONS = ("accumulated-gradients", "scaled-mixed-precision", "recommender")
OPTIONS = {"plain": {"record_shapes": False}, "shapes": {"record_shapes": True},
           "stacks": {"record_shapes": True, "with_stack": True}, "memory": {"record_shapes": True, "profile_memory": True}}


def profile(step, path, **options):
    from torch.profiler import ProfilerActivity, schedule
    import torch
    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                                schedule=schedule(wait=1, warmup=1, active=record.ACTIVE),
                                on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)), **options) as profiler:
        for _ in range(2 + record.ACTIVE):
            step()
            profiler.step()


def run_process(folder, number):
    import torch
    from catalogue import MODELS as BUILD
    from host import command_line as host
    about, costs, _ = host.measured(6.0)
    (folder / f"host-{number}.json").write_text(json.dumps({**about, "costs": costs}, indent=1) + "\n")
    rows = []
    for name in MODELS:
        begin = time.time()
        try:
            torch.manual_seed(1)
            step = BUILD[name]()
            before = record.measure(step)
            record.profile(step, folder, f"{name}.{number}")
            after = record.measure(step)
            rows.append({"process": number, "model": name, "options": "usual", **before,
                         "after_ms": after["step_ms"], "after_issue_ms": after["issue_ms"]})
            if number == 1 and name in WITH_OPTIONS:
                for word, options in OPTIONS.items():
                    profile(step, folder / f"{name}.{word}.kineto.json", **options)
            print(rows[-1], f"{time.time() - begin:.1f} s", flush=True)
        except Exception:  # one model that fails must not cost the recordings of the others
            traceback.print_exc()
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()
    with open(folder / f"steps-{number}.csv", "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--process", type=int, help="run as this process")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.process:
        run_process(options.folder, options.process)
        return
    (options.folder / "machine.json").write_text(json.dumps(record.machine(), indent=1) + "\n")
    shutil.copyfile("/proc/cpuinfo", options.folder / "cpuinfo.txt")
    for number in range(1, options.processes + 1):
        subprocess.run([sys.executable, __file__, str(options.folder), "--process", str(number)], check=False)


if __name__ == "__main__":
    main()
