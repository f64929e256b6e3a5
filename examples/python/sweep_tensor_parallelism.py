#!/usr/bin/env python3
"""Simulates a job with several degrees of tensor parallelism, prints a table and draws it.

    examples/python/sweep_tensor_parallelism.py examples/llama3-70b-512-h100.yaml [--tp 1 2 4 8] [--set plan.pp=8] [--plot sweep.png]

--plot needs matplotlib.
"""
import argparse

import orrery


def settings_of(texts):
    """`["plan.pp=8"]` as keywords of simulate."""
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise SystemExit(f"sweep_tensor_parallelism: --set {text}: KEY=VALUE is needed")
        settings[key] = value
    return settings


def sweep(job, degrees, settings):
    """[(tp, result or None, why not)]."""
    rows = []
    for tp in degrees:
        try:
            rows.append((tp, orrery.simulate(job, **{**settings, "plan.tp": tp}), ""))
        except orrery.Error as error:
            rows.append((tp, None, str(error)))
    return rows


def print_table(rows):
    print("tp   step         80 % interval    MFU     memory  exposed communication")
    for tp, result, why in rows:
        if result is None:
            print(f"{tp:2}   {why}")
            continue
        fits = "  does not fit" if result["out_of_memory"] else ""
        share = result["exposed_communication_s"] / result["step_time_s"]
        print(f"{tp:2}  {result['step_time_s']:7.2f} s  {result['low_s']:6.2f} to {result['high_s']:6.2f} s  {result['mfu']:5.1%}  "
              f"{result['memory_needed_bytes'] / 1e9:6.1f} GB  {share:6.1%}{fits}")


def plot(rows, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    drawn = [(tp, result) for tp, result, _ in rows if result is not None]
    times = [result["step_time_s"] for _, result in drawn]
    below = [result["step_time_s"] - result["low_s"] for _, result in drawn]
    above = [result["high_s"] - result["step_time_s"] for _, result in drawn]
    bars = pyplot.bar([str(tp) for tp, _ in drawn], times, yerr=[below, above])
    for bar, (_, result) in zip(bars, drawn):
        if result["out_of_memory"]:
            bar.set_hatch("//")
    pyplot.xlabel("tensor parallelism (hatched: does not fit into memory)")
    pyplot.ylabel("step, s")
    pyplot.savefig(path)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job")
    parser.add_argument("--tp", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="other settings of the job")
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args()
    rows = sweep(options.job, options.tp, settings_of(options.set))
    print_table(rows)
    fitting = [(result["step_time_s"], tp) for tp, result, _ in rows if result is not None and not result["out_of_memory"]]
    if fitting:
        print(f"fastest that fits: tp {min(fitting)[1]}")
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
