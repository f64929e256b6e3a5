import json
import sys

answer = json.load(open(sys.argv[1]))
print(answer["job"]["title"].split(" on ")[1])
for phrase in answer["what_ifs"]:
    print("what if", phrase)
for stage in answer["stages"]:
    print(stage["name"], "rank", stage["rank"], stage.get("gpu", ""))
