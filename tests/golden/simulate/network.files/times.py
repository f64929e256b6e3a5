import json, sys
alone, *others = [json.load(open(name)) for name in sys.argv[1:]]
for other in others:
    slower = other["step_time_s"] / alone["step_time_s"] - 1
    print(other["network"], "adds", "nothing" if slower == 0 else "time" if slower > 0 else "less than nothing")
    assert abs(other["contended_ps"] * 1e-12 - (other["step_time_s"] - alone["step_time_s"])) < 1e-9
