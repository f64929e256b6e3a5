import json, sys
for job in json.load(sys.stdin)["jobs"]:
    print(job["name"], "on nodes", job["nodes"], "loses", "nothing" if job["lost_share"] == 0 else "time")
