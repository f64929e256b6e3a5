"""Compares what a simulation and the analysis of its trace say of each dimension, on the slowest rank."""
import json
import sys

answer, analyzed = (json.load(open(path)) for path in sys.argv[1:3])
step = answer["step_time_s"]
metrics = analyzed["metrics"]


def same(what, first, second, tolerance):
    print(what, "the same" if abs(first - second) <= tolerance else f"{first} and {second}")


same("bubble of the slowest rank", 100 * answer["bubble"]["slowest_rank_s"] / step,
     next(row["bubble_percent"] for row in metrics["bubble_size_pipeline"]["detail"]["per_stage"]
          if row["rank"] == answer["breakdown_rank"]), 0.1)
same("bubble, mean over ranks", 100 * answer["bubble"]["mean_s"] / step, metrics["bubble_size_pipeline"]["value"], 0.1)
exposed = {row["dimension"]: row for row in metrics["exposed_comm_time"]["detail"]["per_dimension"]}
for dimension in ("tp", "dp", "pp"):
    ours = answer["breakdown_s"].get("exposed." + dimension, 0)
    same(f"exposed {dimension}, % of the step", 100 * ours / step, 1e-4 * exposed[dimension]["transfer_us"] / step, 0.01)
row = next(row for row in metrics["collective_vol_total_gb"]["detail"]["per_rank"] if row["rank"] == answer["breakdown_rank"])
same("calls", sum(total["calls"] for total in answer["communication"]), row["calls"], 0)
same("bytes", sum(total["bytes"] for total in answer["communication"]), row["bytes"], 0)
