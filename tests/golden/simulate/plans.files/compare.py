"""Compares the answers of two plans: python3 compare.py BEFORE.json AFTER.json."""

import json
import sys


def direction(before, after):
    return "same" if after == before else "less" if after < before else "more"


before, after = (json.load(open(name)) for name in sys.argv[1:3])
for key in ("memory_peak_bytes", "step_time_s"):
    print(key, direction(before[key], after[key]))
changed = {key: value for key, value in after["job"]["plan"].items() if before["job"]["plan"].get(key) != value}
print(changed)
