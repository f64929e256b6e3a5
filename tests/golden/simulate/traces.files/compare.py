import json
import sys

answer, analyzed = (json.load(open(path)) for path in sys.argv[1:3])
metrics = analyzed["metrics"]
for ours, theirs in (("step_time_s", "iteration_wall_clock_time"),
                     ("exposed_communication_s", "exposed_comm_time")):
    difference = abs(answer[ours] - metrics[theirs]["value"])
    print(ours, "the same" if difference < 2e-6 else f"{answer[ours]} and {metrics[theirs]['value']}")
