"""Prints of `orrery analyze --json` what stragglers cost, in few lines."""

import json
import sys

straggler = json.load(sys.stdin)["straggler"]
if straggler["slowdown"] is None:
    print("n/a:", straggler["reason"])
    sys.exit()
print("S", round(straggler["slowdown"], 4), "launch", round(straggler["launch_slowdown"], 4))
for key in ("by_class", "by_worker"):
    print(key, {name: round(slowdown, 4) for name, slowdown in straggler[key].items() if abs(slowdown - 1) > 0.001})
for key in ("worker_share", "last_stage_share"):
    share = straggler[key]
    print(key, share and share["share"] and round(share["share"], 4), share and share["ranks"])
for sentence in straggler["assumptions"]:
    print(sentence)
