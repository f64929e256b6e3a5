"""Prints what must hold of products of growing m (8192 in the middle) that a board of AMD runs for hours."""

import json

# TFLOP/s at 8192 cubed: what is known to be sustained (MI300X), and 0.4 to 0.7 of the peak of the data sheet.
KNOWN = {"MI300X": (550, 700), "MI325X": (523, 915), "MI350X": (923, 1615), "MI355X": (1007, 1762)}

for name in KNOWN:
    with open(f"{name}.json", encoding="utf-8") as file:
        found = json.load(file)
    times = [one["time_s"] for one in found]
    middle = found[len(found) // 2]
    least, most = KNOWN[name]
    print(name, "in range" if least <= middle["flops"] / middle["time_s"] / 1e12 <= most else "out of range",
          "grows" if times == sorted(times) else "falls", "above the roofline" if all(one["roofline_s"] < one["time_s"] for one in found) else "below it",
          f"library {middle['library_factor']:.2f}")
