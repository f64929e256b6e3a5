"""HolisticTraceAnalysis, for comparison: a checkout of it and the packages it needs are not part of this repository."""

import json
import subprocess
import sys

# The same three of ours.
METRICS = ["temporal_breakdown", "comm_comp_overlap", "kernel_breakdown"]
SCRIPT = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from hta.trace_analysis import TraceAnalysis
begin = time.perf_counter()
analysis = TraceAnalysis(trace_dir=sys.argv[2])
analysis.get_temporal_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
print(json.dumps({"seconds": time.perf_counter() - begin}))
"""


def seconds(checkout, traces):
    """The time to load a folder of traces and analyse it three times."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(checkout), str(traces)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])["seconds"]
