#!/usr/bin/env python3
"""The cost of stragglers in the published timelines of operations: the paper's answers against `orrery analyze`.

    tools/validate_stragglers.py --program build/orrery [--write docs/validation/stragglers.md]

Reads ../shared/straggler. Exit status: 1 where an answer is off by more than 1 %, 77 where the timelines are not there.
"""

import json
import sys

import validation

LIMIT_PERCENT = 1
SKIPPED = 77
FOLDER = validation.SHARED / "straggler"
JOBS = ("AR", "SE", "ST")
GROUPS = {"blocking_decompose_by_optype": "by_class", "blocking_decompose_by_stage": "by_stage",
          "blocking_decompose_by_dp_rank": "by_dp_rank"}
STEPS = {"step_t_base": "measured_ns", "step_t_nodelay": "nodelay_ns", "step_t_noblk": "ideal_ns"}
SHARES = {"mw": ("worker_share", "Mw"), "ms": ("last_stage_share", "Ms")}


def pairs(published, ours):
    """(name, published, ours) of every published number."""
    yield "blocking_slowdown (S)", published["blocking_slowdown"], ours["slowdown"]
    yield "launch_slowdown", published["launch_slowdown"], ours["launch_slowdown"]
    steps = {str(step["step"]): step for step in ours["steps"]}
    for theirs, key in STEPS.items():
        for step, seconds in published[theirs].items():
            yield theirs, seconds, steps[step][key] / 1e9
    for step, slowdown in published["blocking_step_slowdown"].items():
        yield "blocking_step_slowdown", slowdown, steps[step]["nodelay_ns"] / steps[step]["ideal_ns"]
    for step, slowdown in published["launch_step_slowdown"].items():
        yield "launch_step_slowdown", slowdown, steps[step]["measured_ns"] / steps[step]["nodelay_ns"]
    for theirs, key in GROUPS.items():
        for name, slowdown in published[theirs].items():
            yield theirs, slowdown, ours[key][name]
    for theirs, (key, share) in SHARES.items():
        values = {"trem": ours[key]["fixed_ns"] / 1e9, "tadd": ours[key]["alone_ns"] / 1e9,
                  "tori": ours["nodelay_ns"] / 1e9, "tideal": ours["ideal_ns"] / 1e9,
                  "rem": ours[key]["share"], "add": ours[key]["added_share"], share: ours[key]["share"]}
        for name, value in values.items():
            yield f"{theirs}.{name}", published[theirs][name], value


def summarise(rows):
    """{name: (count, first published, first of ours, largest difference in percent)}, in order of name."""
    made = {}
    for name, published, ours in rows:
        count, first, mine, worst = made.get(name, (0, published, ours, 0.0))
        made[name] = (count + 1, first, mine, max(worst, 100 * abs(ours / published - 1)))
    return made


def published_table(summary):
    yield validation.line("published", "numbers", "first published", "first of ours", "largest difference")
    yield "|---|---:|---:|---:|---:|"
    for name, (count, published, ours, worst) in summary.items():
        yield validation.line(f"`{name}`", count, f"{published:.6f}", f"{ours:.6f}", f"{worst:.6f} %")


def worst(slowdowns):
    name, slowdown = max(slowdowns.items(), key=lambda entry: entry[1])
    return f"{name}: {slowdown:.4f}"


def job_table(answers):
    yield validation.line("job", "ideal step", "S", "launch", "M_W", "M_S", "worst operation", "worst stage", "worst dp rank",
                          "worst rank")
    yield "|---|---:|---:|---:|---:|---:|---|---|---|---|"
    for job, ours in answers.items():
        yield validation.line(job, f"{ours['ideal_ns'] / 1e9:.4f} s", f"{ours['slowdown']:.4f}",
                              f"{ours['launch_slowdown']:.4f}", f"{ours['worker_share']['share']:.4f}",
                              f"{ours['last_stage_share']['share']:.4f}", worst(ours["by_class"]), worst(ours["by_stage"]),
                              worst(ours["by_dp_rank"]), worst(ours["by_worker"]))


def main():
    options = validation.parser(__doc__.splitlines()[0]).parse_args()
    if not FOLDER.is_dir():
        print(f"{FOLDER} is not there")
        return SKIPPED
    answers = {job: validation.run_json(options.program, "analyze", FOLDER / f"trace-{job}.csv.gz")["straggler"]
               for job in JOBS}
    published = json.loads((FOLDER / "expected_AR.json").read_text(encoding="utf-8"))["AR"]
    summary = summarise(pairs(published, answers["AR"]))
    validation.fill(options.write, {"published": list(published_table(summary)), "jobs": list(job_table(answers))})
    return int(any(difference > LIMIT_PERCENT for *_, difference in summary.values()))


if __name__ == "__main__":
    sys.exit(main())
