import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
stretched = [event for event in events if "alone_us" in event.get("args", {})]
kernels = [event for event in stretched if "Collective name" not in event["args"]]
shorter = [event for event in kernels if event["dur"] + 0.002 < event["args"]["alone_us"]]
print("every kernel with alone_us takes longer than that" if kernels and not shorter else shorter[:3])
