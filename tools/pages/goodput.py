"""`orrery goodput` against formulas and published runs.

Formulas are evaluated here, independently of the program. Of published runs all that is published is given to the program; for what is
not, the ends of a range are, and the residual is the distance of the published value from what they give.
"""

import math
import time

from validation import ROOT, answer, table

JOBS = ROOT / "tests" / "golden" / "goodput" / "published.files"
LLAMA, BYTEROBUST, OPT = (JOBS / f"{name}.yaml" for name in ("llama3-405b", "byterobust", "opt-175b"))
DAY = 86400
NODES = 2048
# Nothing but the rate matters: one cause, nodes return at once, and there are spares enough.
PLAIN = "--spares 1000 --repair 0s --detect 0s --storage 1TB/s"


def goodput(program, job, options):
    return answer(program, "goodput", job, *options.split())


def ettr(program, job, options):
    return goodput(program, job, options)["ettr_mean"]


def change(value, known, digits=1):
    return f"{100 * (value / known - 1):+.{digits}f} %"


def formula(program):
    """Of failures of 1,000 nodes a day, minutes between checkpoints, seconds of one, seconds of a restart."""
    rows = []
    for rate, minutes, stall, restart in ((6.50, 10, 10, 120), (6.50, 15, 20, 300), (2.34, 15, 20, 300), (2.34, 30, 60, 300),
                                          (1.00, 60, 120, 300), (0.50, 60, 300, 600)):
        per_s = NODES * rate / 1000 / DAY
        # The checkpoint is loaded at the restart as well, for as long as it takes to write.
        found = ettr(program, LLAMA, f"{PLAIN} --step-time 6s --node-mtbf {1000 / rate}d --checkpoint {minutes}m --checkpoint-size {stall}TB "
                                     f"--restart {restart - stall}s --runs 400")
        closed = (1 - per_s * (restart + 30 * minutes)) / (1 + stall / (60 * minutes))
        rows.append((NODES, f"{rate:.2f}", f"{minutes} min", f"{stall} s", f"{restart} s", f"{100 * closed:.1f} %", f"{100 * found:.1f} %",
                     change(found, closed, 2)))
    return table(">nodes | >failures of 1,000 nodes a day | >interval | >checkpoint | >restart with load | >Kokolis et al. | >simulated "
                 "| >difference", rows)


def optimum(program):
    rows = []
    for hours, stall in ((0.5, 2), (1.8, 10), (2.78, 28), (7.9, 60), (28.8, 120)):
        mtbf = 3600 * hours
        options = f"{PLAIN} --step-time 1s --node-mtbf {NODES * mtbf}s --checkpoint-size {stall}TB --restart 300s --runs 200"
        made = goodput(program, LLAMA, options)
        chosen = made["checkpoint_interval_s"]
        young, ratio = math.sqrt(2 * stall * mtbf), stall / (2 * mtbf)
        daly = young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - stall
        tried = {interval: ettr(program, LLAMA, f"{options} --checkpoint {interval}s")
                 for interval in (chosen * 1.05 ** i for i in range(-20, 21))}
        best = max(tried, key=tried.get)
        rows.append((f"{hours} h", f"{stall} s", f"{chosen:.0f} s", f"{young:.0f} s", change(chosen, young), f"{daly:.0f} s",
                     change(chosen, daly), f"{best:.0f} s, {100 * (tried[best] - made['ettr_mean']):+.2f} points"))
    return table(">time between failures | >checkpoint | >chosen | >Young | > | >Daly | > | >best of 41 simulated", rows)


def published_row(name, published, given, varied, values, residual):
    return name, published, given, varied, f"{100 * min(values):.1f} to {100 * max(values):.1f} %", residual


def points_outside(published, values):
    if published < min(values):
        return f"{100 * (min(values) - published):+.1f} points"
    return "inside" if published <= max(values) else f"{100 * (max(values) - published):+.1f} points"


def downtime_for(wanted, found):
    """Minutes from failure to running again that give an effective training time; `found` takes minutes."""
    low, high = 0.0, 48 * 60.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if found(middle) > wanted else (low, middle)
    return low


def with_gpus(gpus):
    """Only the number of nodes matters: dp makes it up."""
    return f"--set gpus={gpus} --set plan.dp={gpus // 128} --set training.global_batch={gpus // 8} --step-time 6s --failures rsc-1"


