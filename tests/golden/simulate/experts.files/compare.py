import json, sys
even, *others = [json.load(open(name)) for name in sys.argv[1:]]
def sent(answer):
    return next(entry["transfer_s"] for entry in answer["communication"] if entry["dimension"] == "ep")
for other in others:
    print("experts", "longer" if other["breakdown_s"]["compute.experts"] > even["breakdown_s"]["compute.experts"] else "not longer",
          "all-to-all", "longer" if sent(other) > sent(even) else "not longer")
