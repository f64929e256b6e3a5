import json
import sys

first, second = (json.load(open(path))["step_time_s"] for path in sys.argv[1:3])
print("slower" if second > first * 1.001 else "faster" if second < first * 0.999 else "equal")