def rsc(program):
    for gpus, published, kind in ((1024, 7.9, "observed"), (16384, 1.8, "projected"), (131072, 0.23, "projected")):
        hours = goodput(program, LLAMA, f"{with_gpus(gpus)} --set cluster.nodes=0 --runs 1")["mtbf_s"] / 3600
        yield (f"RSC-1, {gpus:,} GPUs: time to failure", f"{published} h ({kind})", "6.50 failures of 1,000 nodes a day", "–",
               f"{hours:.2f} h", f"{100 * (hours / published - 1):+.0f} %")
    values = [ettr(program, LLAMA, f"{with_gpus(gpus)} --checkpoint {minutes}m --checkpoint-size {stall}TB --storage 1TB/s --restart 5m --runs 300")
              for gpus in (2048, 4096) for minutes, stall in ((60, 300), (30, 60))]
    yield published_row("RSC-1, runs of more than 1,024 GPUs", "about 0.9", "6.50 failures of 1,000 nodes a day",
                        "2,048 and 4,096 GPUs; checkpoints of 5 min an hour, of 1 min in 30; restart of 5 min and the load", values,
                        points_outside(0.9, values))


def llama(program):
    common = "--days 54 --step-time 6.2s --storage 2TB/s --runs 300"
    made = [goodput(program, LLAMA, f"{common} --restart {restart}m --detect {detect}m")
            for restart, detect in ((2, 1), (5, 2), (8, 2), (12, 3))]
    limit = downtime_for(0.9, lambda minutes: ettr(program, LLAMA, f"{common} --detect 0s --restart {minutes}m"))
    return published_row(
        "Llama 3 405B, 54 days, 16,384 H100s", "more than 90 %",
        "419 unexpected interruptions by cause (in sample), storage of 2 TB/s, 400 TFLOP/s a GPU (steps of 6.2 s)",
        "restart and detection 3 to 15 min, checkpoints at the best interval; enough spares (24,000 GPUs)",
        [each["ettr_mean"] for each in made],
        f"above 90 % up to {limit:.0f} min from failure to running; {made[-1]['failures']:.0f} interruptions")


def byterobust(program):
    # 0.9 % of a step for a checkpoint of every step: 90 ms of 10 s.
    common = "--days 90 --step-time 10s --checkpoint 10s --checkpoint-size 90GB --storage 1TB/s --detect 30s --runs 300"
    values = [ettr(program, BYTEROBUST, f"{common} --failures {rates} --restart {restart}")
              for rates in ("rsc-2", "llama3-405b", "rsc-1") for restart in ("2m", "8m")]
    return published_row(
        "ByteRobust, dense, three months, 9,600 H100s", "97 %",
        "every step checkpointed for 0.9 % of it, faults detected within 30 s, warm standby",
        "2.3 (RSC-2) to 6.5 (RSC-1) failures of 1,000 nodes a day, restart 2 to 8 min; a step of 10 s", values, points_outside(0.97, values))


def opt(program):
    # November 11 to January 6: 56 days, of which 33 on 1,024 GPUs would have been enough; 34.1 on 992.
    published = 33 * 1024 / 992 / 56
    common = "--days 56 --step-time 19.9s --checkpoint-size 1.6TB --spares 12 --detect 0s --repair 12h --runs 300"
    values = [ettr(program, OPT, f"{common} --node-mtbf {124 * 56 / restarts}d --checkpoint {interval} --restart {restart}")
              for restarts in (90, 105) for interval, restart in (("1h", "30m"), ("3h", "4h"))]
    limit = downtime_for(published, lambda minutes: ettr(
        program, OPT, f"{common} --node-mtbf {124 * 56 / 97}d --checkpoint 2h --restart {minutes}m"))
    return published_row(
        "OPT-175B, 56 days, 992 A100s", f"{100 * published:.0f} % (33 days of 1,024 GPUs in 56 days)",
        "35 manual and about 70 automatic restarts (paper), about 90 (log); checkpoints of 1.6 TB; 12 spares of the last weeks",
        "checkpoints every 1 to 3 h, restarts of 30 min to 4 h (\"hours\", log); repair 12 h", values,
        f"{points_outside(published, values)}; it takes {limit / 60:.1f} h a restart")


def published_runs(program):
    return table("run | >published | given | range for what is not published | >simulated | residual",
                 [*rsc(program), llama(program), byterobust(program), opt(program)])


def speed(program):
    def seconds(runs):
        started = time.monotonic()
        goodput(program, LLAMA, f"--step-time 6.2s --spares 16 --checkpoint 10m --threads 1 --runs {runs}")
        return time.monotonic() - started

    of_months = -seconds(100) + seconds(10100)
    return table("job | >months | >one thread | >months a minute", [
        ("16,384 GPUs, 30 days", "10,000", f"{of_months:.2f} s", f"{60 * 10000 / of_months:,.0f}")])


TABLES = {"formula": formula, "optimum": optimum, "published runs": published_runs, "speed": speed}
