"""Prints the front of a search: front.py < search.json"""
import json
import sys

for plan in json.load(sys.stdin)["front"]:
    assert plan["memory_left_bytes"] == plan["memory_usable_bytes"] - plan["memory_bytes"]
    tokens = plan["tokens_per_s"] * plan["step_s"]
    if plan["dollars_per_token"] is not None:
        assert abs(plan["dollars_per_token"] * tokens / (plan["gpus"] * 2.5 / 3600 * plan["step_s"]) - 1) < 1e-9
    assert abs(plan["joules_per_token"] * tokens / plan["joules"] - 1) < 1e-9
    print(plan["gpus"], "GPUs", f"{plan['step_s']:.4f} s", f"{plan['memory_left_bytes'] / 2**30:.1f} GiB left",
          "no price" if plan["dollars_per_token"] is None else f"{1e9 * plan['dollars_per_token']:.3f} $ per billion tokens")
