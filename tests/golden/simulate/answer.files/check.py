import json
import sys

answer = json.load(open(sys.argv[1]))
difference = sum(answer["breakdown_s"].values()) - answer["step_time_s"]
print("the breakdown adds up to the step" if abs(difference) < 1e-9 else f"off by {difference} s")
print("tokens of a step:", round(answer["tokens_per_s"] * answer["step_time_s"]))
keys = ("step_time_s", "tokens_per_s", "mfu", "memory_peak_bytes", "breakdown_s", "events",
        "rank_classes", "not_modelled")
print(*keys, end=": ")
print("there" if all(answer[key] for key in keys) else "missing")
print(f"stages {len(answer['stages'])}, ranks {answer['ranks']}, rank classes {answer['rank_classes']}")
print("plan", answer["job"]["plan"])
