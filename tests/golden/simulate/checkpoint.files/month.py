import json, sys
month = json.load(open(sys.argv[1]))
checkpoint = month["checkpoint"]
copied = checkpoint["stall_s"] - checkpoint["slowdown_s"]
print(f"{1e6 * checkpoint['slowdown_s']:.1f} us are lost beside {1e3 * copied:.2f} ms to the host")
print(*[text for text in month["not_modelled"] if "checkpoint is written" in text])
