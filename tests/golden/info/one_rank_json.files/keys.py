import json
import sys

rank = json.load(sys.stdin)["ranks"][0]
for key in ("rank", "files", "format", "gpu", "span_ns", "steps", "problems"):
    print(key, rank[key])
for key in ("kernels", "copies", "sets", "host_ops", "runtime_calls", "collectives",
            "annotations", "python_functions"):
    print(key, rank["counts"][key])
