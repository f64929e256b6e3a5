#!/usr/bin/env python3
"""Records the held-out models: small models written the way people write them.

    tests/held_out_models/record.py FOLDER [MODEL ...]            steps, execution trace and recording of each model
    tests/held_out_models/record.py FOLDER --steps-only [MODEL …]  the steps alone, for a second process

A step is a thirtieth of 30 steps between two synchronisations, after ten steps to warm up. The recording is made PyTorch's
usual way: the observer of the execution trace is passed to the profiler, which is active for three steps.
"""

import argparse
import csv
import gc
import gzip
import json
import pathlib
import re
import shutil
import statistics
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

WARM_UP, STEPS, ACTIVE = 10, 30, 3


def machine():
    import torch
    driver = re.search(r"\d+\.\d+[.\d]*", pathlib.Path("/proc/driver/nvidia/version").read_text())[0]
    return {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "driver": driver, "python": sys.version.split()[0]}


def measure(step):
    """The mean of steps one behind the other, the median of steps that are each waited for, and the time in which the
    host issues a step that finds the GPU idle."""
    import torch
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    mean_ms = (time.perf_counter() - begin) / STEPS * 1e3
    alone, issue = [], []
    for _ in range(STEPS // 2):
        begin = time.perf_counter()
        step()
        issue.append((time.perf_counter() - begin) * 1e3)
        torch.cuda.synchronize()
        alone.append((time.perf_counter() - begin) * 1e3)
    return {"step_ms": round(mean_ms, 4), "alone_ms": round(statistics.median(alone), 4),
            "issue_ms": round(statistics.median(issue), 4)}


def profile(step, folder, name):
    import torch
    from torch.profiler import ExecutionTraceObserver, ProfilerActivity, schedule
    graph, recording = folder / f"{name}.et.json", folder / f"{name}.kineto.json"
    observer = ExecutionTraceObserver()
    observer.register_callback(str(graph))
    with torch.profiler.profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
            schedule=schedule(wait=1, warmup=1, active=ACTIVE), execution_trace_observer=observer,
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(recording))) as profiler:
        for _ in range(2 + ACTIVE):
            step()
            profiler.step()
    for path in (graph, recording):
        with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb", 9) as packed:
            shutil.copyfileobj(plain, packed)
        path.unlink()


def record(build, folder, name, steps_only):
    import torch
    torch.manual_seed(1)
    torch.cuda.reset_peak_memory_stats()
    step = build()
    row = {"model": name, **measure(step), "peak_bytes": torch.cuda.max_memory_allocated()}
    if not steps_only:
        profile(step, folder, name)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--steps-only", action="store_true")
    parser.add_argument("--development", action="store_true", help="the models of operator_part.py, which are no test")
    parser.add_argument("--process", type=int, default=1, help="the number written beside the steps")
    options = parser.parse_intermixed_args()
    from catalogue import DEVELOPMENT, MODELS
    import torch
    models = DEVELOPMENT if options.development else MODELS
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n")
    rows, failed = [], []
    for name in options.models or models:
        begin = time.time()
        try:
            rows.append({"process": options.process, **record(models[name], options.folder, name, options.steps_only)})
            print(name, rows[-1], f"{time.time() - begin:.1f} s", flush=True)
        except Exception:  # one model that fails must not cost the recordings of the others
            traceback.print_exc()
            failed.append(name)
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()
    with open(options.folder / f"steps-{options.process}.csv", "w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
