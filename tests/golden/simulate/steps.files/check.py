"""Checks the properties of the distribution of --steps."""

import json
import sys

first, again, other = (json.load(open(name)) for name in sys.argv[1:])
steps = first["steps"]
print("the same" if first == again else "different", "for the same seed,",
      "different" if other["p99_s"] != first["p99_s"] else "the same", "for another")
ordered = [steps["best_s"], first["p50_s"], first["p95_s"], first["p99_s"], steps["worst_s"]]
print("in order" if ordered == sorted(ordered) else ordered)
near = abs(first["p50_s"] / first["step_time_s"] - 1) < 0.002
print("the median is the simulated step" if near else (first["p50_s"], first["step_time_s"]))
print(f"p95 {first['p95_s'] / first['p50_s'] - 1:.2%} and p99 {first['p99_s'] / first['p50_s'] - 1:.2%} above it,",
      f"mean {steps['mean_over_best'] - 1:.1%} above the best")
print("between those of quiet and noisy systems" if steps["p95_low_s"] < first["p95_s"] < steps["p95_high_s"] else steps)
print(steps["count"], "steps;", steps["fitted_systems"], "systems of", steps["fitted_submitters"], "submitters;",
      "extrapolates in", "; ".join(steps["extrapolates_in"]))
