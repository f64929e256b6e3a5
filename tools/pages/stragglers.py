"""The cost of stragglers in the published timelines of operations: the paper's answers against `orrery analyze`."""

import json

from validation import SHARED, answer, cells, table

LIMIT_PERCENT = 1
FOLDER = SHARED / "straggler"
NEEDS = (FOLDER,)
GROUPS = {"blocking_decompose_by_optype": "by_class", "blocking_decompose_by_stage": "by_stage",
          "blocking_decompose_by_dp_rank": "by_dp_rank"}
STEPS = {"step_t_base": "measured_ns", "step_t_nodelay": "nodelay_ns", "step_t_noblk": "ideal_ns"}
SHARES = {"mw": ("worker_share", "Mw"), "ms": ("last_stage_share", "Ms")}


def analyze(program, job):
    return answer(program, "analyze", FOLDER / f"trace-{job}.csv.gz")["straggler"]


def pairs(published, ours):
    """(name, published, ours) of every published number."""
    yield "blocking_slowdown (S)", published["blocking_slowdown"], ours["slowdown"]
    yield "launch_slowdown", published["launch_slowdown"], ours["launch_slowdown"]
    steps = {str(step["step"]): step for step in ours["steps"]}
    for theirs, key in STEPS.items():
        for step, seconds in published[theirs].items():
            yield theirs, seconds, steps[step][key] / 1e9
    for theirs, over, under in (("blocking_step_slowdown", "nodelay_ns", "ideal_ns"),
                                ("launch_step_slowdown", "measured_ns", "nodelay_ns")):
        for step, slowdown in published[theirs].items():
            yield theirs, slowdown, steps[step][over] / steps[step][under]
    for theirs, key in GROUPS.items():
        for name, slowdown in published[theirs].items():
            yield theirs, slowdown, ours[key][name]
    for theirs, (key, share) in SHARES.items():
        values = {"trem": ours[key]["fixed_ns"] / 1e9, "tadd": ours[key]["alone_ns"] / 1e9,
                  "tori": ours["nodelay_ns"] / 1e9, "tideal": ours["ideal_ns"] / 1e9,
                  "rem": ours[key]["share"], "add": ours[key]["added_share"], share: ours[key]["share"]}
        for name, value in values.items():
            yield f"{theirs}.{name}", published[theirs][name], value


def summary(program):
    """{name: (count, first published, first of ours, largest difference in percent)}, in order of name."""
    published = json.loads((FOLDER / "expected_AR.json").read_text(encoding="utf-8"))["AR"]
    made = {}
    for name, theirs, ours in pairs(published, analyze(program, "AR")):
        count, first, mine, largest = made.get(name, (0, theirs, ours, 0.0))
        made[name] = (count + 1, first, mine, max(largest, 100 * abs(ours / theirs - 1)))
    return made


def published_numbers(program):
    return table("published | >numbers | >first published | >first of ours | >largest difference", (
        (f"`{name}`", count, f"{published:.6f}", f"{ours:.6f}", f"{largest:.6f} %")
        for name, (count, published, ours, largest) in summary(program).items()))


def worst(slowdowns):
    name = max(slowdowns, key=slowdowns.get)
    return f"{name}: {slowdowns[name]:.4f}"


def job_row(job, found):
    return (job, f"{found['ideal_ns'] / 1e9:.4f} s", *cells(found, "slowdown:.4f", "launch_slowdown:.4f"),
            *cells(found["worker_share"], "share:.4f"), *cells(found["last_stage_share"], "share:.4f"),
            *(worst(found[key]) for key in ("by_class", "by_stage", "by_dp_rank", "by_worker")))


def jobs(program):
    return table("job | >ideal step | >S | >launch | >M_W | >M_S | worst operation | worst stage | worst dp rank | worst rank",
                 (job_row(job, analyze(program, job)) for job in ("AR", "SE", "ST")))


def problems(program):
    for name, (*_, largest) in summary(program).items():
        if largest > LIMIT_PERCENT:
            yield f"{name} differs from what is published by {largest:.2f} %"


TABLES = {"published": published_numbers, "jobs": jobs}
