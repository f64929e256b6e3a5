"""Checks that the numbers of an answer agree with each other."""
import json
import sys

answer = json.load(open(sys.argv[1]))
lost = answer["lost"]
parts = answer["productive_s"] + sum(lost.values())
print("parts add up to the window:", abs(parts - answer["window_s"]) < 1e-6)
print("productive is steps x step:", abs(answer["steps"] * answer["step_time_s"] - answer["productive_s"]) < 1e-3)
print("ETTR is productive / window:", abs(answer["productive_s"] / answer["window_s"] - answer["ettr_mean"]) < 1e-12)
print("quantiles in order:", answer["ettr_p10"] <= answer["ettr_p50"] <= answer["ettr_p90"])
print("near the formula:", abs(answer["ettr_mean"] / answer["ettr_expected"] - 1) < 0.005)
interval = answer["checkpoint_interval_s"]
checkpoint = answer["checkpoint"]
print("interval is Young's and Daly's:", all(abs(interval / checkpoint[key] - 1) < 0.05 for key in ("young_s", "daly_s")))
print("tokens:", answer["tokens"] == answer["steps"] * 1024 * 8192, "dollars:", answer["dollars"] is not None)
print("lost:", *lost)
