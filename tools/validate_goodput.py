#!/usr/bin/env python3
"""Compares `orrery goodput` with formulas and with published runs.

    tools/validate_goodput.py --program build/orrery [--write docs/validation/goodput.md]

Formulas are evaluated here, independently of the program. Of published runs all that is published is given to the program; for what is
not, the ends of a range are, and the residual is the distance of the published value from what they give.
"""

import math
import time

import validation
from validation import ROOT

JOBS = ROOT / "tests" / "golden" / "goodput" / "published.files"
DAY = 86400
# Nothing but the rate matters: one cause, nodes return at once, and there are spares enough.
PLAIN = ("--spares", "1000", "--repair", "0s", "--detect", "0s")


def goodput(program, job, *options):
    return validation.run_json(program, "goodput", JOBS / f"{job}.yaml", *options)


def percent(value):
    return f"{100 * value:.1f} %"


def formula_rows(program):
    """(nodes, failures of 1,000 nodes a day, minutes between checkpoints, seconds of one, seconds of a restart)."""
    for nodes, rate, minutes, stall, restart in (
            (2048, 6.50, 10, 10, 120), (2048, 6.50, 15, 20, 300), (2048, 2.34, 15, 20, 300), (2048, 2.34, 30, 60, 300),
            (2048, 1.00, 60, 120, 300), (2048, 0.50, 60, 300, 600)):
        per_s = nodes * rate / 1000 / DAY
        # The checkpoint is loaded at the restart as well, for as long as it takes to write.
        answer = goodput(program, "llama3-405b", "--step-time", "6s", "--node-mtbf", f"{1000 / rate}d", *PLAIN, "--checkpoint",
                         f"{minutes}m", "--checkpoint-size", f"{stall}TB", "--storage", "1TB/s", "--restart", f"{restart - stall}s"
                         if restart > stall else "0s", "--runs", "400")
        down = max(restart, stall)
        closed = (1 - per_s * (down + 30 * minutes)) / (1 + stall / (60 * minutes))
        yield (f"{nodes}", f"{rate:.2f}", f"{minutes} min", f"{stall} s", f"{down} s", percent(closed), percent(answer["ettr_mean"]),
               f"{100 * (answer['ettr_mean'] / closed - 1):+.2f} %")


def formula_table(program):
    yield validation.line("nodes", "failures of 1,000 nodes a day", "interval", "checkpoint", "restart with load", "Kokolis et al.",
                          "simulated", "difference")
    yield "|---:|" + "---:|" * 7
    for row in formula_rows(program):
        yield validation.line(*row)


def optimum_table(program):
    yield validation.line("time between failures", "checkpoint", "chosen", "Young", "", "Daly", "", "best of 41 simulated")
    yield "|---:|" + "---:|" * 7
    for hours, stall in ((0.5, 2), (1.8, 10), (2.78, 28), (7.9, 60), (28.8, 120)):
        mtbf = 3600 * hours
        options = ("--step-time", "1s", "--node-mtbf", f"{2048 * mtbf}s", *PLAIN, "--checkpoint-size", f"{stall}TB", "--storage",
                   "1TB/s", "--restart", "300s", "--runs", "200")
        answer = goodput(program, "llama3-405b", *options)
        chosen = answer["checkpoint_interval_s"]
        young = math.sqrt(2 * stall * mtbf)
        ratio = stall / (2 * mtbf)
        daly = young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - stall
        tried = {}
        for i in range(-20, 21):
            interval = chosen * 1.05 ** i
            tried[interval] = goodput(program, "llama3-405b", *options, "--checkpoint", f"{interval}s")["ettr_mean"]
        best = max(tried, key=tried.get)
        yield validation.line(f"{hours} h", f"{stall} s", f"{chosen:.0f} s", f"{young:.0f} s", f"{100 * (chosen / young - 1):+.1f} %",
                              f"{daly:.0f} s", f"{100 * (chosen / daly - 1):+.1f} %",
                              f"{best:.0f} s, {100 * (tried[best] - answer['ettr_mean']):+.2f} points")


def residual(published, values):
    low, high = min(values), max(values)
    if published < low:
        return f"{100 * (low - published):+.1f} points"
    return "inside" if published <= high else f"{100 * (high - published):+.1f} points"


def downtime_for(ettr, run):
    """Minutes from failure to running again that give an effective training time; `run` takes options."""
    low, high = 0.0, 48 * 60.0
    for _ in range(24):
        middle = (low + high) / 2
        if run("--restart", f"{middle}m")["ettr_mean"] > ettr:
            low = middle
        else:
            high = middle
    return low


def llama(program):
    common = ("--days", "54", "--step-time", "6.2s", "--storage", "2TB/s", "--runs", "300")
    values = {}
    for restart, detect in (("2m", "1m"), ("5m", "2m"), ("8m", "2m"), ("12m", "3m")):
        answer = goodput(program, "llama3-405b", *common, "--restart", restart, "--detect", detect)
        values[f"{restart} + {detect}"] = answer["ettr_mean"]
        interruptions = answer["failures"]
    limit = downtime_for(0.9, lambda *more: goodput(program, "llama3-405b", *common, "--detect", "0s", *more))
    return {"run": "Llama 3 405B, 54 days, 16,384 H100s", "published": "more than 90 %",
            "given": "419 unexpected interruptions by cause (in sample), storage of 2 TB/s, 400 TFLOP/s a GPU (steps of 6.2 s)",
            "range": "restart and detection 3 to 15 min, checkpoints at the best interval; enough spares (24,000 GPUs)",
            "values": list(values.values()),
            "residual": f"above 90 % up to {limit:.0f} min from failure to running; {interruptions:.0f} interruptions"}


