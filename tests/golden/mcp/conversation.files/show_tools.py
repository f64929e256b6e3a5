"""Prints the tools of a list with their annotations and a part of their schemas."""

import json
import sys

for tool in json.loads(sys.stdin.read())["result"]["tools"]:
    read, shown = tool["inputSchema"]["properties"], tool["outputSchema"]["properties"]
    print(tool["name"], json.dumps(tool["annotations"]))
    for name in [name for name in ("jobs", "steps", "emulate", "trace", "page") if name in read]:
        print(" ", name, json.dumps(read[name]))
    for name in [name for name in ("step_time_s", "jobs") if name in shown]:
        print("  ->", name, json.dumps(shown[name])[:80])
