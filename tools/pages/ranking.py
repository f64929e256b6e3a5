"""The quality of the choice of a plan; 10 minutes, since frameworks are refitted without each team."""

import statistics

from validation import GRADES, SHARED, answer, cells, table

TRUTH = SHARED / "truth" / "training.csv"
NEEDS = (TRUTH,)
APART = "nanotron"  # runs of one plan differ by up to 41 times there, so that only medians mean something
WORST = 10


def rank(program, *options):
    return answer(program, "validate", TRUTH, "--rank", "--grade", GRADES, *options)


def groups_of(result):
    return [group for group in result["each"] if APART not in group["source"]]


def targets(program, *options):
    result = rank(program, *options)
    regrets = [group["regret"] for group in groups_of(result)]
    top3 = statistics.fmean(group["best_in_first_three"] for group in groups_of(result))
    others = (f"all but {APART}", len(regrets))
    rows = []
    for over, metric, value, digits, limit, is_met in (
            (others, "mean regret", statistics.fmean(regrets), 1, "≤ 3", statistics.fmean(regrets) <= 0.03),
            (others, "best among our first three", top3, 0, "≥ 90", top3 >= 0.9),
            (others, "largest regret", max(regrets), 1, "≤ 15", max(regrets) <= 0.15),
            (("all", result["groups"]), "median regret", result["median_regret"], 1, "≤ 2", result["median_regret"] <= 0.02)):
        rows.append((*over, metric, f"{100 * value:.{digits}f}", limit, "yes" if is_met else "**no**"))
    return table("over | >groups | metric | >value % | >limit % | met", rows)


def sources(program, *options):
    result = rank(program, *options)
    return table("source | >groups | >mean regret % | >median % | >largest % | >best in first 3 % | >Spearman", (
        (found["source"], found["groups"], *(f"{100 * found[name]:.1f}" for name in ("mean_regret", "median_regret", "max_regret")),
         f"{100 * found['top3_share']:.0f}", *cells(found, "mean_spearman:.2f"))
        for found in [*result["sources"], {**result, "source": "all"}]))


def worst_groups(program):
    return table("group | >plans | >regret % | >place of the best | our first choice | measured best", (
        ("{model}, {gpus} x {gpu}, batch {batch} of {sequence}".format(**group), group["plans"], f"{100 * group['regret']:.1f}",
         *cells(group, "best_rank:g"), group["first_choice"]["plan"], group["measured_best"]["plan"])
        for group in sorted(groups_of(rank(program)), key=lambda group: -group["regret"])[:WORST]))


TABLES = {"targets": targets, "sources": sources, "worst groups": worst_groups,
          "targets of left-out teams": lambda program: targets(program, "--leave-team-out"),
          "left-out teams": lambda program: sources(program, "--leave-team-out")}