def rsc(program):
    rows = []
    for gpus, published, kind in ((1024, 7.9, "observed"), (16384, 1.8, "projected"), (131072, 0.23, "projected")):
        # Only the number of nodes matters: dp makes it up.
        answer = goodput(program, "llama3-405b", "--set", f"gpus={gpus}", "--set", f"plan.dp={gpus // 128}", "--set",
                         f"training.global_batch={gpus // 8}", "--set", "cluster.nodes=0",
                         "--step-time", "6s", "--failures", "rsc-1", "--runs", "1")
        hours = answer["mtbf_s"] / 3600
        rows.append(validation.line(f"RSC-1, {gpus:,} GPUs: time to failure", f"{published} h ({kind})", "6.50 failures of 1,000 nodes a day",
                                    "–", f"{hours:.2f} h", f"{100 * (hours / published - 1):+.0f} %"))
    return rows


def rsc_ettr(program):
    """Runs of more than 1,024 GPUs: about 0.9."""
    values = []
    for gpus in (2048, 4096):
        for minutes, stall in ((60, 300), (30, 60)):
            values.append(goodput(
                program, "llama3-405b", "--set", f"gpus={gpus}", "--set", f"plan.dp={gpus // 128}", "--set",
                f"training.global_batch={gpus // 8}", "--step-time", "6s", "--failures", "rsc-1", "--checkpoint", f"{minutes}m",
                "--checkpoint-size", f"{stall}TB", "--storage", "1TB/s", "--restart", "5m", "--runs", "300")["ettr_mean"])
    return {"run": "RSC-1, runs of more than 1,024 GPUs", "published": "about 0.9", "given": "6.50 failures of 1,000 nodes a day",
            "range": "2,048 and 4,096 GPUs; checkpoints of 5 min an hour, of 1 min in 30; restart of 5 min and the load", "values": values,
            "residual": residual(0.9, values)}


def byterobust(program):
    # 0.9 % of a step for a checkpoint of every step: 90 ms of 10 s.
    common = ("--days", "90", "--step-time", "10s", "--checkpoint", "10s", "--checkpoint-size", "90GB", "--storage", "1TB/s",
              "--detect", "30s", "--runs", "300")
    values = []
    for rates in ("rsc-2", "llama3-405b", "rsc-1"):
        for restart in ("2m", "8m"):
            values.append(goodput(program, "byterobust", *common, "--failures", rates, "--restart", restart)["ettr_mean"])
    return {"run": "ByteRobust, dense, three months, 9,600 H100s", "published": "97 %",
            "given": "every step checkpointed for 0.9 % of it, faults detected within 30 s, warm standby",
            "range": "2.3 (RSC-2) to 6.5 (RSC-1) failures of 1,000 nodes a day, restart 2 to 8 min; a step of 10 s", "values": values,
            "residual": residual(0.97, values)}


def opt(program):
    # November 11 to January 6: 56 days, of which 33 on 1,024 GPUs would have been enough; 34.1 on 992.
    published = 33 * 1024 / 992 / 56
    common = ("--days", "56", "--step-time", "19.9s", "--checkpoint-size", "1.6TB", "--spares", "12", "--detect", "0s", "--repair", "12h",
              "--runs", "300")
    values = []
    for restarts in (90, 105):
        for interval, restart in (("1h", "30m"), ("3h", "4h")):
            values.append(goodput(program, "opt-175b", *common, "--node-mtbf", f"{124 * 56 / restarts}d", "--checkpoint", interval,
                                  "--restart", restart)["ettr_mean"])
    limit = downtime_for(published, lambda *more: goodput(
        program, "opt-175b", *common, "--node-mtbf", f"{124 * 56 / 97}d", "--checkpoint", "2h", *more))
    return {"run": "OPT-175B, 56 days, 992 A100s", "published": f"{100 * published:.0f} % (33 days of 1,024 GPUs in 56 days)",
            "given": "35 manual and about 70 automatic restarts (paper), about 90 (log); checkpoints of 1.6 TB; 12 spares of the last weeks",
            "range": "checkpoints every 1 to 3 h, restarts of 30 min to 4 h (\"hours\", log); repair 12 h", "values": values,
            "residual": f"{residual(published, values)}; it takes {limit / 60:.1f} h a restart"}


def published_table(program):
    yield validation.line("run", "published", "given", "range for what is not published", "simulated", "residual")
    yield "|---|---:|---|---|---:|---|"
    yield from rsc(program)
    for row in (rsc_ettr(program), llama(program), byterobust(program), opt(program)):
        low, high = min(row["values"]), max(row["values"])
        yield validation.line(row["run"], row["published"], row["given"], row["range"], f"{100 * low:.1f} to {100 * high:.1f} %",
                              row["residual"])


def speed_table(program):
    start = time.monotonic()
    goodput(program, "llama3-405b", "--step-time", "6.2s", "--spares", "16", "--checkpoint", "10m", "--threads", "1", "--runs", "100")
    middle = time.monotonic()
    goodput(program, "llama3-405b", "--step-time", "6.2s", "--spares", "16", "--checkpoint", "10m", "--threads", "1", "--runs", "10100")
    seconds = time.monotonic() - middle - (middle - start)
    yield validation.line("job", "months", "one thread", "months a minute")
    yield "|---|---:|---:|---:|"
    yield validation.line("16,384 GPUs, 30 days", "10,000", f"{seconds:.2f} s", f"{60 * 10000 / seconds:,.0f}")


def main():
    arguments = validation.parser(__doc__).parse_args()
    program = arguments.program
    validation.fill(arguments.write, {
        "formula": list(formula_table(program)), "optimum": list(optimum_table(program)),
        "published runs": list(published_table(program)), "speed": list(speed_table(program))})


if __name__ == "__main__":
    main()
