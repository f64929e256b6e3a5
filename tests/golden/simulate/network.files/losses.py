import json, sys
for job in json.load(sys.stdin)["jobs"]:
    print(f"{job['name']} takes {1000 * job['step_time_s']:.1f} ms, alone {1000 * job['step_alone_s']:.1f} ms")
