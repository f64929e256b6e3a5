import json, sys
plain, written = (json.load(open(name)) for name in sys.argv[1:])
checkpoint = written["checkpoint"]
added = written["step_time_s"] - plain["step_time_s"]
print(written["network"], f"adds {1e6 * checkpoint['added_s']:.1f} us, written after {1e3 * checkpoint['written_s']:.2f} ms;",
      "agrees" if abs(added - checkpoint["added_s"]) < 1e-12 else f"should add {added}")
