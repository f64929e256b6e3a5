import json, sys
answer = json.load(sys.stdin)
for job in answer["jobs"]:
    assert 0 < job["steps_met"] <= job["steps"], job
    assert job["memory_peak_bytes"] <= job["memory_needed_bytes"], job
    assert job["out_of_memory"] == (job["memory_needed_bytes"] > job["memory_usable_bytes"]), job
    print(job["name"], "repeats its step" if job["steps"] > 1 else "has one step",
          "and does not fit" if job["out_of_memory"] else "and fits", *job["left_out"])
assert any(job["steps_met"] == job["steps"] for job in answer["jobs"])
print(*(sentence for sentence in answer["not_modelled"] if "send nothing" in sentence or ": Coll" in sentence), sep="\n")
