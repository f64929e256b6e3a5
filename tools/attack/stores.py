"""Attacks on stores of `orrery search`: damaged bytes anywhere, which must be found or change nothing."""

import re

from attack import mutations
from attack.case import ROOT

JOB = ROOT / "tests/golden/search/store.files/job.yaml"


def answer_of(result):
    return result.stdout if result.status in (0, 3) else None


def attack_stores(case):
    """The answer of a damaged store is a refusal or that of a whole one; --repair gives the latter."""
    job = case.add("in/job.yaml", JOB)
    words = ["search", job, "--keep", "1", "--no-reasons", "--store", "out/plans.orrdb"]
    whole = answer_of(case.run(words))
    store = case.folder / "out/plans.orrdb"
    if whole is None or not store.is_file():
        case.find("a search with a store has no answer")
        return
    content = store.read_bytes()
    store.write_bytes(mutations.mutated_bytes(case.rng, content))
    for option in ("--resume", "--repair"):
        result = case.run([*words, option])
        if answer_of(result) not in (None, whole):
            case.find(f"a damaged store gives another answer with {option}")
        if result.status == 2 and not re.search(rb"plans\.orrdb", result.stderr):
            case.find("a refusal does not name the store")
