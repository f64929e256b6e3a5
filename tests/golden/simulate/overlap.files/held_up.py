import json
import sys

answers = {}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        answers[path.removesuffix(".json")] = json.load(file)
for name, answer in answers.items():
    held_up = answer["held_up"]
    if not any(held_up.values()):
        print(f"{name}: nothing is held up")
        continue
    is_slower = answer["step_time_s"] > answers["none"]["step_time_s"]
    is_longer = held_up["kernels_s"] > held_up["kernels_alone_s"] > 0
    print(f"{name}: {'slower' if is_slower else 'not slower'} than none, "
          f"kernels {'take longer than' if is_longer else 'are as long as'} alone")
