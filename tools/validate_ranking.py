#!/usr/bin/env python3
"""The quality of the choice of a plan: the tables of docs/validation/ranking.md.

tools/validate_ranking.py --program build/orrery [--write FILE]; needs ../shared; 10 minutes, since frameworks are refitted without each team.
"""

import statistics
import sys

import validation
from validation import SHARED, line

TRUTH = SHARED / "truth" / "training.csv"
GRADES = ("--grade", "A,A-,B+")
APART = "nanotron"  # runs of one plan differ by up to 41 times there, so that only medians mean something
WORST = 10


def percent(share, digits=1):
    return f"{100 * share:.{digits}f}"


def met(is_met):
    return "yes" if is_met else "**no**"


def targets(result):
    others = [group for group in result["each"] if APART not in group["source"]]
    regrets = [group["regret"] for group in others]
    mean, largest = statistics.fmean(regrets), max(regrets)
    top3 = statistics.fmean(group["best_in_first_three"] for group in others)
    yield line("over", "groups", "metric", "value %", "limit %", "met")
    yield "|---|---:|---|---:|---:|---|"
    yield line(f"all but {APART}", len(others), "mean regret", percent(mean), "≤ 3", met(mean <= 0.03))
    yield line(f"all but {APART}", len(others), "best among our first three", percent(top3, 0), "≥ 90", met(top3 >= 0.9))
    yield line(f"all but {APART}", len(others), "largest regret", percent(largest), "≤ 15", met(largest <= 0.15))
    median = result["median_regret"]
    yield line("all", result["groups"], "median regret", percent(median), "≤ 2", met(median <= 0.02))


def sources(result):
    yield line("source", "groups", "mean regret %", "median %", "largest %", "best in first 3 %", "Spearman")
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for found in [*result["sources"], {**result, "source": "all"}]:
        yield line(found["source"], found["groups"], percent(found["mean_regret"]), percent(found["median_regret"]),
                   percent(found["max_regret"]), percent(found["top3_share"], 0), f"{found['mean_spearman']:.2f}")


def worst(result):
    yield line("group", "plans", "regret %", "place of the best", "our first choice", "measured best")
    yield "|---|---:|---:|---:|---|---|"
    groups = [group for group in result["each"] if APART not in group["source"]]
    for group in sorted(groups, key=lambda group: -group["regret"])[:WORST]:
        name = f"{group['model']}, {group['gpus']} x {group['gpu']}, batch {group['batch']} of {group['sequence']}"
        yield line(name, group["plans"], percent(group["regret"]), f"{group['best_rank']:g}", group["first_choice"]["plan"],
                   group["measured_best"]["plan"])


def main():
    options = validation.parser(__doc__).parse_args()
    if not TRUTH.exists():
        sys.exit(f"validate_ranking: {TRUTH} does not exist")
    rank = ("validate", TRUTH, "--rank", *GRADES)
    shipped = validation.run_json(options.program, *rank)
    left_out = validation.run_json(options.program, *rank, "--leave-team-out")
    validation.fill(options.write, {"targets": targets(shipped), "sources": sources(shipped), "worst groups": worst(shipped),
                                    "targets of left-out teams": targets(left_out), "left-out teams": sources(left_out)})


if __name__ == "__main__":
    main()
