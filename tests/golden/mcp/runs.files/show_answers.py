"""Prints the answers of a conversation: of a result its error, or some of its data."""

import json
import sys

SHOWN = {1: ("ranks",), 2: ("metrics",), 3: ("metrics",), 5: ("step",)}

for line in sys.stdin:
    message = json.loads(line)
    result = message["result"]
    if "content" not in result:
        continue
    if result["isError"]:
        print(message["id"], result["content"][0]["text"])
        continue
    data = result["structuredContent"]
    shown = {key: data[key] for key in SHOWN[message["id"]] if key in data}
    print(message["id"], sorted(data), json.dumps(shown)[:400])
